//! The programs of `checker explain`: each shows its code and no other, and put right it shows none.
//!
//! What a page shows stands here between `// listing: CODE` and `// end`, its program in `wrong` and the
//! way out, where the page has one, in `right`; a test holds the two against each other. All of them are compiled once, and each
//! runs in a process of its own, since a driver is one to a process.

mod bench;
mod causes;
mod hazards;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use lab::{Lab, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use simulator::{Profile, advice};
use trace::{Record, env};

/// A program with a flaw, and the same without.
struct Explained {
    code: &'static str,
    wrong: fn(&Lab) -> Result<()>,
    right: fn(&Lab) -> Result<()>,
    /// What the flaw cannot be had without: codes that cost less, and go with it.
    also: &'static [&'static str],
}

/// Which of the programs this process is to run: code, space, `wrong` or `right`.
const PROGRAM: &str = "SWIM_TEST_EXPLAINED";

fn all() -> impl Iterator<Item = &'static Explained> {
    hazards::EXPLAINED.iter().chain(causes::EXPLAINED)
}

fn main() -> ExitCode {
    if let Ok(wanted) = std::env::var(PROGRAM) {
        let (code, which) = wanted.split_once(' ').expect("a code and which");
        let Explained { wrong, right, .. } =
            all().find(|it| it.code == code).expect("the code is explained");
        let program = if which == "wrong" { wrong } else { right };
        return lab::exercise::run_puzzle(env!("CARGO_MANIFEST_DIR"), program);
    }
    let mut trials = vec![
        Trial::test("every_code_is_explained_by_a_program", every_code_is_explained),
        Trial::test("pages_show_what_is_compiled_here", pages_show_what_is_compiled),
    ];
    for it in all() {
        let Explained { code, also, .. } = it;
        trials.push(Trial::test(format!("{code}::it_shows_its_code_and_no_other"), move || {
            expect(code, "wrong", &[&[*code], *also].concat())
        }));
        trials.push(Trial::test(format!("{code}::put_right_it_shows_none"), move || {
            expect(code, "right", &[])
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs a program and looks at what is found in it.
fn expect(code: &str, which: &str, expected: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("record.json");
    let output = Command::new(std::env::current_exe()?)
        .env(PROGRAM, format!("{code} {which}"))
        .env(env::RECORD, &path)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{}: {said}", output.status).into());
    }
    let record: Record = serde_json::from_slice(&std::fs::read(&path)?)?;
    let hazards = trace::hazards::find(&record.program);
    let profile: Profile = toml::from_str(Profile::H200)?;
    let causes = trace::causes::find(&record.program, &record.timeline);
    let causes = advice::advise(&record.program, causes, &profile, &|_| true).causes;
    let is_hazard = code.starts_with("SWIM-H");
    let found: BTreeSet<&str> = match is_hazard {
        // A race is looked at before anything that costs time.
        true => hazards.iter().map(|it| it.code.as_str()).collect(),
        false => {
            let hazards = hazards.iter().map(|it| it.code.as_str());
            hazards.chain(causes.iter().map(|it| it.code.as_str())).collect()
        }
    };
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    let first = causes.first().map(|it| it.code.as_str());
    let is_first = is_hazard || expected.is_empty() || first == Some(code);
    if found != expected || !is_first {
        return Err(format!("found {found:?}: {hazards:#?} {causes:#?}").into());
    }
    Ok(())
}

/// Codes whose page shows a program that cannot be run here, and why.
const NOT_RUN: [(&str, &str); 1] =
    [("SWIM-C10", "every kernel of the lab takes longer than the call that launches it")];

fn every_code_is_explained() -> Result<(), Failed> {
    let codes = trace::hazards::Code::ALL.iter().map(|code| code.as_str());
    let codes = codes.chain(trace::causes::Code::ALL.iter().map(|code| code.as_str()));
    let codes: Vec<_> =
        codes.filter(|code| NOT_RUN.iter().all(|(other, _)| other != code)).collect();
    let explained: Vec<_> = all().map(|it| it.code).collect();
    if explained != codes {
        return Err(format!("{explained:?} instead of {codes:?}").into());
    }
    Ok(())
}

fn pages_show_what_is_compiled() -> Result<(), Failed> {
    let mut sources = include_str!("hazards.rs").to_owned();
    for file in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explained/causes"))?
    {
        sources += &std::fs::read_to_string(file?.path())?;
    }
    let listings = listings(&sources);
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checker/src/explain");
    for Explained { code, .. } in all() {
        let page = std::fs::read_to_string(pages.join(format!("{code}.md")))?;
        let shown = shown(&page);
        if !shown.iter().any(|(which, _)| *which == "wrong") {
            return Err(format!("the page of {code} shows no program").into());
        }
        for (which, block) in shown {
            let is_it = |it: &Listing| it.code == *code && it.which == which && it.text == block;
            if !listings.iter().any(is_it) {
                return Err(format!(
                    "the page of {code} shows this, which is not what `{which}` is:\n{block}"
                )
                .into());
            }
        }
    }
    Ok(())
}

/// The programs of a page, and which of the two each is, by its section.
fn shown(page: &str) -> Vec<(&'static str, &str)> {
    let sections = page.split("\n## ").skip(1);
    sections
        .flat_map(|section| {
            let which = match section.lines().next() {
                Some("A minimal program") => "wrong",
                Some("How to fix it") => "right",
                _ => "neither",
            };
            let blocks = section.split("```rust\n").skip(1);
            blocks.map(move |block| (which, block.split("```").next().unwrap_or_default()))
        })
        .collect()
}

/// What stands between two marks.
struct Listing {
    code: String,
    /// The function that it is in: `wrong` or `right`.
    which: &'static str,
    text: String,
}

/// What stands between `// listing: CODE` and `// end`, each line without the indentation of the first.
fn listings(source: &str) -> Vec<Listing> {
    let marks = source.match_indices("// listing: ");
    marks
        .filter_map(|(at, mark)| {
            let (before, part) = (&source[..at], &source[at + mark.len()..]);
            let begins = |name: &str| before.rfind(&format!("fn {name}("));
            let which = if begins("wrong") > begins("right") { "wrong" } else { "right" };
            let (code, rest) = part.split_once('\n')?;
            let (body, _) = rest.split_once("// end")?;
            let indent = body.len() - body.trim_start().len();
            let mut text = String::new();
            for line in body.trim_end().lines() {
                text += line.get(indent..).unwrap_or_default();
                text.push('\n');
            }
            Some(Listing { code: code.to_owned(), which, text })
        })
        .collect()
}
