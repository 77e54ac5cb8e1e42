//! Who is in the class: a table, as an instructor keeps it or a platform exports it.
//!
//! Students are known by one column. An id that differs in case alone, or in how an accent is kept,
//! from the one of a submission is the same where no other could be meant. No zero is dropped
//! and no name compared. What resembles an id otherwise is said, and left to a person.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use unicode_normalization::UnicodeNormalization as _;

use crate::table::{Table, all_right};

/// The students of a class, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roster {
    pub(crate) members: BTreeMap<String, Member>,
    /// Columns that say nothing here; a misspelt one is among them.
    pub(crate) unused: Vec<String>,
    /// By what students are known.
    key: String,
    /// The other columns about students, for one who took the wrong one.
    others: BTreeMap<String, BTreeSet<String>>,
}

/// A student of the roster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) section: Option<String>,
    /// As Moodle's grading worksheet has it: `Participant 123`.
    pub(crate) participant: Option<String>,
    /// Hours that this student has more than the others.
    pub(crate) extension_hours: u32,
}

/// The names of columns that students can be known by; the first that is there counts.
const IDS: [&[&str]; 5] = [
    &["student", "student id", "student_id"],
    &["id", "sid"],
    &["login", "username", "login id", "sis login id"],
    &[PARTICIPANT],
    &EMAIL,
];
/// The column of Moodle's grading worksheet that says `Participant 123`, in the language of the
/// course. Folders of what was handed in have the number.
const PARTICIPANT: &str = "identifier";
/// Columns that Canvas's gradebook has, whose `student` is a name.
const GRADEBOOK: [&str; 3] = ["student", "id", "sis login id"];
/// Whom Canvas adds to a class, for trying things out.
const TEST_STUDENT: &str = "Student, Test";
const EMAIL: [&str; 3] = ["email", "email address", "e-mail"];
const NAME: [&str; 2] = ["name", "full name"];
const SECTION: [&str; 2] = ["section", "group"];
const EXTENSION: [&str; 2] = ["extension_hours", "extension"];

/// Longest extension, in hours: a year. More is a date in the wrong column.
const LONGEST_HOURS: u32 = 366 * 24;

impl Roster {
    /// Reads a roster. `key` names the column that students are known by, where it is not the first
    /// of `student`, `id`, `login` and `email` that is there.
    pub(crate) fn read(bytes: &[u8], key: Option<&str>) -> Result<Self> {
        let table = Table::read(bytes)?;
        let gradebook = GRADEBOOK.iter().all(|name| table.header().iter().any(|it| it == name));
        let id = match key {
            None if gradebook => table.column(&["id"])?.context("it has no column `ID`")?,
            Some(key) => table
                .column(&[&key.to_lowercase()])?
                .with_context(|| format!("it has no column `{key}`"))?,
            None => {
                let mut columns = IDS.iter().map(|names| table.column(names));
                let found = columns.find_map(Result::transpose).transpose()?;
                found.context("it has no column `student`, `id`, `login` or `email`")?
            }
        };
        let email = table.column(&EMAIL)?;
        let name = if gradebook { &["student"][..] } else { &NAME };
        let name = table.column(name)?;
        let section = table.column(&SECTION)?;
        let extension = table.column(&EXTENSION)?;
        let participant = table.column(&[PARTICIPANT])?;
        let used = [Some(id), email, name, section, extension, participant];
        // What a platform exports has columns for itself, and none of them is misspelt.
        let is_exported = gradebook || participant.is_some();
        let unused = (0..table.header().len())
            .filter(|&column| !is_exported && !used.contains(&Some(column)));
        let unused = unused.map(|column| table.header()[column].clone()).collect();
        let mut members = BTreeMap::new();
        let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
        let mut others: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for line in &table.lines {
            let number = line.number;
            let said = line.field(id);
            let student = if table.header()[id] == PARTICIPANT { number_of(said) } else { said };
            // Rows between header and students say how the gradebook counts.
            let is_nobody =
                student.is_empty() || name.is_some_and(|it| line.field(it) == TEST_STUDENT);
            if gradebook && is_nobody {
                continue;
            }
            for column in (0..table.header().len()).filter(|&column| column != id) {
                let other = others.entry(table.header()[column].clone()).or_default();
                other.insert(folded(number_of(line.field(column))));
            }
            if student.is_empty() {
                wrong.push(format!("line {number}: the student has no `{}`", table.header()[id]));
                continue;
            }
            if let Some(first) = lines.insert(student, number) {
                wrong.push(format!("line {number}: `{student}` is on line {first} already"));
            }
            let text = |column: Option<usize>| {
                column.map(|c| line.field(c)).filter(|text| !text.is_empty())
            };
            let extension_hours = match text(extension).map(str::parse::<u32>) {
                None => 0,
                Some(Ok(hours)) if hours <= LONGEST_HOURS => hours,
                Some(_) => {
                    let said = text(extension).unwrap_or_default();
                    wrong.push(format!(
                        "line {number}: an extension is in whole hours, and `{said}` is not"
                    ));
                    0
                }
            };
            let own = |column| text(column).map(str::to_owned);
            let member = Member {
                name: own(name),
                email: own(email),
                section: own(section),
                participant: own(participant),
                extension_hours,
            };
            members.insert(student.to_owned(), member);
        }
        all_right(&wrong)?;
        Ok(Self { members, unused, key: table.header()[id].clone(), others })
    }

    /// Compares the roster with those who handed in.
    pub(crate) fn compare<'a>(
        &'a self,
        handed_in: impl IntoIterator<Item = &'a str>,
    ) -> Comparison {
        let handed_in: BTreeSet<&str> = handed_in.into_iter().collect();
        let is_member = |id: &str| self.members.contains_key(id);
        let others = handed_in.iter().copied().filter(|id| !is_member(id));
        let missing = self.members.keys().map(String::as_str).filter(|id| !handed_in.contains(id));
        let (others, missing) = (alike(others, composed), alike(missing, composed));
        let mut found = Comparison::default();
        for (same, ids) in &others {
            match (&ids[..], missing.get(same).map(|them| &them[..])) {
                ([id], Some([member])) => {
                    found.same.insert((*id).to_owned(), (*member).to_owned());
                }
                _ => found.unknown.extend(ids.iter().map(|id| Unknown {
                    id: (*id).to_owned(),
                    resembles: self.members.keys().find(|it| folded(it) == folded(id)).cloned(),
                })),
            }
        }
        found.unknown.sort_by(|a, b| a.id.cmp(&b.id));
        let left = missing.into_values().flatten();
        found.missing =
            left.filter(|id| !found.same.values().any(|it| it == id)).map(str::to_owned).collect();
        found.missing.sort();
        // Half of the smaller side: a section's roster may know few of a course.
        let common = handed_in.len() - found.unknown.len();
        if common * 2 < handed_in.len().min(self.members.len()) {
            found.strangers = Some(self.strangers(&handed_in, common));
        }
        found
    }

    /// Why roster and submissions cannot belong together, and what could be meant.
    fn strangers(&self, handed_in: &BTreeSet<&str>, common: usize) -> String {
        let few = |ids: &mut dyn Iterator<Item = &str>| {
            let ids: Vec<String> = ids.take(NAMED + 1).map(|id| format!("`{id}`")).collect();
            let more = if ids.len() > NAMED { ", ..." } else { "" };
            format!("{}{more}", ids[..ids.len().min(NAMED)].join(", "))
        };
        let known = |values: &BTreeSet<String>| {
            handed_in.iter().filter(|id| values.contains(&folded(number_of(id)))).count()
        };
        let best = self.others.iter().map(|(name, values)| (known(values), name));
        let best = best.max_by_key(|&(count, name)| (count, std::cmp::Reverse(name)));
        let hint = match best.filter(|&(count, _)| count > common) {
            Some((count, name)) => format!("`--key '{name}'` knows {count} of them"),
            None => "an id is what a student's folder or file is called, or the number that a platform puts there; in a \
                     group's assignment Moodle puts the group's"
                .to_owned(),
        };
        format!(
            "the roster knows {common} of the {} who handed in by `{}`\n\nhanded in: {}\non the roster: {}\n\nhint: {hint}",
            handed_in.len(),
            self.key,
            few(&mut handed_in.iter().copied()),
            few(&mut self.members.keys().map(String::as_str)),
        )
    }
}

/// Ids that are named of each side.
const NAMED: usize = 3;

/// The number at the end of `Participant 123`, whatever the word; other texts as they are.
fn number_of(text: &str) -> &str {
    match text.rsplit_once(' ') {
        Some((word, number))
            if !word.contains(|char: char| char.is_ascii_digit())
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            number
        }
        _ => text,
    }
}

/// An id in small letters, with one character for a letter and its accent.
fn composed(id: &str) -> String {
    id.to_lowercase().nfc().collect()
}

/// An id as far as people and spreadsheets keep it: neither case nor leading zeros.
fn folded(id: &str) -> String {
    composed(id.trim_start_matches('0'))
}

/// Ids by what they have in common.
fn alike<'a>(
    ids: impl Iterator<Item = &'a str>,
    by: fn(&str) -> String,
) -> BTreeMap<String, Vec<&'a str>> {
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for id in ids {
        alike.entry(by(id)).or_default().push(id);
    }
    alike
}

/// Where roster and submissions differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// By ids of those who handed in: whom the roster calls otherwise, without a doubt.
    pub(crate) same: BTreeMap<String, String>,
    /// Handed in and not on the roster.
    pub(crate) unknown: Vec<Unknown>,
    /// On the roster and not handed in.
    pub(crate) missing: Vec<String>,
    /// Why the two cannot belong together.
    pub(crate) strangers: Option<String>,
}

/// A person whom the roster does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) id: String,
    /// Who may be meant: it differs in case or in leading zeros only.
    pub(crate) resembles: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_known_by_their_names_in_any_order_and_case() {
        let text = "\u{feff}Name,Section,Student,Email,Extension_Hours,Major\r\n\
                    \"Lovelace, Ada\",1,0123,ada@example.org,48,maths\r\n\
                    ,,,,,\r\n\
                    Grace,2,7,,,\r\n";
        let roster = Roster::read(text.as_bytes(), None).unwrap();
        assert_eq!(roster.members.keys().collect::<Vec<_>>(), ["0123", "7"]);
        let ada = &roster.members["0123"];
        assert_eq!(ada.name.as_deref(), Some("Lovelace, Ada"));
        assert_eq!(ada.extension_hours, 48);
        assert_eq!(roster.members["7"].extension_hours, 0);
        assert_eq!(roster.unused, ["major"]);
        let semicolons = text.replace(',', ";").replace("Lovelace;", "Lovelace,");
        assert_eq!(Roster::read(semicolons.as_bytes(), None).unwrap(), roster);
        let by_email = Roster::read(b"email,name\na@b,A\n", None).unwrap();
        assert_eq!(by_email.members.keys().collect::<Vec<_>>(), ["a@b"]);
        let by_key = Roster::read(b"id,login\n1,ada\n", Some("Login")).unwrap();
        assert_eq!(by_key.members.keys().collect::<Vec<_>>(), ["ada"]);
    }

    #[test]
    fn an_id_that_differs_in_case_is_the_same_where_nobody_else_is_meant_and_a_zero_is_only_said() {
        let roster = Roster::read("id\n0123\nAda\nbob\nEVE\nJos\u{e9}\n".as_bytes(), None).unwrap();
        let comparison = roster.compare(["123", "ada", "bob", "eve", "Eve", "jose\u{301}"]);
        assert_eq!(comparison.missing, ["0123", "EVE"]);
        let same: Vec<_> = comparison.same.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(same, [("ada", "Ada"), ("jose\u{301}", "Jos\u{e9}")]);
        let unknown: Vec<_> =
            comparison.unknown.iter().map(|u| (u.id.as_str(), u.resembles.as_deref())).collect();
        assert_eq!(unknown, [("123", Some("0123")), ("Eve", Some("EVE")), ("eve", Some("EVE"))]);
        assert_eq!(comparison.strangers, None);
    }

    #[test]
    fn a_roster_that_knows_hardly_anybody_says_which_column_would() {
        let moodle = b"Identifier,Full name,Email address,Status\nParticipant 123,Ada,ada@b,-\nTeilnehmer/in 124,Bo,bo@b,-\n";
        let roster = |key| Roster::read(moodle, key).unwrap();
        let by_number = roster(None);
        assert_eq!(by_number.members.keys().collect::<Vec<_>>(), ["123", "124"]);
        assert_eq!(by_number.compare(["123", "124"]), Comparison::default());
        let strangers = roster(Some("Email address")).compare(["123", "124"]).strangers;
        insta::assert_snapshot!(strangers.unwrap(), @"
        the roster knows 0 of the 2 who handed in by `email address`

        handed in: `123`, `124`
        on the roster: `ada@b`, `bo@b`

        hint: `--key 'identifier'` knows 2 of them
        ");
        insta::assert_snapshot!(by_number.compare(["a", "b", "c", "d"]).strangers.unwrap(), @"
        the roster knows 0 of the 4 who handed in by `identifier`

        handed in: `a`, `b`, `c`, ...
        on the roster: `123`, `124`

        hint: an id is what a student's folder or file is called, or the number that a platform puts there; in a group's assignment Moodle puts the group's
        ");
        // A section's roster knows few of a course.
        assert_eq!(by_number.compare(["123", "a", "b", "c", "d"]).strangers, None);
    }

    #[test]
    fn the_gradebook_of_canvas_is_a_roster_without_the_rows_that_are_nobody() {
        let gradebook = b"Student,ID,SIS User ID,SIS Login ID,Section,Streams (4711)\n\
                          ,,,,,Manual Posting\n    Points Possible,,,,,100.00\n\
                          \"Lovelace, Ada\",56,s56,ada,Lab 1,\n\"Student, Test\",999,,a1b2c3,Lab 1,\n";
        for (key, id) in [(None, "56"), (Some("ID"), "56"), (Some("SIS Login ID"), "ada")] {
            let roster = Roster::read(gradebook, key).unwrap();
            let members: Vec<_> =
                roster.members.iter().map(|(id, it)| (&**id, it.name.as_deref())).collect();
            assert_eq!(members, [(id, Some("Lovelace, Ada"))], "{key:?}");
        }
    }

    #[test]
    fn a_table_is_read_as_spreadsheets_save_it() {
        let text = "student;name\r\nada;Ad\u{e4}\r\n";
        let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(bytes).collect()
        };
        let marked = format!("\u{feff}{}", text.replace(';', "\t"));
        let ways = [
            text.as_bytes().to_vec(),
            format!("sep=;\r\n{text}").into_bytes(),
            format!("\u{feff}sep=|\n{}", text.replace(';', "|")).into_bytes(),
            marked.clone().into_bytes(),
            utf16(&marked, u16::to_le_bytes),
            utf16(&marked, u16::to_be_bytes),
        ];
        for way in ways {
            let roster = Roster::read(&way, None).unwrap();
            assert_eq!(roster.members["ada"].name.as_deref(), Some("Ad\u{e4}"), "{way:?}");
        }
        let twice = Roster::read(b"sep=;\nid\nada\nada\n", None).unwrap_err().to_string();
        assert_eq!(twice, "line 4: `ada` is on line 3 already");
        let windows = Roster::read(b"id,name\n1,Ad\xe4\n", None).unwrap_err();
        assert_eq!(windows.to_string(), crate::table::NOT_UTF8);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once_with_its_lines() {
        let error = |text: &str| Roster::read(text.as_bytes(), None).unwrap_err().to_string();
        insta::assert_snapshot!(error("id,name,extension\nada,A,two\n,B,\nada,C,-1\n"), @r"
        line 2: an extension is in whole hours, and `two` is not
        line 3: the student has no `id`
        line 4: `ada` is on line 2 already
        line 4: an extension is in whole hours, and `-1` is not
        ");
        insta::assert_snapshot!(error("name\nA\n"), @"it has no column `student`, `id`, `login` or `email`");
        insta::assert_snapshot!(error("id,email,e-mail\n1,a,b\n"), @"its columns `email` and `e-mail` say the same");
        assert!(
            Roster::read(b"id,name\nada\n", None).is_err(),
            "a line has as many fields as the header"
        );
        assert!(Roster::read(b"id\n\xff\n", None).is_err());
    }
}
