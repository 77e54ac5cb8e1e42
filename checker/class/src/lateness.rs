//! Submissions after the deadline.
//!
//! When something was handed in is what the instructor's table says, else what the platform's
//! export says, else it is not known, and then it is not late. The time of a file is never asked:
//! it says when a file was copied or unpacked, and the owner of the file can set it.

use std::collections::BTreeMap;

use anyhow::Result;
use checker::cli::class::LateRule;
use jiff::Timestamp;

use crate::record::Late;
use crate::table::{Table, all_right};

/// The price of being late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Policy {
    pub(crate) deadline: Timestamp,
    pub(crate) rule: LateRule,
}

impl Policy {
    /// The points that `score` loses at `at`, for a student with `extension_hours` more than the
    /// others; none where it came in time or nothing is lost.
    pub(crate) fn charge(
        &self,
        score: f64,
        at: Option<Timestamp>,
        extension_hours: u32,
    ) -> Option<Late> {
        let late_s = at?.as_second().saturating_sub(self.deadline.as_second());
        let late_s = late_s.saturating_sub(i64::from(extension_hours) * HOUR_S);
        // A second has begun where a part of it has passed.
        let part = at?.subsec_nanosecond() > self.deadline.subsec_nanosecond();
        let late_s = late_s + i64::from(part);
        if late_s <= i64::from(self.rule.grace_hours) * HOUR_S {
            return None;
        }
        let begun = |of: i64| (late_s + of - 1) / of;
        let hours = u32::try_from(begun(HOUR_S)).unwrap_or(u32::MAX);
        let lost = if late_s > i64::from(self.rule.last_hours) * HOUR_S {
            score
        } else {
            (begun(24 * HOUR_S) as f64 * self.rule.points_per_day).min(score)
        };
        (lost > 0.0).then_some(Late { hours, points: lost })
    }
}

const HOUR_S: i64 = 3600;

/// Reads the table `student,time`, in which each time has its offset.
pub(crate) fn read_times(bytes: &[u8]) -> Result<BTreeMap<String, Timestamp>> {
    let table = Table::read(bytes)?;
    let [student, time] = table.exactly(["student", "time"])?;
    let mut times = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in &table.lines {
        let (number, student, time) = (line.number, line.field(student), line.field(time));
        match time.parse::<Timestamp>() {
            Err(_) => wrong.push(format!(
                "line {number}: `{time}` is no time such as `2026-05-01T23:59:00+02:00`"
            )),
            Ok(_) if student.is_empty() => {
                wrong.push(format!("line {number}: it names no student"))
            }
            Ok(time) => {
                if times.insert(student.to_owned(), time).is_some() {
                    wrong.push(format!("line {number}: `{student}` has a time already"));
                }
            }
        }
    }
    all_right(&wrong)?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rule: &str) -> Policy {
        Policy { deadline: "2026-05-01T12:00:00Z".parse().unwrap(), rule: rule.parse().unwrap() }
    }

    /// Hours and points lost of 90 for handing in at `at`.
    fn lost(rule: &str, at: &str, extension: u32) -> Option<(u32, f64)> {
        let late = policy(rule).charge(90.0, Some(at.parse().unwrap()), extension);
        late.map(|late| (late.hours, late.points))
    }

    #[test]
    fn each_day_that_has_begun_costs_and_grace_does_not() {
        for (at, expected) in [
            ("2026-05-01T11:59:59Z", None),
            ("2026-05-01T12:00:00Z", None),
            ("2026-05-01T13:00:00Z", None),
            ("2026-05-01T15:00:00+02:00", None),
            ("2026-05-01T13:00:00.5Z", Some((2, 10.0))),
            ("2026-05-01T13:00:01Z", Some((2, 10.0))),
            ("2026-05-02T12:00:00Z", Some((24, 10.0))),
            ("2026-05-02T12:00:01Z", Some((25, 20.0))),
            ("2026-05-04T12:00:00Z", Some((72, 30.0))),
            ("2026-05-04T12:00:01Z", Some((73, 90.0))),
            ("2036-05-04T12:00:01Z", Some((87_745, 90.0))),
        ] {
            assert_eq!(lost("1:10:72", at, 0), expected, "{at}");
        }
    }

    #[test]
    fn an_extension_moves_the_deadline() {
        assert_eq!(lost("1:10:72", "2026-05-03T13:00:00Z", 48), None);
        assert_eq!(lost("1:10:72", "2026-05-03T13:00:01Z", 48), Some((2, 10.0)));
        assert_eq!(lost("1:10:72", "2026-05-05T13:00:00Z", 48), Some((49, 30.0)));
    }

    #[test]
    fn no_more_is_lost_than_there_was_and_an_unknown_time_is_not_late() {
        let policy = policy("0:60:1000");
        let at = Some("2026-05-03T11:00:00Z".parse().unwrap());
        assert_eq!(policy.charge(90.0, at, 0).unwrap().points, 90.0);
        assert_eq!(policy.charge(0.0, at, 0), None);
        assert_eq!(policy.charge(90.0, None, 0), None);
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_refused() {
        for rule in [
            "",
            "1",
            "1:10",
            "1:10:72:0",
            "-1:10:72",
            "1:-10:72",
            "1:101:72",
            "1:nan:72",
            "80:10:72",
            "a:b:c",
        ] {
            assert!(rule.parse::<LateRule>().is_err(), "{rule}");
        }
    }

    #[test]
    fn a_time_without_an_offset_is_no_time() {
        let times = read_times(b"student,time\nada,2026-05-01T12:00:00+02:00\n").unwrap();
        assert_eq!(times["ada"].to_string(), "2026-05-01T10:00:00Z");
        let wrong = read_times(b"student,time\nada,2026-05-01T12:00:00\n,2026-05-01T12:00:00Z\nbob,2026-05-01T12:00:00Z\nbob,2026-05-01T12:00:00Z\n");
        insta::assert_snapshot!(wrong.unwrap_err(), @r"
        line 2: `2026-05-01T12:00:00` is no time such as `2026-05-01T23:59:00+02:00`
        line 3: it names no student
        line 5: `bob` has a time already
        ");
        assert!(read_times(b"student,when\nada,x\n").is_err());
    }
}
