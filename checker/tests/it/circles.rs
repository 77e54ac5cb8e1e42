//! Imports among the files of a package lead one way: who reads a file never has to know one that comes back to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tree::{scratch, write};

/// A piece of Rust, as far as paths go.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    /// `::`
    Into,
    Open,
    Close,
    Comma,
    Other,
}

/// What stands in a file outside of comments, literals and its own tests.
fn tokens(text: &str) -> Vec<Token> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(c) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (token, length) = match c {
            _ if rest.starts_with("//") => (Token::Other, rest.find('\n').unwrap_or(rest.len())),
            _ if rest.starts_with("r#\"") => {
                (Token::Other, rest.find("\"#").map_or(rest.len(), |at| at + 2))
            }
            _ if rest.starts_with("'\"'") => (Token::Other, 3),
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                (Token::Other, end.map_or(rest.len(), |end| end + 2))
            }
            _ if word > 0 => (Token::Word(rest[..word].to_owned()), word),
            _ if rest.starts_with("::") => (Token::Into, 2),
            '{' => (Token::Open, 1),
            '}' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            c => (Token::Other, c.len_utf8()),
        };
        if !c.is_whitespace() {
            found.push(token);
        }
        rest = &rest[length..];
    }
    found
}

/// The paths that begin at `at`, each below `above`; and where they end.
fn paths(tokens: &[Token], mut at: usize, above: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = above.to_vec();
    loop {
        match tokens.get(at) {
            Some(Token::Word(word)) => {
                path.push(word.clone());
                at += 1;
                if tokens.get(at) != Some(&Token::Into) {
                    break;
                }
                at += 1;
            }
            Some(Token::Open) => {
                at += 1;
                while at < tokens.len() && tokens[at] != Token::Close {
                    at = match tokens[at] {
                        Token::Word(_) => paths(tokens, at, &path, found),
                        _ => at + 1,
                    };
                }
                return at + 1;
            }
            _ => break,
        }
    }
    found.push(path);
    at
}

/// The file of a module, or the nearest one above it.
fn file_of(root: &Path, path: &[String]) -> Option<PathBuf> {
    (1..=path.len())
        .rev()
        .flat_map(|length| {
            let place: PathBuf = path[..length].iter().collect();
            [root.join(&place).with_extension("rs"), root.join(place).join("mod.rs")]
        })
        .find(|file| file.is_file())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for path in entries.iter().map(std::fs::DirEntry::path) {
        if path.is_dir() {
            // Each program has modules of its own.
            if !path.ends_with("src/bin") {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// The files below a crate's root that a file names.
fn named(root: &Path, file: &Path) -> BTreeSet<PathBuf> {
    let module: Vec<String> = file
        .strip_prefix(root)
        .expect("it lies below")
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .filter(|part| !["lib", "main", "mod"].contains(&part.as_str()))
        .collect();
    let tokens = tokens(&std::fs::read_to_string(file).expect("a text"));
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = matches!(&tokens[at], Token::Word(word) if ["crate", "super", "self"].contains(&word.as_str()))
            && tokens.get(at + 1) == Some(&Token::Into)
            && (at == 0 || tokens[at - 1] != Token::Into);
        at = if begins { paths(&tokens, at, &[], &mut found) } else { at + 1 };
    }
    let absolute = |path: &Vec<String>| -> Vec<String> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        match path[0].as_str() {
            "crate" => path[1..].to_vec(),
            "self" => [&module, &path[1..]].concat(),
            _ => [&module[..module.len().saturating_sub(ups)], &path[ups..]].concat(),
        }
    };
    let files = found.iter().filter_map(|path| file_of(root, &absolute(path)));
    files.filter(|other| other != file).collect()
}

/// The files that can be reached from each other, circle by circle.
fn circles(roots: &[PathBuf]) -> Vec<BTreeSet<PathBuf>> {
    let mut edges = BTreeMap::new();
    for root in roots {
        let mut all = Vec::new();
        files(root, &mut all);
        edges.extend(all.into_iter().map(|file| (file.clone(), named(root, &file))));
    }
    let reached = |from: &PathBuf| -> BTreeSet<&PathBuf> {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&PathBuf> = edges[from].iter().collect();
        while let Some(file) = next.pop() {
            if seen.insert(file) {
                next.extend(edges.get(file).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&PathBuf, _> = edges.keys().map(|file| (file, reached(file))).collect();
    let mut found: Vec<BTreeSet<PathBuf>> = Vec::new();
    for (file, far) in &reached {
        if !far.contains(file) || found.iter().any(|circle| circle.contains(*file)) {
            continue;
        }
        let back = |other: &&&PathBuf| reached.get(**other).is_some_and(|far| far.contains(file));
        found.push(far.iter().filter(back).map(|&other| other.clone()).collect());
    }
    found
}

/// The roots of all crates and programs below `folder`.
fn roots(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        let is_root = ["lib.rs", "main.rs"].iter().any(|name| path.join(name).is_file());
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("tests") {
            if is_root {
                found.push(path.clone());
            }
            roots(&path, found);
        }
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["book/src", "checker", "exercises/lab"] {
        if workspace.join(folder).join("lib.rs").is_file() {
            all.push(workspace.join(folder));
        }
        roots(&workspace.join(folder), &mut all);
    }
    assert!(all.len() > 10, "{all:?}");
    let found: Vec<Vec<String>> = circles(&all)
        .iter()
        .map(|circle| {
            let name = |file: &PathBuf| {
                file.strip_prefix(&workspace).expect("in it").to_string_lossy().into_owned()
            };
            circle.iter().map(name).collect()
        })
        .collect();
    assert_eq!(found, [[""; 0]; 0], "move what two files share into a third");
}

#[test]
fn a_circle_is_found_through_groups_parents_and_macros_and_not_through_tests_and_comments() {
    let folder = scratch().join("circles");
    let file = |name: &str, text: &str| write(&folder.join(name), text);
    file("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n");
    file("a.rs", "use crate::{b::{One, Two}, c as other};\n");
    file("b.rs", "macro_rules! m { () => { $crate::c::three() } }\n");
    file("c.rs", "pub fn three() { super::a::four(); }\n");
    file(
        "d.rs",
        "// crate::a\nconst S: &str = \"crate::a\";\nuse crate::a;\n#[cfg(test)]\nmod tests { use crate::d; }\n",
    );
    let found = circles(std::slice::from_ref(&folder));
    let names: Vec<_> = ["a.rs", "b.rs", "c.rs"].map(|name| folder.join(name)).to_vec();
    assert_eq!(found, [BTreeSet::from_iter(names)]);
}
