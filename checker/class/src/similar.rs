//! Files of a class that resemble each other: a list for a person to look at, never a verdict.
//!
//! A file is cut into tokens; comments and spacing are gone, and names of its own, numbers and
//! texts are all alike, so that renaming hides nothing. Each [`RUN`] tokens are hashed. Of
//! each [`WINDOW`] hashes in a row the smallest is kept: a piece of `RUN + WINDOW - 1` equal tokens
//! is always found, wherever it was moved (winnowing; Schleimer, Wilkerson and Aiken, 2003). What
//! the shipped file or a known solution holds, and what many files of the class hold, is what the
//! exercise demands, and says nothing.

use std::collections::{BTreeMap, BTreeSet};

use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// Tokens in a row that are compared: about a call with its arguments. Shorter ones every program
/// has, longer ones are cut by each line that is put between two.
const RUN: usize = 8;

/// Of as many runs in a row one is kept.
const WINDOW: usize = 4;

/// Kept runs that a file needs for a share of them to mean anything. Two runs of five are kept, so
/// this is three or four lines that neither the shipped file nor a solution has: one line two
/// people come to write the same.
const FEWEST: usize = 16;

/// More files than this with the same run, and it is a way in which the exercise is done. Copies
/// in larger groups still have the runs that fewer changed.
const COMMON: usize = 10;

/// A file as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Print {
    /// Where each kept run is, as its first and last line.
    runs: BTreeMap<u64, Vec<(u32, u32)>>,
}

/// Runs that no file is compared by: those of what was handed out and of known solutions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known(BTreeSet<u64>);

/// Two files that resemble each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) first: String,
    pub(crate) second: String,
    /// How much of the shorter one's own is in the other, from 0 to 1.
    pub(crate) share: f64,
    /// The lines of each, from 1, both ends included.
    pub(crate) first_lines: Vec<(u32, u32)>,
    pub(crate) second_lines: Vec<(u32, u32)>,
}

impl Known {
    /// The runs of `texts`, at every place of them.
    pub(crate) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let runs = texts.into_iter().flat_map(|text| runs(&tokens(text)));
        Self(runs.map(|(hash, _)| hash).collect())
    }
}

impl Print {
    /// The runs of `text` that are not `known`.
    pub(crate) fn of(text: &str, known: &Known) -> Self {
        let all = runs(&tokens(text));
        let mut kept: BTreeMap<u64, Vec<(u32, u32)>> = BTreeMap::new();
        let mut last = None;
        for from in 0..(all.len() + 1).saturating_sub(WINDOW).max(usize::from(!all.is_empty())) {
            let window = from..(from + WINDOW).min(all.len());
            // The last of equal ones, so that a row of equal runs is kept once for each window.
            let smallest = window.rev().min_by_key(|&at| all[at].0);
            if smallest != last
                && let Some(at) = smallest
            {
                let (hash, lines) = all[at];
                if !known.0.contains(&hash) {
                    kept.entry(hash).or_default().push(lines);
                }
            }
            last = smallest;
        }
        Self { runs: kept }
    }
}

/// Pairs of files of which at least `share` of the shorter one's own is in the other, the most
/// alike first. Each file comes with who handed it in and its SHA-256. Equal files are for
/// [`identical`], and the first of them stands for all; so it does for files that differ in names
/// alone, each of which is told beside it.
pub(crate) fn pairs(files: &[(&str, &str, &Print)], share: f64) -> Vec<Pair> {
    let mut files = files.to_vec();
    files.sort_by_key(|(id, ..)| *id);
    let mut seen = BTreeSet::new();
    files.retain(|(_, sha256, print)| print.runs.len() >= FEWEST && seen.insert(*sha256));
    let mut alike: BTreeMap<Vec<u64>, Vec<(&str, &Print)>> = BTreeMap::new();
    for (id, _, print) in files {
        alike.entry(print.runs.keys().copied().collect()).or_default().push((id, print));
    }
    let groups: Vec<_> = alike.into_iter().collect();
    let mut holders: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, (runs, _)) in groups.iter().enumerate() {
        for &hash in runs {
            holders.entry(hash).or_default().push(index);
        }
    }
    let mut own: Vec<Vec<u64>> = vec![Vec::new(); groups.len()];
    let mut common: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
    for (hash, holders) in holders.into_iter().filter(|(_, holders)| holders.len() <= COMMON) {
        for (at, &first) in holders.iter().enumerate() {
            own[first].push(hash);
            for &second in &holders[at + 1..] {
                common.entry((first, second)).or_default().push(hash);
            }
        }
    }
    let mut pairs = Vec::new();
    for ((first, second), hashes) in &common {
        let shorter = own[*first].len().min(own[*second].len());
        let alike = hashes.len() as f64 / shorter as f64;
        if shorter >= FEWEST && alike >= share {
            pairs.push(Pair::of(groups[*first].1[0], groups[*second].1[0], alike, hashes));
        }
    }
    for ((_, members), own) in groups.iter().zip(&own).filter(|(_, own)| own.len() >= FEWEST) {
        pairs.extend(members[1..].iter().map(|&member| Pair::of(members[0], member, 1.0, own)));
    }
    let ids = |pair: &Pair| (pair.first.clone(), pair.second.clone());
    pairs.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| ids(a).cmp(&ids(b))));
    pairs
}

impl Pair {
    fn of(one: (&str, &Print), other: (&str, &Print), share: f64, hashes: &[u64]) -> Self {
        let (first, second) = if one.0 < other.0 { (one, other) } else { (other, one) };
        Self {
            first: first.0.to_owned(),
            second: second.0.to_owned(),
            share,
            first_lines: lines(first.1, hashes),
            second_lines: lines(second.1, hashes),
        }
    }
}

/// Groups of students with the same file, byte for byte.
pub(crate) fn identical<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (id, sha256) in files {
        groups.entry(sha256).or_default().insert(id);
    }
    let groups = groups.into_values().filter(|group| group.len() > 1);
    let mut groups: Vec<Vec<String>> =
        groups.map(|group| group.into_iter().map(str::to_owned).collect()).collect();
    groups.sort();
    groups
}

/// Where `hashes` stand, ranges that touch made one.
fn lines(print: &Print, hashes: &[u64]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<_> =
        hashes.iter().flat_map(|hash| print.runs[hash].iter().copied()).collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut() {
            Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// A token as it is compared, and its line.
type Token<'a> = (&'a str, u32);

fn tokens(text: &str) -> Vec<Token<'_>> {
    let shebang = ra_ap_rustc_lexer::strip_shebang(text).unwrap_or(0);
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let (mut at, mut line) = (shebang, 1);
    for token in tokenize(&text[shebang..], FrontmatterAllowed::No) {
        let written = &text[at..at + token.len as usize];
        let before = tokens.iter().rev().map(|token| token.0);
        let kind = match token.kind {
            TokenKind::Whitespace
            | TokenKind::LineComment { .. }
            | TokenKind::BlockComment { .. } => None,
            TokenKind::Ident | TokenKind::RawIdent => Some(word(written, before)),
            TokenKind::Literal {
                kind: LiteralKind::Int { .. } | LiteralKind::Float { .. },
                ..
            } => Some("0"),
            TokenKind::Literal { .. } => Some("\"\""),
            TokenKind::Lifetime { .. } | TokenKind::RawLifetime => Some("'a"),
            _ => Some(written),
        };
        if let Some(kind) = kind {
            tokens.push((kind, line));
        }
        line += written.bytes().filter(|&byte| byte == b'\n').count() as u32;
        at += token.len as usize;
    }
    tokens
}

/// A word for comparison: all names that the author chose are alike. A name after `.` or `::`
/// belongs to another interface and cannot be renamed.
fn word<'a>(written: &'a str, mut before: impl Iterator<Item = &'a str>) -> &'a str {
    let first = before.next();
    let of_another = first == Some(".") || (first == Some(":") && before.next() == Some(":"));
    if of_another || KEYWORDS.contains(&written) { written } else { "a" }
}

/// Words that say what a program does. `pub`, `mut` and types are not among them: they follow.
const KEYWORDS: [&str; 20] = [
    "as", "async", "break", "const", "continue", "else", "enum", "fn", "for", "if", "impl", "in",
    "let", "loop", "match", "move", "return", "struct", "unsafe", "while",
];

/// The hash of each run of tokens, with its first and last line.
fn runs(tokens: &[Token<'_>]) -> Vec<(u64, (u32, u32))> {
    let runs = tokens.windows(RUN).map(|run| {
        let mut hash = FNV_OFFSET;
        for (token, _) in run {
            // The end of a token belongs to it: `a b` is not `ab`.
            for byte in token.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
        (hash, (run[0].1, run[RUN - 1].1))
    });
    runs.collect()
}

/// FNV-1a, which is the same on every machine and in every version. Nothing is gained by a
/// collision: it would make two files look alike.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// From which share on these tests call a pair one.
    const SHARE: f64 = 0.5;

    fn found(texts: &[&str], known: &[&str]) -> Vec<Pair> {
        let known = Known::of(known.iter().copied());
        let prints: Vec<_> = texts.iter().map(|text| Print::of(text, &known)).collect();
        let ids: Vec<_> = (0..texts.len()).map(|number| format!("s{number:03}")).collect();
        let files = ids.iter().zip(texts).zip(&prints);
        // A text is as good as its hash.
        let files: Vec<_> = files.map(|((id, text), print)| (id.as_str(), *text, print)).collect();
        pairs(&files, SHARE)
    }

    fn read(path: &str) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(path)).unwrap()
    }

    /// The exercises of the repository, each with its shipped file and its solution.
    fn exercises() -> Vec<(String, String, String)> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../solutions");
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().flatten().map(|e| e.file_name()).collect();
        names.sort();
        let exercises = names.iter().map(|name| {
            let name = name.to_str().unwrap();
            let shipped = read(&format!("exercises/{name}/.shipped/lib.rs"));
            (name.to_owned(), shipped, read(&format!("solutions/{name}/src/lib.rs")))
        });
        exercises.collect()
    }

    /// Somebody's own way through `chunked_pipeline`: rounds of three, an event for each slot.
    const OWN: &str = r#"
use lab::{Job, Result};

pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let up = context.new_stream()?;
    let map = context.new_stream()?;
    let down = context.new_stream()?;
    let mut parts = job.whole().cut(24).allocate()?;
    parts.region(|parts| {
        let mut ready = Vec::with_capacity(parts.len());
        for part in parts.iter_mut() {
            up.memcpy_htod(&part.input, &mut part.device)?;
            ready.push(up.record_event(None)?);
        }
        let mut mapped = Vec::with_capacity(parts.len());
        for (part, event) in parts.iter_mut().zip(&ready) {
            map.wait(event)?;
            part.map(&map)?;
            mapped.push(map.record_event(None)?);
        }
        for (part, event) in parts.iter_mut().zip(&mapped) {
            down.wait(event)?;
            down.memcpy_dtoh(&part.device, &mut part.output)?;
        }
        Ok(context.synchronize()?)
    })
}
"#;

    /// The same file by somebody who did not want it to look so: every name, every number and every comment is
    /// another, and two declarations have changed places.
    const DISGUISED: &str = r#"
// My own solution of the exercise. It was hard.
use lab::{Job, Result};

/// Does it all.
pub fn pipeline(work: &Job) -> Result<()> {
    let device = work.context();
    // three streams
    let third = device.new_stream()?;
    let first = device.new_stream()?;
    let second = device.new_stream()?;

    let mut pieces = work.whole().cut(32).allocate()?;
    pieces.region(|pieces| {
        let mut uploaded = Vec::with_capacity(pieces.len()); // events
        for piece in pieces.iter_mut() {
            first.memcpy_htod(&piece.input, &mut piece.device)?;
            uploaded.push(first.record_event(None)?);
        }

        let mut done = Vec::with_capacity(pieces.len());
        /* the kernels */
        for (piece, signal) in pieces.iter_mut().zip(&uploaded) {
            second.wait(signal)?;
            piece.map(&second)?;
            done.push(second.record_event(None)?);
        }
        for (piece, signal) in pieces.iter_mut().zip(&done) {
            third.wait(signal)?;
            third.memcpy_dtoh(&piece.device, &mut piece.output)?;
        }
        Ok(device.synchronize()?)
    })
}
"#;

    /// Two who did the exercise by themselves, with what it asks for: streams, events, chunks.
    const ANOTHER: &str = r#"
use lab::{Job, Result};

const CHUNKS: usize = 40;

struct Lanes<'a> {
    up: &'a lab::Stream,
    work: &'a lab::Stream,
    down: &'a lab::Stream,
}

fn step(lanes: &Lanes<'_>, chunk: &mut lab::Chunk) -> Result<()> {
    lanes.up.memcpy_htod(&chunk.input, &mut chunk.device)?;
    let there = lanes.up.record_event(None)?;
    lanes.work.wait(&there)?;
    chunk.map(lanes.work)?;
    let over = lanes.work.record_event(None)?;
    lanes.down.wait(&over)?;
    lanes.down.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
    Ok(())
}

pub fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let [up, work, down] = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let lanes = Lanes { up: &up, work: &work, down: &down };
    let mut chunks = job.whole().cut(CHUNKS).allocate()?;
    chunks.region(|chunks| {
        chunks.iter_mut().try_for_each(|chunk| step(&lanes, chunk))?;
        context.synchronize()?;
        Ok(())
    })
}
"#;

    fn known() -> [String; 2] {
        let name = "07_chunked_pipeline";
        [
            read(&format!("exercises/{name}/.shipped/lib.rs")),
            read(&format!("solutions/{name}/src/lib.rs")),
        ]
    }

    #[test]
    fn renamed_moved_and_commented_anew_it_is_still_found() {
        let known = known();
        let pairs = found(&[OWN, DISGUISED, ANOTHER], &[&known[0], &known[1]]);
        let mut said = String::new();
        for pair in &pairs {
            let Pair { first, second, share, first_lines, second_lines } = pair;
            _ = writeln!(said, "{first} {second} {share:.2} {first_lines:?} {second_lines:?}");
        }
        insta::assert_snapshot!(said);
        assert_eq!(pairs.len(), 1, "those who did it alone are not listed");
    }

    #[test]
    fn blocks_in_another_order_are_found_with_their_lines() {
        let (alpha, beta) = (block("alpha", 1), block("beta", 2));
        let one = format!("{alpha}\n{beta}");
        let two = format!("{beta}\n{alpha}");
        let pairs = found(&[&one, &two], &[]);
        assert_eq!(pairs.len(), 1);
        assert!(pairs[0].share > 0.8, "{pairs:?}");
        let length = alpha.lines().count() as u32;
        let covered: u32 = pairs[0].first_lines.iter().map(|(from, to)| to - from + 1).sum();
        assert!(covered >= 2 * length - 2, "{covered} lines of {}", 2 * length);
    }

    /// Code that no exercise asks for; each `kind` its own.
    fn block(name: &str, kind: usize) -> String {
        let mut text = format!("fn {name}(x: &mut Thing) -> u32 {{\n");
        for line in 0..12 {
            let method =
                ["push", "pop", "len", "get", "take", "swap", "peek"][(line * kind + line / 3) % 7];
            let operator = ["+", "*", "^", "%", "-"][(line + kind) % 5];
            _ = writeln!(text, "    x.{method}_{kind}({line} {operator} x.size);");
        }
        text + "    x.end()\n}\n"
    }

    #[test]
    fn what_was_handed_out_and_the_solution_are_nobody_s_own() {
        for (name, shipped, solution) in exercises() {
            let known = Known::of([shipped.as_str(), solution.as_str()]);
            for text in [&shipped, &solution] {
                assert!(Print::of(text, &known).runs.is_empty(), "{name}");
            }
            let other = solution.replace("//!", "// mine:").replace("stream", "fluss");
            assert_eq!(found(&[&solution, &other, &shipped], &[&shipped, &solution]), [], "{name}");
        }
    }

    #[test]
    fn the_solution_with_a_change_of_one_s_own_is_not_a_copy_of_another_s() {
        for (name, shipped, solution) in exercises() {
            let baseline = read(&format!("exercises/{name}/baseline.rs"));
            let with = |lines: &str| {
                let at = solution.rfind("Ok(())").unwrap_or(solution.len());
                format!("{}{lines}{}", &solution[..at], &solution[at..])
            };
            let one = with("if job.len() > 3 { println!(\"many\"); }\n");
            let two = with("let total: usize = all.iter().map(|x| x.bytes()).sum();\n");
            let three = format!("// alone\n{two}");
            let pairs = found(&[&one, &two, &three, &baseline], &[&shipped, &solution]);
            assert_eq!(pairs, [], "{name}");
        }
    }

    #[test]
    fn what_half_the_class_writes_says_nothing() {
        let shared = block("shared", 3);
        let texts: Vec<_> = (0..12).map(|number| format!("{shared}\n{}", unique(number))).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        assert_eq!(found(&texts, &[]), []);
        assert_eq!(found(&texts[..3], &[]).len(), 3, "three of them would be told");
    }

    fn unique(number: usize) -> String {
        (0..4).map(|line| format!("fn f() {{ x.own_{number}_{line}(y.with_{number}_{line}, z.{line}_{number}()) }}\n")).collect()
    }

    #[test]
    fn equal_files_are_listed_as_groups() {
        let files = [("eve", "2"), ("ada", "1"), ("bob", "1"), ("cyd", "3"), ("dan", "2")];
        assert_eq!(identical(files), [vec!["ada", "bob"], vec!["dan", "eve"]]);
    }

    #[test]
    fn a_crowd_that_changed_the_names_alone_is_found_however_large() {
        let texts: Vec<_> =
            (0..20).map(|number| OWN.replace("ready", &format!("r{number}"))).collect();
        let mut texts: Vec<_> = texts.iter().map(String::as_str).collect();
        texts.push(texts[3]);
        let pairs = found(&texts, &[]);
        assert_eq!(pairs.len(), 19);
        assert!(pairs.iter().all(|pair| pair.first == "s000" && pair.share == 1.0));
    }

    #[test]
    fn the_order_of_the_files_changes_nothing() {
        let known = Known::default();
        let prints = [OWN, DISGUISED, ANOTHER].map(|text| Print::of(text, &known));
        let ids = ["a", "b", "c"];
        let mut files: Vec<_> =
            ids.into_iter().zip(&prints).map(|(id, print)| (id, id, print)).collect();
        let first = pairs(&files, 0.1);
        files.reverse();
        assert_eq!(pairs(&files, 0.1), first);
        assert!(!first.is_empty());
    }

    #[test]
    fn hostile_text_is_only_text() {
        for text in [
            "",
            "\u{feff}",
            "#!/bin/sh",
            "\"unterminated",
            "r####\"x",
            "/* /* ",
            "'",
            "\u{1F600}#\"",
            "0x",
            "---\n",
        ] {
            _ = Print::of(text, &Known::default());
        }
        let deep = "(".repeat(500_000);
        assert!(Print::of(&deep, &Known::default()).runs.len() < 3);
        let wide: String = (0..50_000).map(|number| format!("x.m{number}(y);")).collect();
        assert!(Print::of(&wide, &Known::default()).runs.len() > 10_000);
    }
}
