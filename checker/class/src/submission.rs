//! The submissions of students: whose it is, and which file of it is graded.
//!
//! Everything here is in the hands of those who are graded: names, links, pipes, archives. Of a
//! submission one file for each exercise is read, once, into memory. Nothing is unpacked, nothing
//! outside the folder is opened, and what cannot be graded is told in words that a student can act
//! on. The same folder gives the same answer to everybody: no time of a file, no order of a listing
//! and no right of the superuser's enters it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `folder` | a folder on disk, opened safely |
//! | `archive` | `.zip` and `.tar.gz`, in memory |
//! | `layout` | names: which file belongs to which exercise and to whom |
//! | `gradescope` | who handed in what, as Gradescope says it |
//! | `text` | what a source file has to be |

mod archive;
mod folder;
mod gradescope;
mod layout;
#[cfg(test)]
mod tests;
mod text;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;

use crate::kit::sha256;
use crate::name::shown;
use crate::record::Submitted;
use checker::exercise::{Location, State};
use checker::exit::Usage;
use layout::{Owner, Scope};
use tree::{DEPTH, Item, Kind, Tree, join};
use unicode_normalization::UnicodeNormalization as _;

/// An exercise whose file is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// `three_lanes`.
    pub(crate) name: String,
    /// `04_three_lanes`.
    pub(crate) folder: String,
    /// The file as it was handed out, where there is a copy.
    pub(crate) shipped: Option<Vec<u8>>,
}

impl Wanted {
    /// The file that is looked for as that of `place`.
    pub(crate) fn of(place: &Location) -> Self {
        Self {
            name: place.id.clone(),
            folder: place.name().to_string_lossy().into_owned(),
            shipped: std::fs::read(place.folder.join(".shipped/lib.rs")).ok(),
        }
    }
}

/// A student, with a file or the reason for none for each exercise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Student {
    pub(crate) id: String,
    pub(crate) name: String,
    /// In the order of the exercises that were wanted.
    pub(crate) handed: Vec<Handed>,
    /// When it was handed in, where the platform says so.
    pub(crate) at: Option<Timestamp>,
    /// Further remarks for the instructor.
    pub(crate) notes: Vec<String>,
}

/// The file that a student handed in for one exercise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// A file that can be compiled.
    File(File),
    /// Nothing, and what was found elsewhere.
    Missing { hint: Option<String> },
    /// Something that is not graded, and why.
    Invalid { reason: String },
}

/// A student's file for one exercise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) text: String,
    pub(crate) submitted: Submitted,
    /// Whether it is, byte for byte, what was handed out.
    pub(crate) state: State,
    /// Reasons for a person to look before the grade counts.
    pub(crate) flags: Vec<String>,
}

/// All that a class handed in. Files are read one student at a time, so that a class needs no more
/// memory than a student.
pub(crate) struct Class {
    tree: Box<dyn Tree>,
    entries: Vec<Entry>,
    /// Remarks on files that belong to no student.
    pub(crate) notes: Vec<String>,
}

/// A student's parts of a class's folder.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    name: String,
    parts: Vec<Part>,
    at: Option<Timestamp>,
    notes: Vec<String>,
}

#[derive(Clone, Debug)]
enum Part {
    /// All of a folder.
    Folder(Vec<u8>),
    /// A file, and what the student called it.
    File { at: Vec<u8>, called: Vec<u8> },
}

/// All students of `dir`, a folder or a platform's `.zip`, with their files, by id.
#[cfg(test)]
fn find(dir: &Path, wanted: &[Wanted]) -> Result<Vec<Student>> {
    let exercises: Vec<String> = wanted.iter().map(|it| it.name.clone()).collect();
    let class = Class::open(dir, &exercises)?;
    Ok((0..class.len()).map(|index| class.read(index, wanted)).collect())
}

impl Class {
    /// Says which student each file in `dir` belongs to, a folder or a platform's `.zip`, and reads
    /// none of them. `exercises` are the ids of all that there are: a folder with such a name is no
    /// student's.
    pub(crate) fn open(dir: &Path, exercises: &[String]) -> Result<Self> {
        let mut notes = Vec::new();
        if !dir.exists() {
            let message = format!("there is no `{}`\n\nhint: {DIR}", dir.display());
            return Err(Usage(message).into());
        }
        let tree: Box<dyn Tree> = if dir.is_dir() {
            Box::new(folder::Folder::open(dir)?)
        } else {
            let file = std::fs::File::open(dir)
                .with_context(|| format!("cannot open `{}`", dir.display()))?;
            let zip = archive::Zip::of_class(file);
            let (zip, odd) = zip.map_err(|reason| {
                anyhow!("cannot read `{}`: it {reason}\n\nhint: {DIR}", dir.display())
            })?;
            notes.extend(odd);
            Box::new(zip)
        };
        let listing = list(tree.as_ref(), exercises, &mut notes);
        let entries =
            listing.with_context(|| format!("cannot tell whose what is in `{}`", dir.display()))?;
        if entries.is_empty() {
            let found = match &notes[..] {
                [] => "it is empty".to_owned(),
                _ => notes.iter().take(NAMED).cloned().collect::<Vec<_>>().join("\n"),
            };
            let message =
                format!("nobody is found in `{}`\n\n{found}\n\nhint: {DIR}", dir.display());
            return Err(Usage(message).into());
        }
        Ok(Self { tree, entries, notes })
    }

    /// How many students there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The ids of those who are in the class and of whom nothing is there.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &str> {
        let absent = self.entries.iter().filter(|entry| entry.parts.is_empty());
        absent.map(|entry| entry.id.as_str())
    }

    /// The students' ids, in the order of their bytes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.id.as_str())
    }

    /// Gives each student of a roster a place, whether they handed in or not, and the roster's
    /// names. `same` says whom the roster calls otherwise.
    pub(crate) fn enrol<'a>(
        &mut self,
        same: &BTreeMap<String, String>,
        roster: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) {
        for entry in &mut self.entries {
            if let Some(id) = same.get(&entry.id) {
                entry.id.clone_from(id);
            }
        }
        self.entries.sort_by(|a, b| a.id.cmp(&b.id));
        for (id, name) in roster {
            match self.entries.binary_search_by(|entry| entry.id.as_str().cmp(id)) {
                Ok(at) => {
                    if let Some(name) = name {
                        self.entries[at].name = name.to_owned();
                    }
                }
                Err(at) => {
                    let name = name.unwrap_or(id).to_owned();
                    let id = id.to_owned();
                    let entry = Entry { id, name, parts: Vec::new(), at: None, notes: Vec::new() };
                    self.entries.insert(at, entry);
                }
            }
        }
    }

    /// Reads what student number `index` handed in.
    pub(crate) fn read(&self, index: usize, wanted: &[Wanted]) -> Student {
        let entry = &self.entries[index];
        let mut notes = entry.notes.clone();
        let handed = match self.sources(entry) {
            Ok(sources) => {
                for (name, reason) in &sources.unread {
                    notes.push(format!("`{}` {reason}", shown(name)));
                }
                let scope = if wanted.len() == 1 { Scope::One } else { Scope::Several };
                sources.handed(wanted, scope)
            }
            Err(reason) => {
                let reason = format!("what was handed in {reason}");
                vec![Handed::Invalid { reason }; wanted.len()]
            }
        };
        Student { id: entry.id.clone(), name: entry.name.clone(), handed, at: entry.at, notes }
    }

    /// Where files of one student can lie.
    fn sources(&self, entry: &Entry) -> Result<Sources<'_>, String> {
        let mut own = Source {
            tree: Read::Class(self.tree.as_ref()),
            label: None,
            items: Vec::new(),
            at: BTreeMap::new(),
        };
        for part in &entry.parts {
            match part {
                Part::Folder(below) => {
                    for item in self.tree.items(below, DEPTH)? {
                        own.at.insert(item.path.clone(), join(below, &item.path));
                        own.items.push(item);
                    }
                }
                Part::File { at, called } => {
                    // Of two attempts under one name neither is the right one.
                    let kind = match own.at.insert(called.clone(), at.clone()) {
                        None => Kind::File,
                        Some(_) => Kind::Refused("was handed in more than once".to_owned()),
                    };
                    own.items.retain(|item| item.path != *called);
                    own.items.push(Item { path: called.clone(), kind });
                }
            }
        }
        own.items.sort();
        let mut archives = Vec::new();
        let mut unread = Vec::new();
        // All of a student's archives together are in memory at once.
        let mut left = archive::PACKED;
        for item in &own.items {
            let Some((_, format)) = archive::Format::of(&item.path) else { continue };
            if item.kind != Kind::File || item.path.contains(&b'/') {
                continue;
            }
            let opened = self.tree.read(&own.at[&item.path], left).and_then(|bytes| {
                left -= bytes.len() as u64;
                archive::open(bytes, format)
            });
            match opened {
                Ok(tree) => {
                    let mut items = tree.items(b"", DEPTH)?;
                    items.sort();
                    let (label, at) = (Some(item.path.clone()), BTreeMap::new());
                    archives.push(Source { tree: Read::Archive(tree), label, items, at });
                }
                Err(reason) => unread.push((item.path.clone(), reason)),
            }
        }
        let sources = std::iter::once(own).chain(archives).collect();
        Ok(Sources { sources, unread })
    }
}

const DIR: &str =
    "a class is a folder with one folder for each student, or the `.zip` that a platform exports";

/// The number of files that are named of a folder in which no student is found.
const NAMED: usize = 3;

/// Students of the class in `tree`, by id.
fn list(tree: &dyn Tree, exercises: &[String], notes: &mut Vec<String>) -> Result<Vec<Entry>> {
    let mut below = Vec::new();
    let mut items = listed(tree, &below)?;
    // Gradescope's archive has one folder around everything, and so have those that people make of
    // a class's folder.
    let folders: Vec<_> =
        items.iter().filter(|item| item.kind == Kind::Folder && !hidden(&item.path)).collect();
    if let [only] = folders[..] {
        let path = only.path.clone();
        let inner = listed(tree, &path)?;
        let is_gradescope = inner.iter().any(|item| item.path == gradescope::NAME);
        let is_alone = items.iter().all(|item| hidden(&item.path) || item.path == path);
        if is_gradescope || (is_alone && is_class(&path, &inner, exercises)) {
            if !is_gradescope {
                notes.push(format!(
                    "`{}/` is taken for the class: it is alone, and what is in it looks like several students' work",
                    shown(&path)
                ));
            }
            (below, items) = (path, inner);
        }
    }
    let mut entries = Vec::new();
    if items.iter().any(|item| item.path == gradescope::NAME) {
        let submissions = metadata(tree, &join(&below, gradescope::NAME))?;
        let taken = of_gradescope(&submissions, &items, &below, &mut entries);
        items.retain(|item| item.path != gradescope::NAME && !taken.contains(&item.path));
    }
    let mut owners: BTreeMap<(String, String), Entry> = BTreeMap::new();
    for item in items {
        let path = join(&below, &item.path);
        if hidden(&item.path) {
            continue;
        }
        let Some(Owner { id, name, file, note }) = layout::owner(&item.path, &item.kind) else {
            notes.push(match &item.kind {
                Kind::Refused(reason) => format!("`{}` {reason}", shown(&path)),
                _ => format!("`{}` belongs to nobody", shown(&path)),
            });
            continue;
        };
        let part = match file {
            Some(called) => Part::File { at: path, called },
            None => Part::Folder(path),
        };
        // What a platform numbers are parts of one submission, other names are one part each.
        let platform = if id == name { shown(&item.path) } else { name.clone() };
        let entry = owners.entry((id.clone(), platform)).or_insert_with(|| Entry {
            id,
            name,
            parts: Vec::new(),
            at: None,
            notes: Vec::new(),
        });
        entry.parts.push(part);
        if let Some(note) = note.filter(|note| !entry.notes.iter().any(|known| known == note)) {
            entry.notes.push(note.to_owned());
        }
    }
    entries.extend(owners.into_values());
    compose(&mut entries);
    tell_apart(&mut entries);
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    for pair in by_folded_id(&entries).into_values().filter(|alike| alike.len() > 1) {
        let ids: Vec<_> = pair.iter().map(|id| format!("`{id}`")).collect();
        notes.push(format!(
            "{} are different students whose ids differ in case only",
            ids.join(" and ")
        ));
    }
    Ok(entries)
}

/// Whether a folder that is alone is that of a class, and not a student's. Then a platform has
/// named what is in it, or there are several folders or archives, and nothing that one student's
/// work has.
fn is_class(path: &[u8], inner: &[Item], exercises: &[String]) -> bool {
    let visible = || inner.iter().filter(|item| !hidden(&item.path));
    let named = |item: &Item| layout::by_platform(&item.path).is_some();
    if layout::by_platform(path).is_some() {
        return false;
    }
    if visible().any(named) {
        return true;
    }
    let is_work = |item: &Item| match item.kind {
        Kind::Folder => layout::is_work(&item.path, exercises),
        _ => archive::Format::of(&item.path).is_none(),
    };
    visible().count() > 1 && !visible().any(is_work)
}

fn by_folded_id(entries: &[Entry]) -> BTreeMap<String, Vec<&str>> {
    let mut folded: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for entry in entries {
        folded.entry(entry.id.to_lowercase()).or_default().push(entry.id.as_str());
    }
    folded
}

fn listed(tree: &dyn Tree, below: &[u8]) -> Result<Vec<Item>> {
    let mut items =
        tree.items(below, 1).map_err(|reason| anyhow!("`{}` {reason}", shown(below)))?;
    items.sort();
    Ok(items)
}

/// Files that operating systems and office programs add to a folder on their own.
fn hidden(name: &[u8]) -> bool {
    const LEFT: [&[u8]; 6] = [
        b"__MACOSX",
        b"Thumbs.db",
        b"ehthumbs.db",
        b"desktop.ini",
        b"$RECYCLE.BIN",
        b"System Volume Information",
    ];
    let is_left = |left: &&[u8]| name.eq_ignore_ascii_case(left);
    name.starts_with(b".") || name.starts_with(b"~$") || LEFT.iter().any(is_left)
}

fn metadata(tree: &dyn Tree, path: &[u8]) -> Result<Vec<gradescope::Submission>> {
    let name = shown(path);
    let bytes =
        tree.read(path, gradescope::LONGEST).map_err(|reason| anyhow!("`{name}` {reason}"))?;
    let text = String::from_utf8_lossy(&bytes);
    gradescope::read(&text).with_context(|| {
        format!("cannot read `{name}`; without it, it is not known whose the folders beside it are")
    })
}

/// Adds everybody who handed in by Gradescope, and returns the folders that are somebody's.
fn of_gradescope(
    submissions: &[gradescope::Submission],
    items: &[Item],
    below: &[u8],
    entries: &mut Vec<Entry>,
) -> Vec<Vec<u8>> {
    let mut taken = Vec::new();
    for submission in submissions {
        let folder = submission.folder.as_bytes();
        let there = items.iter().any(|item| item.path == folder && item.kind == Kind::Folder);
        let together = submission.submitters.len() > 1;
        for submitter in &submission.submitters {
            let Some(id) = submitter.id() else { continue };
            let name = submitter.name.as_deref().unwrap_or(id);
            entries.push(Entry {
                id: shown(id.as_bytes()),
                name: shown(name.as_bytes()),
                parts: if there { vec![Part::Folder(join(below, folder))] } else { Vec::new() },
                at: submission.at,
                notes: together
                    .then(|| format!("handed in by a group, `{}`", submission.folder))
                    .into_iter()
                    .collect(),
            });
            taken.push(folder.to_vec());
        }
    }
    taken
}

/// Writes ids and names as keyboards do, with one character for a letter and its accent. Some
/// systems keep them as two, which looks the same. Where both are there, the two are spelt out.
fn compose(entries: &mut [Entry]) {
    let taken: std::collections::BTreeSet<String> =
        entries.iter().map(|entry| entry.id.clone()).collect();
    for entry in entries {
        let composed: String = entry.id.nfc().collect();
        if composed != entry.id && taken.contains(&composed) {
            entry.id = entry.id.chars().map(spelt_out).collect();
        } else {
            entry.id = composed;
        }
        entry.name = entry.name.nfc().collect();
    }
}

/// Plain letters, and everything else by its number.
fn spelt_out(char: char) -> String {
    match char.is_ascii() {
        true => char.to_string(),
        false => char.escape_unicode().to_string(),
    }
}

/// Gives those who share an id one each, by what their folder or file is called.
fn tell_apart(entries: &mut [Entry]) {
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries.iter() {
        *ids.entry(entry.id.clone()).or_default() += 1;
    }
    for entry in entries.iter_mut().filter(|entry| ids[&entry.id] > 1) {
        let part = entry.parts.first().map(|part| match part {
            Part::Folder(path) | Part::File { at: path, .. } => shown(path),
        });
        entry.notes.push(format!("`{}` is the id of more than one", entry.id));
        entry.id = format!("{} ({})", entry.id, part.unwrap_or_default());
    }
    // A student can choose a name that equals another's with the suffix just added.
    let mut taken = std::collections::BTreeSet::new();
    for entry in entries {
        while !taken.insert(entry.id.clone()) {
            entry.id.push('\'');
        }
    }
}

/// Where a student's files can lie: what was handed in as it is, and each archive of it.
struct Sources<'a> {
    sources: Vec<Source<'a>>,
    /// Archives that are not read, and why.
    unread: Vec<(Vec<u8>, String)>,
}

struct Source<'a> {
    tree: Read<'a>,
    /// The archive's name.
    label: Option<Vec<u8>>,
    items: Vec<Item>,
    /// Where an item is in the tree, where that is not its path.
    at: BTreeMap<Vec<u8>, Vec<u8>>,
}

enum Read<'a> {
    Class(&'a dyn Tree),
    Archive(Box<dyn Tree>),
}

impl Source<'_> {
    fn read(&self, item: &Item) -> Result<Vec<u8>, String> {
        match &item.kind {
            Kind::File => {}
            Kind::Folder => return Err("is a folder, not a file".to_owned()),
            Kind::Refused(reason) => return Err(reason.clone()),
        }
        let path = self.at.get(&item.path).unwrap_or(&item.path);
        match &self.tree {
            Read::Class(tree) => tree.read(path, text::LONGEST),
            Read::Archive(tree) => tree.read(path, text::LONGEST),
        }
    }

    /// Where an item lies in what the student handed in.
    fn path(&self, item: &Item) -> Vec<u8> {
        join(self.label.as_deref().unwrap_or_default(), &item.path)
    }
}

/// A file that stands where one is looked for, with what reading it gave.
type Candidate = (Vec<u8>, Result<Vec<u8>, String>);

impl Sources<'_> {
    fn handed(&self, wanted: &[Wanted], scope: Scope) -> Vec<Handed> {
        let fitting: Vec<_> = wanted.iter().map(|wanted| self.fitting(wanted, scope)).collect();
        let used: Vec<_> =
            fitting.iter().flatten().map(|&(source, item)| source.path(item)).collect();
        let all = self.sources.iter().flat_map(|source| {
            source
                .items
                .iter()
                .map(|item| Item { path: source.path(item), kind: item.kind.clone() })
        });
        let mut all: Vec<_> = all.collect();
        all.retain(|item| {
            !self.sources.iter().any(|source| source.label.as_deref() == Some(&item.path))
        });
        let ignored = layout::ignored(&all, &used);
        let handed = wanted.iter().zip(fitting).map(|(wanted, fitting)| {
            let candidates =
                fitting.into_iter().map(|(source, item)| (source.path(item), source.read(item)));
            self.judge(wanted, candidates.collect(), &ignored, &all)
        });
        handed.collect()
    }

    fn fitting(&self, wanted: &Wanted, scope: Scope) -> Vec<(&Source<'_>, &Item)> {
        let fitting = self.sources.iter().flat_map(|source| {
            layout::fitting(&source.items, wanted, scope)
                .into_iter()
                .map(move |item| (source, item))
        });
        fitting.collect()
    }

    fn judge(
        &self,
        wanted: &Wanted,
        candidates: Vec<Candidate>,
        ignored: &[String],
        all: &[Item],
    ) -> Handed {
        let several = candidates.len() > 1;
        let mut kept: Option<(Vec<u8>, Vec<u8>)> = None;
        for (path, read) in candidates {
            let bytes = match read {
                Ok(bytes) => bytes,
                Err(reason) => {
                    return Handed::Invalid { reason: format!("`{}` {reason}", shown(&path)) };
                }
            };
            match &kept {
                None => kept = Some((path, bytes)),
                Some((_, same)) if *same == bytes => {}
                Some((first, _)) => {
                    let (first, second) = (shown(first), shown(&path));
                    let reason = format!(
                        "`{first}` and `{second}` could both be meant, and they differ\n\nhint: hand in one of them"
                    );
                    return Handed::Invalid { reason };
                }
            }
        }
        let Some((path, bytes)) = kept else { return self.nothing(wanted, all) };
        let state = match &wanted.shipped {
            None => State::Unknown,
            Some(shipped) if *shipped == bytes => State::Untouched,
            Some(_) => State::Changed,
        };
        let path = shown(&path);
        let submitted = Submitted {
            path: path.clone(),
            bytes: bytes.len() as u64,
            sha256: sha256(&bytes),
            ignored: ignored.to_vec(),
        };
        match text::check(bytes) {
            Ok(text) => {
                let mut flags = text::flags(&text);
                if several {
                    flags.push(format!(
                        "handed in more than once, byte for byte; `{path}` is taken"
                    ));
                }
                Handed::File(File { text, submitted, state, flags })
            }
            Err(reason) => Handed::Invalid { reason: format!("`{path}` {reason}") },
        }
    }

    /// There is no file for `wanted`: what is there instead.
    fn nothing(&self, wanted: &Wanted, all: &[Item]) -> Handed {
        if let Some((name, reason)) = self.unread.first() {
            return Handed::Invalid { reason: format!("`{}` {reason}", shown(name)) };
        }
        for source in &self.sources {
            if let Some(item) = layout::in_the_way(&source.items, wanted)
                && let Kind::Refused(reason) = &item.kind
            {
                return Handed::Invalid {
                    reason: format!("`{}` {reason}", shown(&source.path(item))),
                };
            }
            let nested =
                |item: &&Item| item.kind == Kind::File && archive::Format::of(&item.path).is_some();
            if let (Some(label), Some(item)) = (&source.label, source.items.iter().find(nested)) {
                let (label, inner) = (shown(label), shown(&item.path));
                let reason = format!(
                    "`{label}` holds another archive, `{inner}`, and that is not opened\n\nhint: pack the files themselves"
                );
                return Handed::Invalid { reason };
            }
        }
        Handed::Missing { hint: layout::hint(all, wanted) }
    }
}
