//! Which of a student's files belongs to which exercise, and whose a file of a class is. Names
//! only.

use super::tree::{DEPTH, Item, Kind};
use super::{Wanted, archive};
use crate::name::shown;

/// How many exercises are graded: where it is one, a file needs no name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    One,
    Several,
}

/// The places where the file of `wanted` is looked for, each as its names; the same within one
/// folder more.
fn places(wanted: &Wanted) -> Vec<Vec<Vec<u8>>> {
    let (folder, name) = (wanted.folder.as_bytes(), wanted.name.as_bytes());
    let path = |names: &[&[u8]]| names.iter().map(|name| name.to_vec()).collect();
    let mut places = vec![path(&[b"exercises", folder, b"src", b"lib.rs"])];
    for called in [folder, name] {
        places.push(path(&[called, b"src", b"lib.rs"]));
        places.push(path(&[called, b"lib.rs"]));
        places.push(path(&[&[called, b".rs"].concat()]));
    }
    places
}

/// Where a file is looked for that has no name of its own.
const UNNAMED: [&[&[u8]]; 2] = [&[b"lib.rs"], &[b"src", b"lib.rs"]];

/// Folders that are not somebody's wrapping: what lies in them was handed out.
fn wraps(folder: &[u8]) -> bool {
    !folder.starts_with(b".") && !matches!(folder, b"solutions" | b"target" | b"__MACOSX")
}

/// Whether a folder is called as exercises are.
fn is_of_an_exercise(folder: &[u8]) -> bool {
    matches!(folder, [a, b, b'_', ..] if a.is_ascii_digit() && b.is_ascii_digit())
}

/// Whether a folder is a part of one student's work.
pub(super) fn is_work(folder: &[u8], exercises: &[String]) -> bool {
    let is_named = exercises.iter().any(|id| id.as_bytes() == folder);
    is_named
        || is_of_an_exercise(folder)
        || matches!(folder, b"src" | b"exercises")
        || !wraps(folder)
}

fn names(path: &[u8]) -> Vec<&[u8]> {
    path.split(|&byte| byte == b'/').collect()
}

/// Those of `items` that stand where the file of `wanted` is looked for.
pub(super) fn fitting<'a>(items: &'a [Item], wanted: &Wanted, scope: Scope) -> Vec<&'a Item> {
    let places = places(wanted);
    let named = |item: &&Item| {
        let names = names(&item.path);
        let wrapped = wraps(names[0]) && places.iter().any(|place| *place == names[1..]);
        wrapped || places.iter().any(|place| *place == names)
    };
    let found: Vec<_> = items.iter().filter(named).collect();
    if !found.is_empty() || scope == Scope::Several {
        return found;
    }
    let unnamed = |item: &&Item| UNNAMED.contains(&&names(&item.path)[..]);
    let found: Vec<_> = items.iter().filter(unnamed).collect();
    if !found.is_empty() {
        return found;
    }
    let wrapped = |item: &&Item| {
        let names = names(&item.path);
        wraps(names[0]) && !is_of_an_exercise(names[0]) && UNNAMED.contains(&&names[1..])
    };
    items.iter().filter(wrapped).collect()
}

/// Something that was refused and stands where the file of `wanted` would have been below it.
pub(super) fn in_the_way<'a>(items: &'a [Item], wanted: &Wanted) -> Option<&'a Item> {
    let places = places(wanted);
    let leads = |names: &[&[u8]]| {
        !names.is_empty()
            && places
                .iter()
                .any(|place| place.len() > names.len() && *names == place[..names.len()])
    };
    items.iter().find(|item| {
        let names = names(&item.path);
        matches!(item.kind, Kind::Refused(_)) && (leads(&names) || leads(&names[1..]))
    })
}

/// The file that was found elsewhere, for one who has nothing for `wanted`.
pub(super) fn hint(items: &[Item], wanted: &Wanted) -> Option<String> {
    let files = || items.iter().filter(|item| item.kind == Kind::File);
    let places = places(wanted);
    let deeper = files().find(|item| {
        let names = names(&item.path);
        (2..names.len()).any(|from| {
            wraps(names[from - 1]) && places.iter().any(|place| *place == names[from..])
        })
    });
    let place = format!("`{}/src/lib.rs`", wanted.folder);
    if let Some(item) = deeper {
        return Some(format!("`{}` lies too deep; it is looked for as {place}", shown(&item.path)));
    }
    let resembling = files().find(|item| {
        let names = names(&item.path);
        let alike = |place: &Vec<Vec<u8>>| {
            place.len() == names.len()
                && place.iter().zip(&names).all(|(a, b)| plain(a) == plain(b))
        };
        places.iter().any(alike)
    });
    if let Some(item) = resembling {
        return Some(format!(
            "`{}` is called otherwise; it is looked for as {place}",
            shown(&item.path)
        ));
    }
    let last = |item: &&Item| names(&item.path).last().copied().unwrap_or_default().to_vec();
    if let Some(item) = files().find(|item| archive::is_foreign(&last(item))) {
        return Some(format!(
            "`{}` is an archive of a kind that is not opened; `.zip` is",
            shown(&item.path)
        ));
    }
    let sources: Vec<_> = files().filter(|item| item.path.ends_with(b".rs")).take(SHOWN).collect();
    let sources: Vec<_> = sources.iter().map(|item| format!("`{}`", shown(&item.path))).collect();
    match sources[..] {
        [] if items.is_empty() => None,
        [] => Some("there is no file that ends in `.rs`".to_owned()),
        _ => Some(format!("there is {}; it is looked for as {place}", sources.join(", "))),
    }
}

/// Files that a hint names: enough to recognise one's own.
const SHOWN: usize = 3;

/// A name without what people and browsers change in one.
fn plain(name: &[u8]) -> Vec<u8> {
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(b".rs").unwrap_or(&name);
    // `name (1).rs` is a second download.
    let stem = match stem
        .strip_suffix(b")")
        .and_then(|s| Some(s.split_at(s.iter().rposition(|&c| c == b'(')?)))
    {
        Some((stem, number)) if number[1..].iter().all(u8::is_ascii_digit) => stem,
        _ => stem,
    };
    stem.iter().copied().filter(u8::is_ascii_alphanumeric).collect()
}

/// Paths of what is in a student's folder and was not looked at, the first few.
pub(super) fn ignored(items: &[Item], used: &[Vec<u8>]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut more = 0;
    for item in items {
        let folder = match &item.kind {
            // A folder is named where nothing in it is, for it was not looked into.
            Kind::Folder => {
                let names = names(&item.path);
                names.len() == DEPTH
                    || super::tree::UNOPENED.contains(names.last().unwrap_or(&&b""[..]))
            }
            _ => false,
        };
        if (item.kind == Kind::Folder && !folder) || used.contains(&item.path) {
            continue;
        }
        if paths.len() < IGNORED {
            paths.push(format!("{}{}", shown(&item.path), if folder { "/" } else { "" }));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        paths.push(format!("and {more} more"));
    }
    paths
}

/// Ignored files that are named.
const IGNORED: usize = 8;

/// Whose something in the folder of a class is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) id: String,
    pub(super) name: String,
    /// The student's name for the file, where it stands in the class's folder itself.
    pub(super) file: Option<Vec<u8>>,
    /// The platform's remark about it.
    pub(super) note: Option<&'static str>,
}

/// Whose `name` in the folder of a class is, by the platform that named it.
pub(super) fn owner(name: &[u8], kind: &Kind) -> Option<Owner> {
    match kind {
        Kind::Folder => Some(match moodle(name) {
            Some(owner) => Owner { file: None, ..owner },
            None => Owner { id: shown(name), name: shown(name), file: None, note: None },
        }),
        Kind::File => by_platform(name).or_else(|| {
            let (stem, _) = archive::Format::of(name)?;
            let id = shown(stem);
            Some(Owner { name: id.clone(), id, file: Some(name.to_vec()), note: None })
        }),
        Kind::Refused(_) => None,
    }
}

/// Whose it is by the name that a platform gave it; none for other names.
pub(super) fn by_platform(name: &[u8]) -> Option<Owner> {
    let owner = moodle(name).or_else(|| canvas(name))?;
    Some(Owner { file: Some(owner.file.unwrap_or_else(|| name.to_vec())), ..owner })
}

/// `Ada Lovelace_123_assignsubmission_file`, a folder, with a `_` at the end before Moodle 4.1, or
/// the beginning of a file's name. What was written on the page has `onlinetext` there. The number
/// is the one of the grading worksheet's `Participant 123`.
fn moodle(name: &[u8]) -> Option<Owner> {
    const MARK: &[u8] = b"_assignsubmission_";
    let at = name.windows(MARK.len()).position(|window| window == MARK)?;
    let (who, rest) = (&name[..at], &name[at + MARK.len()..]);
    let kind = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let file = match &rest[kind..] {
        _ if kind == 0 => return None,
        [] => None,
        [b'_', file @ ..] => (!file.is_empty()).then(|| file.to_vec()),
        _ => return None,
    };
    let under = who.iter().rposition(|&byte| byte == b'_')?;
    let (who, number) = (&who[..under], &who[under + 1..]);
    digits(number).map(|id| Owner { id, name: shown(who), file, note: None })
}

/// The text that a file of Canvas has in front of its numbers where it was late.
const LATE: &[u8] = b"LATE_";

/// `lovelaceada_123_456_name.rs`, or with `LATE` before the numbers: of the student, then of the
/// attempt. A file that was handed in again has a number after its own name. The first two numbers
/// count: what comes before may have more words, as names of groups do, but Canvas leaves no number
/// between two `_` there.
fn canvas(name: &[u8]) -> Option<Owner> {
    anonymous(name).or_else(|| {
        let unders = (1..name.len()).filter(|&at| name[at] == b'_');
        unders.map(|at| (&name[..at], &name[at + 1..])).find_map(|(who, rest)| {
            let late = rest.strip_prefix(LATE);
            let mut parts = late.unwrap_or(rest).splitn(3, |&byte| byte == b'_');
            let id = digits(parts.next()?)?;
            let file = attempt(&mut parts)?;
            Some(Owner { id, name: shown(who), file: Some(file), note: late.map(|_| AT_CANVAS) })
        })
    })
}

/// `anon_XyZ12_900_name.rs`, or with `LATE` in front, where Canvas does not tell who it is.
fn anonymous(name: &[u8]) -> Option<Owner> {
    let late = name.strip_prefix(LATE);
    let rest = late.unwrap_or(name).strip_prefix(b"anon_")?;
    let mut parts = rest.splitn(3, |&byte| byte == b'_');
    let id =
        parts.next().filter(|id| !id.is_empty() && id.iter().all(u8::is_ascii_alphanumeric))?;
    let file = attempt(&mut parts)?;
    let id = shown(id);
    Some(Owner { name: id.clone(), id, file: Some(file), note: late.map(|_| AT_CANVAS) })
}

const AT_CANVAS: &str = "Canvas marks it as late";

/// The part after the number of an attempt, as it was called.
fn attempt<'a>(parts: &mut impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    digits(parts.next()?)?;
    parts.next().filter(|file| !file.is_empty()).map(first_name)
}

/// `name-2.rs` as it was called when it was handed in first.
fn first_name(file: &[u8]) -> Vec<u8> {
    let dot = file.iter().position(|&byte| byte == b'.').unwrap_or(file.len());
    let (stem, ending) = file.split_at(dot);
    match stem.iter().rposition(|&byte| byte == b'-') {
        Some(dash) if digits(&stem[dash + 1..]).is_some() => [&stem[..dash], ending].concat(),
        _ => file.to_vec(),
    }
}

fn digits(bytes: &[u8]) -> Option<String> {
    let all = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    all.then(|| shown(bytes))
}
