//! Points that a person gives in place of a score, with a name and a reason.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::record::Replaced;
use crate::table::{Table, all_right};

/// Points by student and exercise.
pub(crate) type Replacements = BTreeMap<(String, String), Replaced>;

/// Reads the table `student,exercise,points,by,reason`. A line that would have no effect is an
/// error, since its author believes that it has one.
pub(crate) fn read(
    bytes: &[u8],
    students: &BTreeSet<&str>,
    exercises: &BTreeSet<&str>,
) -> Result<Replacements> {
    let table = Table::read(bytes)?;
    let [student, exercise, points, by, reason] =
        table.exactly(["student", "exercise", "points", "by", "reason"])?;
    let mut replacements = Replacements::new();
    let mut wrong = Vec::new();
    for line in &table.lines {
        let mut complain = |what: String| wrong.push(format!("line {}: {what}", line.number));
        let (student, exercise) = (line.field(student), line.field(exercise));
        if !students.contains(student) {
            complain(format!("there is no student `{student}`"));
        }
        if !exercises.contains(exercise) {
            complain(format!("there is no exercise `{exercise}`"));
        }
        for (column, what) in [(by, "who decided it"), (reason, "why")] {
            if line.field(column).is_empty() {
                complain(format!("it does not say {what}"));
            }
        }
        let said = line.field(points);
        let points = said.parse::<f64>().ok().filter(|points| (0.0..=100.0).contains(points));
        let Some(points) = points else {
            complain(format!("points are from 0 to 100, and `{said}` is not"));
            continue;
        };
        let replaced = Replaced {
            points,
            by: line.field(by).to_owned(),
            reason: line.field(reason).to_owned(),
        };
        let key = (student.to_owned(), exercise.to_owned());
        if replacements.insert(key, replaced).is_some() {
            complain(format!("`{exercise}` of `{student}` is replaced already"));
        }
    }
    all_right(&wrong)?;
    Ok(replacements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Replacements> {
        super::read(text.as_bytes(), &BTreeSet::from(["ada", "bob"]), &BTreeSet::from(["events"]))
    }

    #[test]
    fn a_decision_has_points_a_name_and_a_reason() {
        let text = "student,exercise,points,by,reason\nada,events,72.5,Prof. X,\"appeal of May 3, granted\"\n";
        let replaced = &read(text).unwrap()[&("ada".to_owned(), "events".to_owned())];
        assert_eq!(replaced.points, 72.5);
        assert_eq!(
            (replaced.by.as_str(), replaced.reason.as_str()),
            ("Prof. X", "appeal of May 3, granted")
        );
    }

    #[test]
    fn a_line_that_would_do_nothing_is_an_error() {
        let text = "student,exercise,points,by,reason\n\
                    Ada,events,1,x,y\n\
                    ada,event,1,x,y\n\
                    ada,events,101,x,y\n\
                    ada,events,NaN,,\n\
                    bob,events,1,x,y\n\
                    bob,events,2,x,y\n";
        insta::assert_snapshot!(read(text).unwrap_err(), @r"
        line 2: there is no student `Ada`
        line 3: there is no exercise `event`
        line 4: points are from 0 to 100, and `101` is not
        line 5: it does not say who decided it
        line 5: it does not say why
        line 5: points are from 0 to 100, and `NaN` is not
        line 7: `events` of `bob` is replaced already
        ");
        insta::assert_snapshot!(read("student,points\n").unwrap_err(), @r"
        it has no column `exercise`

        hint: its first line has to be `student,exercise,points,by,reason`
        ");
        assert!(read("student,exercise,points,by,reason,note\n").is_err());
    }
}
