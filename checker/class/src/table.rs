//! Tables that an instructor writes: CSV as spreadsheets and platforms save it, read strictly.

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
    /// The table in `bytes`: UTF-8, with commas, or with the semicolons of spreadsheets where the
    /// comma is in numbers.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).context("it is not UTF-8")?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().next().unwrap_or_default();
        let delimiter = if !first.contains(',') && first.contains(';') { b';' } else { b',' };
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let header = reader.headers()?.iter().map(str::to_lowercase).collect();
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record?;
            let number = record.position().map_or(0, csv::Position::line);
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

fn of(names: &[&str]) -> String {
    format!("\n\nhint: its first line has to be `{}`", names.join(","))
}

impl Line {
    /// What stands in a column.
    pub(super) fn field(&self, column: usize) -> &str {
        self.fields.get(column).map_or("", String::as_str)
    }
}

/// Fails with all that is wrong, a line each: whoever corrects a table wants to do it once.
pub(super) fn all_right(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{}", wrong.join("\n"))
}
