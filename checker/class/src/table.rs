//! Tables that an instructor writes: CSV as spreadsheets and platforms save it, read strictly.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};

/// A table with its header.
#[derive(Debug)]
pub(super) struct Table {
    header: Vec<String>,
    pub(super) lines: Vec<Line>,
}

/// A line of a table.
#[derive(Debug)]
pub(super) struct Line {
    /// Where it begins in the file, from 1.
    pub(super) number: u64,
    fields: Vec<String>,
}

impl Table {
    /// The table in `bytes`: UTF-8 or, as spreadsheets save it too, UTF-16; with commas, with the
    /// semicolons of spreadsheets where the comma is in numbers, with tabs, or with what a first
    /// line `sep=` says.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let text = text(bytes)?;
        let first = text.lines().next().unwrap_or_default();
        let said = first.strip_prefix("sep=").map(str::as_bytes);
        let (delimiter, text) = match said {
            Some(&[delimiter]) => (delimiter, text.split_once('\n').map_or("", |(_, rest)| rest)),
            _ => {
                let has = |delimiter: &&u8| first.as_bytes().contains(delimiter);
                (*b",;\t".iter().find(has).unwrap_or(&b','), &*text)
            }
        };
        // Lines are those of the file.
        let before = u64::from(said.is_some());
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let header = reader.headers()?.iter().map(str::to_lowercase).collect();
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record?;
            let number = record.position().map_or(0, csv::Position::line) + before;
            let fields: Vec<_> = record.iter().map(str::to_owned).collect();
            // What a spreadsheet leaves below a table.
            if fields.iter().all(String::is_empty) {
                continue;
            }
            lines.push(Line { number, fields });
        }
        Ok(Self { header, lines })
    }

    /// Which column is called one of `names`.
    pub(super) fn column(&self, names: &[&str]) -> Result<Option<usize>> {
        let found: Vec<_> = (0..self.header.len())
            .filter(|&column| names.contains(&self.header[column].as_str()))
            .collect();
        match found[..] {
            [] => Ok(None),
            [column] => Ok(Some(column)),
            [a, b, ..] => {
                bail!("its columns `{}` and `{}` say the same", self.header[a], self.header[b])
            }
        }
    }

    /// The columns `names`, all of which have to be there, and no other.
    pub(super) fn exactly<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N]> {
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            let found = self.column(&[name])?;
            *column = found.with_context(|| format!("it has no column `{name}`{}", of(&names)))?;
        }
        if let Some(other) = self.header.iter().find(|column| !names.contains(&column.as_str())) {
            bail!("it has a column `{other}`{}", of(&names));
        }
        Ok(columns)
    }

    /// The names of all columns.
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }
}

/// The text of a file of an instructor's.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>> {
    let utf16 = |bytes: &[u8], word: fn([u8; 2]) -> u16| {
        let words: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| word(*pair)).collect();
        String::from_utf16(&words).context("it is not UTF-16, though it begins as such")
    };
    Ok(match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?.into(),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?.into(),
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).context(NOT_UTF8)?.into(),
        _ => std::str::from_utf8(bytes).context(NOT_UTF8)?.into(),
    })
}

pub(super) const NOT_UTF8: &str =
    "it is not UTF-8\n\nhint: a spreadsheet saves it so as `CSV UTF-8`";

fn of(names: &[&str]) -> String {
    format!("\n\nhint: its first line has to be `{}`", names.join(","))
}

impl Line {
    /// The value of a column.
    pub(super) fn field(&self, column: usize) -> &str {
        self.fields.get(column).map_or("", String::as_str)
    }
}

/// Fails with all that is wrong, a line each: a table is to be corrected once.
pub(super) fn all_right(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{}", wrong.join("\n"))
}
