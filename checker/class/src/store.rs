//! The folder that a class's grades are in.
//!
//! ```text
//! OUT/grades.jsonl           a row a line, by student and exercise
//! OUT/shards/3-of-20.jsonl   the same for a part of the class, until the whole is graded in one go
//! OUT/shards/3-of-20.txt     the part's notes
//! OUT/cache/KEY.json         outcomes of files, whoever handed them in
//! OUT/drawings/NAME.svg      the timelines that pages show
//! OUT/reports/               what was made of the rows, in the formats that were asked for
//! OUT/similar.csv            files that resemble each other
//! OUT/notes.txt              what somebody should know about the class
//! ```
//!
//! A file is written beside its place and then moved there, so that what is there is whole,
//! whenever the checker was stopped.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::export::cell;
use crate::forget_student::Holding;
use crate::grader::{Outcome, kept_as};
use crate::name::{shown, slug};
use crate::record::{FORMAT, OnGpu, Row};
use crate::similar::Pair;
use checker::cli::class::Shard;
use checker::exit::Usage;

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

/// Whether a student is in a shard of a class. The shard depends on the student's name alone.
pub(crate) fn holds(shard: Shard, student: &str) -> bool {
    let hash = super::kit::sha256(student.as_bytes());
    let number = u64::from_str_radix(&hash[..16], 16).unwrap_or(0);
    number % u64::from(shard.of) == u64::from(shard.index)
}

impl Store {
    /// Opens `root`, or makes it.
    pub(crate) fn open(root: &Path, earlier: Earlier) -> Result<Self> {
        let store = Self { root: root.to_owned() };
        // Asked in this order: another part of the class may begin just now.
        let empty = !holds_some(root);
        let begun = store.cache().is_dir();
        // The folders alone are of a run that ended before it graded anything.
        let graded = [CACHE, SHARDS].iter().any(|folder| holds_some(&root.join(folder)))
            || root.join(GRADES).is_file();
        if earlier == Earlier::Refused && graded {
            let message = format!(
                "`{}` holds grades already\n\nhint: `--resume` goes on with them: what was graded is \
                 not graded again",
                root.display()
            );
            return Err(Usage(message).into());
        }
        if !begun && !empty {
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
        place(&self.outcome_path(key), &serde_json::to_vec(outcome)?)
    }

    /// The measurement on a GPU under this key, if it is there and whole.
    pub(crate) fn on_gpu(&self, key: &str) -> Option<OnGpu> {
        serde_json::from_slice(&std::fs::read(self.outcome_path(key)).ok()?).ok()
    }

    /// Keeps what was measured on a GPU.
    pub(crate) fn keep_on_gpu(&self, key: &str, found: &OnGpu) -> Result<()> {
        write(&self.outcome_path(key), &serde_json::to_vec(found)?)
    }

    /// Where the reports are.
    pub(crate) fn reports(&self) -> PathBuf {
        self.root.join(REPORTS)
    }

    /// Writes the notes about the class, or a part of it; the file.
    pub(crate) fn write_notes(&self, notes: &[String], shard: Option<Shard>) -> Result<PathBuf> {
        let text: String =
            notes.iter().map(|note| format!("{}\n", shown(note.as_bytes()))).collect();
        let path = match shard {
            None => self.root.join(NOTES),
            Some(shard) => self.part(shard, "txt")?,
        };
        write(&path, text.as_bytes())?;
        Ok(path)
    }

    /// The file of a part, in a folder that is there.
    fn part(&self, Shard { index, of }: Shard, extension: &str) -> Result<PathBuf> {
        let folder = self.root.join(SHARDS);
        std::fs::create_dir_all(&folder).context("cannot make a folder for shards")?;
        Ok(folder.join(format!("{index}-of-{of}.{extension}")))
    }

    /// Takes away what was written of parts, now that there is the whole: merged again, it would
    /// replace newer grades by older ones.
    pub(crate) fn drop_parts(&self) -> Result<()> {
        match std::fs::remove_dir_all(self.root.join(SHARDS)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).context("cannot remove the grades of parts of the class")
            }
            _ => Ok(()),
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
            hold(Path::new(DRAWINGS).join(row.drawing().unwrap_or_default()));
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
        for path in parts(&self.root, "jsonl") {
            let others = rows_of(&path)?.into_iter().filter(|row| row.student != student);
            write(&path, &lines_of(&others.collect::<Vec<_>>())?)?;
        }
        let about = format!("{}: ", shown(student.as_bytes()));
        for path in parts(&self.root, "txt").into_iter().chain([self.root.join(NOTES)]) {
            let Ok(notes) = std::fs::read_to_string(&path) else { continue };
            let others = notes.lines().filter(|line| !line.starts_with(&about));
            let text: String = others.map(|line| format!("{line}\n")).collect();
            write(&path, text.as_bytes())?;
        }
        Ok(())
    }

    /// Where it is listed which files resemble each other.
    pub(crate) fn similar(&self) -> PathBuf {
        self.root.join("similar.csv")
    }

    /// Writes the rows of the whole class, or of a part of it.
    pub(crate) fn write_rows(&self, rows: &[Row], shard: Option<Shard>) -> Result<PathBuf> {
        let path = match shard {
            None => self.root.join(GRADES),
            Some(shard) => self.part(shard, "jsonl")?,
        };
        write(&path, &lines_of(rows)?)?;
        Ok(path)
    }
}

/// Whether there is anything in a folder.
fn holds_some(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

const GRADES: &str = "grades.jsonl";
const CACHE: &str = "cache";
const DRAWINGS: &str = "drawings";
const REPORTS: &str = "reports";
const SHARDS: &str = "shards";
const NOTES: &str = "notes.txt";

/// Rows, one a line.
fn lines_of(rows: &[Row]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut text, row)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// The parts of the class in `root`, in order.
fn parts(root: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join(SHARDS)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    paths.sort();
    paths
}

/// Reads the rows of the whole class in `root`, or else of all parts of it.
pub(crate) fn read_rows(root: &Path) -> Result<Vec<Row>> {
    match root.join(GRADES) {
        path if path.is_file() => rows_of(&path),
        _ => Ok(read_parts(&[root.to_owned()])?.rows),
    }
}

/// The parts of a class, put together.
pub(crate) struct Together {
    /// In the order of the parts.
    pub(crate) rows: Vec<Row>,
    /// Notes about the class, which are the same in all of them, and here once.
    pub(crate) notes: Vec<String>,
}

/// Reads what runs left in `roots`: where there are parts of a class, all of those, wherever they
/// are, else the whole.
pub(crate) fn read_parts(roots: &[PathBuf]) -> Result<Together> {
    let mut together = Together { rows: Vec::new(), notes: Vec::new() };
    let mut shards = Vec::new();
    for root in roots {
        let mut files = parts(root, "jsonl");
        shards.extend(files.iter().filter_map(|path| shard_of(path)));
        let mut notes = parts(root, "txt");
        if files.is_empty() {
            files = vec![root.join(GRADES)];
            notes = vec![root.join(NOTES)];
        }
        for file in files {
            if !file.is_file() {
                let message = format!(
                    "`{}` holds no grades\n\nhint: a folder that `checker grade --out` wrote is expected",
                    root.display()
                );
                return Err(Usage(message).into());
            }
            together.rows.extend(rows_of(&file)?);
        }
        for file in notes {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            for line in text.lines().map(str::to_owned) {
                if !together.notes.contains(&line) {
                    together.notes.push(line);
                }
            }
        }
    }
    check_shards(&shards)?;
    Ok(together)
}

/// Which part of a class a file is of.
fn shard_of(path: &Path) -> Option<Shard> {
    path.file_stem()?.to_str()?.replace("-of-", "/").parse().ok()
}

fn rows_of(file: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read `{}`", file.display()))?;
    let rows = (1..).zip(text.lines()).map(|(number, line)| {
        read_row(line).with_context(|| format!("cannot read line {number} of `{}`", file.display()))
    });
    rows.collect()
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
fn check_shards(shards: &[Shard]) -> Result<()> {
    let Some(first) = shards.first() else { return Ok(()) };
    if let Some(other) = shards.iter().find(|shard| shard.of != first.of) {
        let message = format!(
            "there are grades of a class in {} parts and of one in {}\n\nhint: remove those in \
             `{SHARDS}` that are older",
            first.of, other.of
        );
        return Err(Usage(message).into());
    }
    let missing: Vec<String> = (0..first.of)
        .filter(|&index| shards.iter().all(|shard| shard.index != index))
        .map(|index| format!("{index}/{}", first.of))
        .collect();
    if let [one, ..] = &missing[..] {
        let message = format!(
            "there are no grades of shard {}\n\nhint: grade with `--shard {one} --resume`, and merge again",
            missing.join(", ")
        );
        return Err(Usage(message).into());
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

/// Writes a file as a whole, or not at all, even where the machine loses its power meanwhile.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_and(path, bytes, File::sync_data)
}

/// The same for a file that is made again if it cannot be read: it does not wait for the disk,
/// which all workers share.
pub(crate) fn place(path: &Path, bytes: &[u8]) -> Result<()> {
    write_and(path, bytes, |_| Ok(()))
}

fn write_and(path: &Path, bytes: &[u8], then: fn(&File) -> std::io::Result<()>) -> Result<()> {
    let written = beside(path).and_then(|(mut file, beside)| {
        file.write_all(bytes)?;
        then(&file)?;
        std::fs::rename(&beside, path)
    });
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

/// A new file beside `path` that nothing else writes: the same outcome may come about in two
/// threads, two processes or on two machines at a time.
fn beside(path: &Path) -> std::io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 0_u32;
    loop {
        let beside = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
        match File::create_new(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
