//! The folder that a class's grades are in.
//!
//! ```text
//! OUT/grades.jsonl           a row a line, by student and exercise
//! OUT/shards/3-of-20.jsonl   the same for a part of the class, until all parts are merged
//! OUT/cache/KEY.json         outcomes of files, whoever handed them in
//! OUT/drawings/NAME.svg      the timelines that pages show
//! OUT/reports/               what was made of the rows, in the formats that were asked for
//! OUT/similar.csv            files that resemble each other
//! OUT/notes.txt              what somebody should know about the class
//! ```
//!
//! A file is written beside its place and then moved there, so that what is there is whole, whenever
//! the checker was stopped.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::class::erase::Holding;
use crate::class::export::cell;
use crate::class::grading::drawing_of;
use crate::class::name::{shown, slug};
use crate::class::one::{Outcome, kept_as};
use crate::class::record::{FORMAT, Row};
use crate::class::similar::Pair;
use crate::exit::Usage;

/// A class's grades and what they were made from.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

/// Whether a folder may hold an earlier run's grades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// They are taken up.
    Resumed,
    /// There must be none.
    Refused,
}

/// A part of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 0.
    pub(crate) index: u32,
    pub(crate) of: u32,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, of)| {
            Some(Self { index: index.parse().ok()?, of: of.parse().ok()? })
        });
        match parts {
            Some(shard) if shard.index < shard.of => Ok(shard),
            _ => Err("a shard is `I/N` with I from 0 to N - 1, such as `0/20`".to_owned()),
        }
    }
}

impl Shard {
    /// Whether a student is in it. Which one a student is in depends on nobody else.
    pub(crate) fn holds(self, student: &str) -> bool {
        let hash = super::kit::sha256(student.as_bytes());
        let number = u64::from_str_radix(&hash[..16], 16).unwrap_or(0);
        number % u64::from(self.of) == u64::from(self.index)
    }
}

impl Store {
    /// Opens `root`, or makes it.
    pub(crate) fn open(root: &Path, earlier: Earlier) -> Result<Self> {
        let store = Self { root: root.to_owned() };
        let begun = store.cache().is_dir();
        if earlier == Earlier::Refused && begun {
            let message = format!(
                "`{}` holds grades already\n\nhint: `--resume` goes on with them: what was graded is \
                 not graded again",
                root.display()
            );
            return Err(Usage(message).into());
        }
        if !begun && std::fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some()) {
            let message = format!("`{}` is not empty, and holds no grades", root.display());
            return Err(Usage(message).into());
        }
        for folder in [store.cache(), store.drawings()] {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        Ok(store)
    }

    fn cache(&self) -> PathBuf {
        self.root.join(CACHE)
    }

    /// Where the drawings are.
    pub(crate) fn drawings(&self) -> PathBuf {
        self.root.join(DRAWINGS)
    }

    /// Where the outcome of this key is, or will be.
    pub(crate) fn outcome_path(&self, key: &str) -> PathBuf {
        self.cache().join(format!("{key}.json"))
    }

    /// The outcome of this key, if it is there and whole.
    pub(crate) fn outcome(&self, key: &str) -> Option<Outcome> {
        let bytes = std::fs::read(self.outcome_path(key)).ok()?;
        let outcome: Outcome = serde_json::from_slice(&bytes).ok()?;
        (outcome.row.format == FORMAT).then_some(outcome)
    }

    /// Keeps the outcome of this key.
    pub(crate) fn keep(&self, key: &str, outcome: &Outcome) -> Result<()> {
        write(&self.outcome_path(key), &serde_json::to_vec(outcome)?)
    }

    /// Where the reports are.
    pub(crate) fn reports(&self) -> PathBuf {
        self.root.join(REPORTS)
    }

    /// Where it is noted what somebody should know about the class.
    pub(crate) fn notes(&self) -> PathBuf {
        self.root.join("notes.txt")
    }

    /// Writes what somebody should know about the class, or a part of it.
    pub(crate) fn write_notes(&self, notes: &[String], shard: Option<Shard>) -> Result<()> {
        let text: String =
            notes.iter().map(|note| format!("{}\n", shown(note.as_bytes()))).collect();
        match shard {
            None => write(&self.notes(), text.as_bytes()),
            // The parts say the same of the class, and each of its own students.
            Some(Shard { index, of }) => {
                let path = self.root.join(format!("notes-{index}-of-{of}.txt"));
                write(&path, text.as_bytes())
            }
        }
    }

    /// Writes which files resemble each other, a pair a line.
    pub(crate) fn write_similar(&self, pairs: &[(&str, Pair)]) -> Result<()> {
        let lines = |ranges: &[(u32, u32)]| -> String {
            let each = ranges.iter().map(|(from, to)| format!("{from}-{to}"));
            each.collect::<Vec<_>>().join(" ")
        };
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record([
            "exercise",
            "first",
            "second",
            "share",
            "first_lines",
            "second_lines",
        ])?;
        for (exercise, pair) in pairs {
            table.write_record([
                (*exercise).to_owned(),
                cell(&pair.first),
                cell(&pair.second),
                format!("{:.2}", pair.share),
                lines(&pair.first_lines),
                lines(&pair.second_lines),
            ])?;
        }
        let text = table.into_inner().map_err(|error| anyhow::anyhow!("{error}"))?;
        write(&self.similar(), &text)
    }

    /// Takes over the drawings of another folder.
    pub(crate) fn take_drawings(&self, from: &Path) -> Result<()> {
        let Ok(entries) = std::fs::read_dir(from.join(DRAWINGS)) else { return Ok(()) };
        for entry in entries {
            let path = entry.context("cannot list drawings")?.path();
            let to = self.drawings().join(path.file_name().unwrap_or_default());
            if !to.is_file() {
                let bytes = std::fs::read(&path)
                    .with_context(|| format!("cannot read `{}`", path.display()))?;
                write(&to, &bytes)?;
            }
        }
        Ok(())
    }

    /// Everything that is about the students of `rows` and lies in a file of its own.
    pub(crate) fn holdings(&self, rows: &[Row]) -> Result<Vec<Holding>> {
        let mut kept = Vec::new();
        for entry in std::fs::read_dir(self.cache()).context("cannot list what is kept")? {
            kept.push(entry.context("cannot list what is kept")?.file_name());
        }
        let mut holdings = Vec::new();
        for row in rows {
            let mut hold = |path: PathBuf| {
                let students = [row.student.clone()].into();
                holdings.push(Holding { path, students });
            };
            for folder in ["students", "gradescope", "prairielearn"] {
                let folder = Path::new(REPORTS).join(folder);
                hold(folder.join(slug(&row.student)));
                hold(folder.join(format!("{}.html", slug(&row.student))));
            }
            let Some(file) = &row.file else { continue };
            hold(Path::new(DRAWINGS).join(drawing_of(row).unwrap_or_default()));
            let begins = kept_as(&row.exercise, &file.sha256);
            let own = kept.iter().filter(|name| name.to_string_lossy().starts_with(&begins));
            own.for_each(|name| hold(Path::new(CACHE).join(name)));
        }
        Ok(holdings)
    }

    /// Takes out what [`Self::write_similar`] and [`Self::write_notes`] wrote about a student.
    pub(crate) fn forget(&self, student: &str) -> Result<()> {
        let path = self.similar();
        if path.is_file() {
            let mut from =
                csv::Reader::from_path(&path).context("cannot read the list of similar files")?;
            let mut table = csv::Writer::from_writer(Vec::new());
            table.write_record(from.headers()?)?;
            for record in from.records() {
                let record = record?;
                let own = cell(student);
                if record.iter().skip(1).take(2).all(|one| one != own) {
                    table.write_record(&record)?;
                }
            }
            let text = table.into_inner().map_err(|error| anyhow::anyhow!("{error}"))?;
            write(&path, &text)?;
        }
        let Ok(notes) = std::fs::read_to_string(self.notes()) else { return Ok(()) };
        let about = format!("{}: ", shown(student.as_bytes()));
        let others = notes.lines().filter(|line| !line.starts_with(&about));
        let text: String = others.map(|line| format!("{line}\n")).collect();
        write(&self.notes(), text.as_bytes())
    }

    fn similar(&self) -> PathBuf {
        self.root.join("similar.csv")
    }

    /// Writes the rows of the whole class, or of a part of it.
    pub(crate) fn write_rows(&self, rows: &[Row], shard: Option<Shard>) -> Result<PathBuf> {
        let mut text = Vec::new();
        for row in rows {
            serde_json::to_writer(&mut text, row)?;
            text.push(b'\n');
        }
        let path = match shard {
            None => self.root.join(GRADES),
            Some(Shard { index, of }) => {
                let folder = self.root.join(SHARDS);
                std::fs::create_dir_all(&folder).context("cannot make a folder for shards")?;
                folder.join(format!("{index}-of-{of}.jsonl"))
            }
        };
        write(&path, &text)?;
        Ok(path)
    }
}

const GRADES: &str = "grades.jsonl";
const CACHE: &str = "cache";
const DRAWINGS: &str = "drawings";
const REPORTS: &str = "reports";
const SHARDS: &str = "shards";

/// Reads the rows that a run left in `root`: of the whole class, or of every part of it.
pub(crate) fn read_rows(root: &Path) -> Result<Vec<Row>> {
    let mut files = Vec::new();
    if root.join(GRADES).is_file() {
        files.push(root.join(GRADES));
    } else if let Ok(entries) = std::fs::read_dir(root.join(SHARDS)) {
        let mut names: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
            .collect();
        names.sort();
        check_shards(root, &names)?;
        files = names;
    }
    if files.is_empty() {
        let message = format!(
            "`{}` holds no grades\n\nhint: a folder that `checker grade --out` wrote is expected",
            root.display()
        );
        return Err(Usage(message).into());
    }
    let mut rows = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        for (number, line) in (1..).zip(text.lines()) {
            let row = read_row(line)
                .with_context(|| format!("cannot read line {number} of `{}`", file.display()))?;
            rows.push(row);
        }
    }
    Ok(rows)
}

fn read_row(line: &str) -> Result<Row> {
    #[derive(serde::Deserialize)]
    struct Header {
        format: u32,
    }
    // Read first: another version may differ in a way that does not parse.
    let Header { format } = serde_json::from_str(line)?;
    if format != FORMAT {
        bail!("it is of format {format}, and this checker reads format {FORMAT}");
    }
    Ok(serde_json::from_str(line)?)
}

/// Complains of parts that are not there.
fn check_shards(root: &Path, files: &[PathBuf]) -> Result<()> {
    let shard = |path: &PathBuf| -> Option<Shard> {
        path.file_stem()?.to_str()?.replace("-of-", "/").parse().ok()
    };
    let shards: Vec<Shard> = files.iter().filter_map(shard).collect();
    let Some(first) = shards.first() else { return Ok(()) };
    let missing: Vec<String> = (0..first.of)
        .filter(|index| !shards.contains(&Shard { index: *index, of: first.of }))
        .map(|index| format!("{index}/{}", first.of))
        .collect();
    if shards.iter().any(|shard| shard.of != first.of) {
        bail!("the shards in `{}` are of classes cut in different ways", root.display());
    }
    if !missing.is_empty() {
        let which = missing.join(", ");
        bail!("there are no grades of shard {which} in `{}`", root.display());
    }
    Ok(())
}

/// Puts the rows of several folders together, in order.
pub(crate) fn merge(mut rows: Vec<Row>) -> Result<Vec<Row>> {
    rows.sort_by(|a, b| (&a.student, &a.exercise).cmp(&(&b.student, &b.exercise)));
    rows.dedup();
    for pair in rows.windows(2) {
        if (&pair[0].student, &pair[0].exercise) == (&pair[1].student, &pair[1].exercise) {
            bail!("`{}` has two different grades for `{}`", pair[0].student, pair[0].exercise);
        }
    }
    Ok(rows)
}

/// Writes a file as a whole, or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Two processes may write the same file: each has a name of its own beside it.
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()
    });
    written
        .and_then(|()| std::fs::rename(&beside, path))
        .with_context(|| format!("cannot write `{}`", path.display()))
}
