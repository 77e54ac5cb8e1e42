//! Who is in the class: a table, as an instructor keeps it or a platform exports it.
//!
//! Students are known by one column, and an id is the one of a submission or it is not: no case is
//! folded, no zero dropped, no name compared. What resembles an id is said, and left to a person.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::table::{Table, all_right};

/// The students of a class, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roster {
    pub(crate) members: BTreeMap<String, Member>,
    /// Columns that say nothing here; a misspelt one is among them.
    pub(crate) unused: Vec<String>,
}

/// A student of the roster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) section: Option<String>,
    /// Hours that this student has more than the others.
    pub(crate) extension_hours: u32,
}

/// What columns are called that students can be known by, the first that is there.
const IDS: [&[&str]; 4] = [
    &["student", "student id", "student_id"],
    &["id", "sid"],
    &["login", "username", "login id", "sis login id"],
    &EMAIL,
];
const EMAIL: [&str; 3] = ["email", "email address", "e-mail"];
const NAME: [&str; 2] = ["name", "full name"];
const SECTION: [&str; 2] = ["section", "group"];
const EXTENSION: [&str; 2] = ["extension_hours", "extension"];

/// Longest extension, in hours: a year. More is a date in the wrong column.
const LONGEST_HOURS: u32 = 366 * 24;

impl Roster {
    /// Reads a roster. `key` names the column that students are known by, where it is not the first of
    /// `student`, `id`, `login` and `email` that is there.
    pub(crate) fn read(bytes: &[u8], key: Option<&str>) -> Result<Self> {
        let table = Table::read(bytes)?;
        let id = match key {
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
        let name = table.column(&NAME)?;
        let section = table.column(&SECTION)?;
        let extension = table.column(&EXTENSION)?;
        let used = [Some(id), email, name, section, extension];
        let unused = (0..table.header().len()).filter(|&column| !used.contains(&Some(column)));
        let unused = unused.map(|column| table.header()[column].clone()).collect();
        let mut members = BTreeMap::new();
        let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
        let mut wrong = Vec::new();
        for line in &table.lines {
            let number = line.number;
            let student = line.field(id);
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
                extension_hours,
            };
            members.insert(student.to_owned(), member);
        }
        all_right(&wrong)?;
        Ok(Self { members, unused })
    }

    /// Compares the roster with those who handed in.
    pub(crate) fn compare<'a>(
        &'a self,
        handed_in: impl IntoIterator<Item = &'a str>,
    ) -> Comparison {
        let handed_in: BTreeSet<&str> = handed_in.into_iter().collect();
        let mut alike: BTreeMap<String, &str> = BTreeMap::new();
        for id in self.members.keys() {
            alike.insert(folded(id), id);
        }
        let unknown = handed_in.iter().filter(|id| !self.members.contains_key(**id));
        let unknown = unknown.map(|id| Unknown {
            id: (*id).to_owned(),
            resembles: alike.get(&folded(id)).map(|id| (*id).to_owned()),
        });
        let missing = self.members.keys().filter(|id| !handed_in.contains(id.as_str()));
        Comparison { unknown: unknown.collect(), missing: missing.cloned().collect() }
    }
}

/// An id as far as people and spreadsheets keep it: neither case nor leading zeros.
fn folded(id: &str) -> String {
    id.trim_start_matches('0').to_lowercase()
}

/// Where roster and submissions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Handed in and not on the roster.
    pub(crate) unknown: Vec<Unknown>,
    /// On the roster and not handed in.
    pub(crate) missing: Vec<String>,
}

/// Somebody whom the roster does not know.
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
    fn an_id_is_matched_exactly_and_what_resembles_it_is_only_said() {
        let roster = Roster::read(b"id\n0123\nAda\nbob\n", None).unwrap();
        let comparison = roster.compare(["123", "ada", "bob", "eve"]);
        assert_eq!(comparison.missing, ["0123", "Ada"]);
        let unknown: Vec<_> =
            comparison.unknown.iter().map(|u| (u.id.as_str(), u.resembles.as_deref())).collect();
        assert_eq!(unknown, [("123", Some("0123")), ("ada", Some("Ada")), ("eve", None)]);
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
