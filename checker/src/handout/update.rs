//! Updates of a workspace that was handed out before by a newer handout.
//!
//! | a file is | and in the newer handout | so it |
//! | --- | --- | --- |
//! | as it was handed out | there | is replaced |
//! | as it was handed out | not there | goes: two homes of a module, or a package that nothing provides for, would break the build |
//! | the student's | there | stays; said where something else is handed out now |
//! | the student's | not there | stays; with its exercise's folder in [`WITHDRAWN`] |
//! | removed by the student | there | stays removed, unless it is wanted back |
//! | unknown | there | is written |
//!
//! `Cargo.toml` and `Cargo.lock` are compared as cargo leaves them, see [`packages`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use super::packages::{self, LOCK, MANIFEST, locked, with_profiles_of};
use super::{BOOK, Files, Prints, TAKEN_LOCK, write};
use crate::exercise::Location;
use crate::progress::Fingerprint;

/// Results of an update.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Updated {
    /// Exercises that are here now and were not before.
    pub added: Vec<String>,
    /// Files that were written: they are as they are handed out now.
    pub changed: Vec<PathBuf>,
    /// Files that are no longer handed out, and went.
    pub removed: Vec<PathBuf>,
    /// Files that are handed out differently now, and are the student's: they stay.
    pub kept: Vec<PathBuf>,
    /// Files and folders that are no longer handed out and are the student's, where they lie now.
    pub gone: Vec<PathBuf>,
    /// Files and folders that are handed out, and that the student removed.
    pub missing: Vec<PathBuf>,
    /// Whether the newer handout holds the book.
    pub book: bool,
}

/// Ways to treat files that the student removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are left away.
    StayAway,
    /// They are written again.
    ComeBack,
}

/// Where exercises go that are no longer handed out, with what is the student's there. In
/// `exercises` they would be packages of the workspace.
const WITHDRAWN: &str = "withdrawn";

/// Brings `files` into the workspace in `root`, of which `prints` says how it was handed out.
pub fn update(
    root: &Path,
    prints: &mut Prints,
    mut files: Files,
    missing: Missing,
    prune_lock: impl Fn(&Path),
) -> Result<Updated> {
    let now = exercises(files.keys());
    renumber(root, &now, prints)?;
    let mut updated = Updated { book: has_book(&files), ..Updated::default() };
    let were_here: BTreeSet<&String> =
        now.iter().filter(|(_, folder)| root.join(folder).exists()).map(|(id, _)| id).collect();

    // Cargo has its own say in these two.
    let cargos = [MANIFEST, LOCK].map(|file| files.remove(Path::new(file)));
    withdraw(root, &files, prints, &mut updated)?;
    let removed = wholes(&files).filter(|mark| {
        missing == Missing::StayAway && prints.contains_key(mark) && !root.join(mark).exists()
    });
    let removed: Vec<PathBuf> =
        removed.filter_map(|mark| mark.parent().map(Path::to_owned)).collect();
    let mut missed = BTreeSet::new();
    for (path, bytes) in &files {
        let fresh = Fingerprint::of_bytes(bytes);
        let handed_out = prints.get(path).copied();
        // A new file of an exercise that the student does not want would be all of it that there
        // is.
        let unwanted = || removed.iter().any(|folder| path.starts_with(folder));
        match print_of(root, path)? {
            Some(holds) if holds == fresh => _ = prints.insert(path.clone(), fresh),
            Some(holds) if Some(holds) != handed_out => {
                // The student's. Worth a word only where something else is handed out now.
                if handed_out != Some(fresh) {
                    updated.kept.push(path.clone());
                }
            }
            None if missing == Missing::StayAway && (handed_out.is_some() || unwanted()) => {
                missed.insert(first_missing(root, path));
            }
            _ => {
                write(root, path, bytes)?;
                prints.insert(path.clone(), fresh);
                updated.changed.push(path.clone());
            }
        }
    }
    updated.missing = missed.into_iter().collect();
    renew_packages(root, cargos, prints, &mut updated, prune_lock)?;
    let is_here = |folder: &PathBuf| updated.changed.iter().any(|path| path.starts_with(folder));
    let added = now.iter().filter(|(id, folder)| !were_here.contains(id) && is_here(folder));
    updated.added = added.map(|(id, _)| id.clone()).collect();
    Ok(updated)
}

/// Whether the built book is among the files.
pub fn has_book(files: &Files) -> bool {
    files.contains_key(&Path::new(BOOK).join("index.html"))
}

/// The folders of the exercises in a handout, by their names.
pub fn exercises<'a>(files: impl Iterator<Item = &'a PathBuf>) -> BTreeMap<String, PathBuf> {
    let manifests = files.filter(|path| path.ends_with("exercise.toml"));
    let places = manifests.filter_map(|path| Location::of(path.parent()?.to_owned()));
    places.map(|place| (place.id, place.folder)).collect()
}

/// Things that a student has or has not as a whole: exercises and the book. Each by the file that
/// marks it.
fn wholes(files: &Files) -> impl Iterator<Item = PathBuf> {
    let exercises = exercises(files.keys()).into_values();
    let marks = exercises.map(|folder| folder.join("exercise.toml"));
    marks.chain([Path::new(BOOK).join("index.html")])
}

/// Gives the folders of exercises the numbers that they have now. An exercise is known by its name;
/// its number is its place in the order.
fn renumber(root: &Path, now: &BTreeMap<String, PathBuf>, prints: &mut Prints) -> Result<()> {
    // As they lie here, from whatever source; and as they were handed out, though they may be gone.
    let lie = std::fs::read_dir(root.join("exercises")).context("cannot list `exercises`")?;
    let mut lie: Vec<PathBuf> = lie.flatten().map(|entry| entry.path()).collect();
    lie.sort();
    let marks: Vec<PathBuf> = lie.iter().map(|folder| folder.join("exercise.toml")).collect();
    for (id, from) in exercises(marks.iter().filter(|mark| mark.is_file())) {
        let from = from.strip_prefix(root).unwrap_or(&from).to_owned();
        let Some(to) = now.get(&id).filter(|to| **to != from) else { continue };
        if root.join(to).exists() {
            continue;
        }
        std::fs::rename(root.join(&from), root.join(to))
            .with_context(|| format!("cannot rename `{}` to `{}`", from.display(), to.display()))?;
    }
    for (id, from) in exercises(prints.keys()) {
        let Some(to) = now.get(&id).filter(|to| **to != from) else { continue };
        let moved: Vec<PathBuf> =
            prints.keys().filter(|path| path.starts_with(&from)).cloned().collect();
        for path in moved {
            let inside = path.strip_prefix(&from).unwrap_or(&path).to_owned();
            if let Some(print) = prints.remove(&path) {
                prints.insert(to.join(inside), print);
            }
        }
    }
    Ok(())
}

/// Takes away what is no longer handed out, as far as it is what was.
fn withdraw(root: &Path, files: &Files, prints: &mut Prints, updated: &mut Updated) -> Result<()> {
    let is_gone = |path: &&PathBuf| {
        let stays = [MANIFEST, LOCK].iter().any(|file| path.as_path() == Path::new(file))
            // Without a book there, it is not known what the book is now.
            || (!updated.book && path.starts_with(BOOK));
        !stays && !files.contains_key(*path)
    };
    let gone: Vec<PathBuf> = prints.keys().filter(is_gone).cloned().collect();
    let now = exercises(files.keys());
    let withdrawn: Vec<PathBuf> = exercises(prints.keys())
        .into_iter()
        .filter(|(id, _)| !now.contains_key(id))
        .map(|(_, folder)| folder)
        .collect();
    for path in gone {
        let holds = print_of(root, &path)?;
        if holds.is_some() && holds == prints.get(&path).copied() {
            remove(root, &path)?;
            updated.removed.push(path.clone());
        } else if holds.is_some() && !withdrawn.iter().any(|folder| path.starts_with(folder)) {
            updated.gone.push(path.clone());
        }
        prints.remove(&path);
    }
    for folder in withdrawn.into_iter().filter(|folder| root.join(folder).exists()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
        let mut places = names.map(|name| Path::new(WITHDRAWN).join(name));
        let to = places.find(|to| !root.join(to).exists()).context("no free name")?;
        std::fs::create_dir_all(root.join(WITHDRAWN))
            .and_then(|()| std::fs::rename(root.join(&folder), root.join(&to)))
            .with_context(|| format!("cannot move `{}` to `{}`", folder.display(), to.display()))?;
        updated.gone.push(to);
    }
    Ok(())
}

/// Brings `Cargo.toml` and `Cargo.lock` up to date, unless they are the student's.
fn renew_packages(
    root: &Path,
    [manifest, lock]: [Option<Vec<u8>>; 2],
    prints: &mut Prints,
    updated: &mut Updated,
    prune_lock: impl Fn(&Path),
) -> Result<()> {
    let held = |file: &str| std::fs::read(root.join(file)).unwrap_or_default();
    let (old_manifest, old_lock, taken) = (held(MANIFEST), held(LOCK), held(TAKEN_LOCK));
    let was_handed_out = [MANIFEST, LOCK].map(|file| prints.get(Path::new(file)).copied());
    let is = |print: Option<Fingerprint>, bytes: &[u8]| print == Some(Fingerprint::of_bytes(bytes));

    let own_manifest =
        !is(was_handed_out[0], &old_manifest) && manifest.as_ref() != Some(&old_manifest);
    // Cargo cuts the lock down to what is there whenever it likes: it is the student's only if it
    // holds something that was not handed out.
    let known = if taken.is_empty() { lock.as_deref().unwrap_or_default() } else { &taken };
    let own_lock =
        !is(was_handed_out[1], &old_lock) && !locked(&old_lock).is_subset(&locked(known));

    let would_be = |lock: &[u8]| manifest.as_ref().map(|it| with_profiles_of(it, lock));
    let new_manifest = !own_manifest && would_be(&old_lock).is_some_and(|it| it != old_manifest);
    let is_manifest = |path: &PathBuf| path.ends_with(MANIFEST);
    let new_packages = updated.changed.iter().chain(&updated.removed).any(is_manifest);
    let is_new = |lock: &Vec<u8>| *lock != taken;
    if own_lock && lock.as_ref().is_some_and(is_new) {
        updated.kept.push(PathBuf::from(LOCK));
    }
    // Packages that are there now may have been cut out of it.
    let lock = lock.filter(|lock| {
        !own_lock && (is_new(lock) || new_packages || new_manifest || old_lock.is_empty())
    });
    if let Some(lock) = &lock {
        write(root, Path::new(LOCK), lock)?;
        write(root, Path::new(TAKEN_LOCK), lock)?;
    }
    if new_manifest || lock.is_some() {
        // The lock says which packages there are, so the profiles come last.
        if let Some(manifest) = manifest.as_ref().filter(|_| !own_manifest) {
            write(root, Path::new(MANIFEST), manifest)?;
        }
        prune_lock(root);
        if !own_manifest {
            packages::prune_profiles(root)?;
        }
    }
    for (file, before, own) in [(MANIFEST, old_manifest, own_manifest), (LOCK, old_lock, own_lock)]
    {
        let now = held(file);
        if !own && now != before {
            updated.changed.push(PathBuf::from(file));
        }
        if !own && !now.is_empty() {
            prints.insert(PathBuf::from(file), Fingerprint::of_bytes(&now));
        }
    }
    let fresh = would_be(&held(LOCK)).filter(|_| own_manifest);
    if fresh.is_some_and(|fresh| !is(was_handed_out[0], &fresh)) {
        updated.kept.push(PathBuf::from(MANIFEST));
    }
    Ok(())
}

/// The print of a file; none where there is none.
fn print_of(root: &Path, path: &Path) -> Result<Option<Fingerprint>> {
    match std::fs::read(root.join(path)) {
        Ok(bytes) => Ok(Some(Fingerprint::of_bytes(&bytes))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// Removes a file, and the folders that are empty without it.
fn remove(root: &Path, path: &Path) -> Result<()> {
    std::fs::remove_file(root.join(path))
        .with_context(|| format!("cannot remove `{}`", path.display()))?;
    for folder in path.ancestors().skip(1).filter(|folder| *folder != Path::new("")) {
        if std::fs::remove_dir(root.join(folder)).is_err() {
            break; // something else is in it
        }
    }
    Ok(())
}

/// The file, or the highest of its folders that is not there.
fn first_missing(root: &Path, path: &Path) -> PathBuf {
    let missing = path.ancestors().take_while(|it| !root.join(it).exists()).last();
    missing.unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::scratch::Scratch;

    const MOST: &[(&str, &str)] = &[
        ("Cargo.toml", "[profile.dev.package]\nquick = { opt-level = 2 }\n"),
        ("Cargo.lock", "name = \"quick\"\nversion = \"1.0.0\"\n"),
        ("README.md", "read me"),
        ("book/index.html", "the book"),
        ("checker/src/draw/mod.rs", "// draws"),
        ("exercises/01_first/exercise.toml", "first"),
        ("exercises/01_first/src/lib.rs", "// first"),
        ("exercises/02_second/exercise.toml", "second"),
        ("exercises/02_second/src/lib.rs", "// second"),
    ];

    /// A handout, without some files and with others.
    fn handout(without: &str, with: &[(&str, &str)]) -> Files {
        let file = |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
        let most = MOST.iter().filter(|(path, _)| without.is_empty() || !path.contains(without));
        most.chain(with).map(file).collect()
    }

    /// A workspace as it was handed out.
    struct Student {
        folder: Scratch,
        prints: Prints,
    }

    impl Student {
        fn new() -> Self {
            let folder = Scratch::new().expect("a folder");
            let files = handout("", &[]);
            for (path, bytes) in &files {
                write(folder.path(), path, bytes).expect("a file");
            }
            write(folder.path(), Path::new(TAKEN_LOCK), &files[Path::new(LOCK)]).expect("a lock");
            let print = |(path, bytes): (PathBuf, Vec<u8>)| (path, Fingerprint::of_bytes(&bytes));
            Self { prints: files.into_iter().map(print).collect(), folder }
        }

        fn update(&mut self, files: Files) -> Updated {
            self.update_with(files, Missing::StayAway)
        }

        fn update_with(&mut self, files: Files, missing: Missing) -> Updated {
            let updated = update(self.folder.path(), &mut self.prints, files, missing, cut_down);
            updated.expect("an update")
        }

        fn write(&self, path: &str, text: &str) {
            write(self.folder.path(), Path::new(path), text.as_bytes()).expect("a file");
        }

        fn remove(&self, path: &str) {
            std::fs::remove_dir_all(self.folder.path().join(path)).expect("a folder");
        }

        fn has(&self, path: &str) -> bool {
            self.folder.path().join(path).exists()
        }

        fn read(&self, path: &str) -> String {
            std::fs::read_to_string(self.folder.path().join(path)).expect("a file")
        }
    }

    /// Does to the lock what cargo does: what nothing needs goes.
    fn cut_down(root: &Path) {
        let path = root.join(LOCK);
        let lock = std::fs::read_to_string(&path).expect("a lock");
        let parts = lock.split_inclusive("\"\n").collect::<Vec<_>>();
        let kept = parts.chunks(2).filter(|part| !part[0].contains("unused"));
        std::fs::write(path, kept.flatten().copied().collect::<String>()).expect("a lock");
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    /// What an update says that had nothing to do.
    fn nothing() -> Updated {
        Updated { book: true, ..Updated::default() }
    }

    #[test]
    fn a_module_that_moved_has_one_home() {
        let mut student = Student::new();
        let files = || handout("draw", &[("checker/src/draw.rs", "// draws")]);
        let updated = student.update(files());
        assert_eq!(updated.changed, paths(&["checker/src/draw.rs"]));
        assert_eq!(updated.removed, paths(&["checker/src/draw/mod.rs"]));
        assert!(!student.has("checker/src/draw"), "the folder that was empty then");
        assert_eq!(student.update(files()), nothing());
    }

    #[test]
    fn what_is_the_students_stays_and_is_said_once_when_it_is_withdrawn() {
        let mut student = Student::new();
        student.write("checker/src/draw/mod.rs", "// mine");
        student.write("exercises/02_second/src/lib.rs", "// mine");
        let files = || {
            let mut files = handout("draw", &[]);
            files.retain(|path, _| !path.starts_with("exercises/02_second"));
            files
        };
        let updated = student.update(files());
        // A folder among the exercises would be a package of the workspace.
        assert!(!student.has("exercises/02_second"));
        assert_eq!(student.read("withdrawn/02_second/src/lib.rs"), "// mine");
        assert_eq!(updated.removed, paths(&["exercises/02_second/exercise.toml"]));
        let gone = paths(&["checker/src/draw/mod.rs", "withdrawn/02_second"]);
        assert_eq!(updated.gone, gone);
        assert_eq!(student.update(files()), nothing());
    }

    #[test]
    fn an_exercise_that_the_student_removed_stays_away_until_it_is_wanted() {
        let mut student = Student::new();
        student.remove("exercises/02_second");
        // It has another number now, and one more file.
        let moved = [
            ("exercises/03_second/exercise.toml", "second"),
            ("exercises/03_second/hints.toml", "new"),
            ("exercises/03_second/src/lib.rs", "// second"),
        ];
        for _ in 0..2 {
            let updated = student.update(handout("02_second", &moved));
            let missing = paths(&["exercises/03_second"]);
            assert_eq!(updated, Updated { missing, ..nothing() });
            assert!(!student.has("exercises/03_second"));
        }
        let updated = student.update_with(handout("02_second", &moved), Missing::ComeBack);
        assert_eq!(updated.added, ["second"]);
        assert_eq!(updated.changed, paths(&moved.map(|(path, _)| path)));
        assert_eq!(student.update(handout("02_second", &moved)), nothing());
    }

    #[test]
    fn a_file_that_the_student_changed_is_named_while_it_is_handed_out_differently() {
        let mut student = Student::new();
        student.write("exercises/01_first/src/lib.rs", "// mine");
        assert_eq!(student.update(handout("", &[])), nothing());
        let file = ("exercises/01_first/src/lib.rs", "// newer");
        let updated = student.update(handout("01_first/src", &[file]));
        assert_eq!(updated, Updated { kept: paths(&[file.0]), ..nothing() });
        assert_eq!(student.read(file.0), "// mine");
    }

    #[test]
    fn without_a_book_there_the_one_here_stays() {
        let mut student = Student::new();
        let updated = student.update(handout("book", &[]));
        assert_eq!(updated, Updated::default());
        assert!(student.has("book/index.html"));
    }

    const LOCKED: &str = "name = \"quick\"\nversion = \"1.1.0\"\n";

    #[test]
    fn a_lock_alone_arrives_and_what_cargo_leaves_of_it_is_no_change_of_the_students() {
        let mut student = Student::new();
        let lock = format!("{LOCKED}name = \"unused\"\nversion = \"1.0.0\"\n");
        let files = || handout(LOCK, &[(LOCK, &lock)]);
        let updated = student.update(files());
        assert_eq!(updated, Updated { changed: paths(&[LOCK]), ..nothing() });
        assert_eq!(student.read(LOCK), LOCKED);
        assert_eq!(student.update(files()), nothing());
        // Where the update could not ask cargo, it does this later.
        student.prints.insert(PathBuf::from(LOCK), Fingerprint::of_bytes(lock.as_bytes()));
        let updated = student.update(handout(LOCK, &[(LOCK, &LOCKED.replace("1.1", "1.2"))]));
        assert_eq!(updated, Updated { changed: paths(&[LOCK]), ..nothing() });
        assert!(student.read(LOCK).contains("1.2.0"));
    }

    #[test]
    fn the_students_own_lock_and_manifest_stay_and_are_named() {
        let mut student = Student::new();
        let own = format!("{LOCKED}name = \"mine\"\nversion = \"1.0.0\"\n");
        student.write(LOCK, &own);
        student.write(MANIFEST, "[profile.dev.package]\nmine = { opt-level = 3 }\n");
        assert_eq!(student.update(handout("", &[])), nothing());
        let manifest = format!("# new\n{}", MOST[0].1);
        let files = [(MANIFEST, manifest.as_str()), (LOCK, LOCKED)];
        for _ in 0..2 {
            let updated = student.update(handout("Cargo", &files));
            assert_eq!(updated, Updated { kept: paths(&[LOCK, MANIFEST]), ..nothing() });
            assert_eq!(student.read(LOCK), own);
            assert!(student.read(MANIFEST).contains("mine"));
        }
    }

    #[test]
    fn the_profile_of_a_new_package_arrives_with_it() {
        let mut student = Student::new();
        let manifest =
            format!("{}fresh = {{ opt-level = 3 }}\nunused = {{ opt-level = 1 }}\n", MOST[0].1);
        let lock = format!(
            "{LOCKED}name = \"fresh\"\nversion = \"1.0.0\"\nname = \"unused\"\nversion = \"1.0.0\"\n"
        );
        let files = || handout("Cargo", &[(MANIFEST, &manifest), (LOCK, &lock)]);
        let updated = student.update(files());
        assert_eq!(updated, Updated { changed: paths(&[MANIFEST, LOCK]), ..nothing() });
        let profiles = student.read(MANIFEST);
        assert!(profiles.contains("fresh") && !profiles.contains("unused"), "{profiles}");
        assert_eq!(student.update(files()), nothing());
    }
}
