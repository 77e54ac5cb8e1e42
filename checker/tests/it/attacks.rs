//! Files that attack the grading of a class, graded: what each of them gets, and what it did not reach.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::real::real;
use crate::sandbox;
use crate::tree::scratch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    #[expect(dead_code, reason = "for readers")]
    title: String,
    /// The file; none where there cannot be one.
    file: Option<String>,
    exercise: Option<String>,
    /// Verdict, gate and reason, in every way in which it may come out.
    #[serde(default)]
    expect: Vec<String>,
    /// What must not be in the row.
    keeps: Option<String>,
    /// It takes as long as there is.
    #[serde(default)]
    slow: bool,
    #[expect(dead_code, reason = "for readers")]
    note: Option<String>,
    /// Why there is no file.
    why: Option<String>,
    /// What proves it instead.
    test: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/attacks")
}

fn index() -> Index {
    let text = std::fs::read_to_string(folder().join("index.toml")).expect("the index");
    toml::from_str(&text).expect("an index")
}

/// What many of the files have in common, by the mark that stands for it: what makes system calls, what puts
/// requests that a file cannot name, and the function that is asked for, as it was handed out.
const PARTS: [(&str, &str); 3] =
    [("@SYSTEM@", "system.rs"), ("@PUT@", "put.rs"), ("@HONEST@", "honest.rs")];

/// A file as it is handed in: `@WORKSPACE@`, the marks of [`PARTS`], `@TEXT path@`, `@REPEAT N text@` and `@BYTE ff@`
/// stand for something.
fn handed_in(file: &str, workspace: &Path) -> Vec<u8> {
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("a file");
    let mut text = read(folder().join(file));
    for (mark, part) in PARTS {
        text = text.replace(mark, &read(folder().join(part)));
    }
    let text = text.replace("@WORKSPACE@", workspace.to_str().expect("UTF-8"));
    let mut bytes = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('@') {
        bytes.extend_from_slice(before.as_bytes());
        let (mark, after) = after.split_once('@').expect("a mark has an end");
        rest = after;
        let words: Vec<_> = mark.splitn(3, ' ').collect();
        match words[..] {
            ["REPEAT", times, text] => {
                let times = times.parse().expect("a number");
                bytes.extend_from_slice(text.repeat(times).as_bytes());
            }
            ["TEXT", path] => bytes.extend(read(workspace.join(path)).into_bytes()),
            ["BYTE", byte] => bytes.push(u8::from_str_radix(byte, 16).expect("hexadecimal")),
            _ => panic!("`{mark}` in `{file}` is no mark"),
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[test]
fn every_attack_is_a_file_or_says_why_it_cannot_be_one() {
    let Index { case } = index();
    let numbered = [('C', 80), ('R', 93), ('F', 26)];
    let expected: BTreeSet<String> = numbered
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number:02}")))
        .collect();
    let found: BTreeSet<String> = case.iter().map(|case| case.id.clone()).collect();
    assert_eq!(found, expected);
    assert_eq!(case.len(), expected.len(), "one of them is there twice");

    let mut files: BTreeSet<String> = std::fs::read_dir(folder())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    files.remove("index.toml");
    for (_, part) in PARTS {
        assert!(files.remove(part), "there is no `{part}`");
    }
    let tests = sources();
    for case in &case {
        match (&case.file, &case.why) {
            (Some(file), None) => {
                assert!(files.remove(file), "{}: there is no `{file}`", case.id);
                assert!(!case.expect.is_empty() && case.exercise.is_some(), "{}", case.id);
            }
            (None, Some(_)) => {}
            _ => panic!("{}: it has either a file or a reason", case.id),
        }
        if let Some(name) = case.test.as_ref().and_then(|test| test.rsplit("::").next()) {
            assert!(tests.contains(&format!("fn {name}")), "{}: no test `{name}`", case.id);
        }
    }
    assert_eq!(files, BTreeSet::new(), "files that are in no index");
}

/// The source of everything that could be a test.
fn sources() -> String {
    let mut text = String::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut waiting = vec![root.join("../class/src"), root.join("../tests/it")];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                text.push_str(&std::fs::read_to_string(path).expect("UTF-8"));
            }
        }
    }
    text
}

/// A student's file in the folder of a class.
fn put(handed: &Path, student: &str, exercise: &str, bytes: &[u8]) {
    let folder = handed.join(student);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{exercise}.rs")), bytes).expect("a file");
}

/// Bytes of a row, at most: what a program prints, and what the compiler says, are the largest part.
const LONGEST_ROW: usize = 1 << 20;

/// Attacks that do no harm where they get through.
const HARMLESS: [&str; 6] = ["C01", "C02", "C05", "C06", "R22", "R46"];

#[test]
fn attacks_get_through_where_there_is_no_sandbox() {
    let real = real();
    let base = scratch().join("attacks-free");
    _ = std::fs::remove_dir_all(&base);
    let (handed, out) = (base.join("handed"), base.join("out"));
    for case in index().case.iter().filter(|case| HARMLESS.contains(&case.id.as_str())) {
        let file = case.file.as_deref().expect("a file");
        put(&handed, &case.id, "first_launch", &handed_in(file, real.root()));
    }
    let mut checker = real.checker(&["grade"]);
    checker.arg(&handed).arg("--out").arg(&out);
    checker.args(["--sandbox", "off", "--accept-risk", "--exercise", "first_launch"]);
    let output = checker.output().expect("the checker starts");
    let text = std::fs::read_to_string(out.join("grades.jsonl"));
    let text = text.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let mut reached = BTreeSet::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        assert_eq!(row["with"]["sandbox"]["level"], "none");
        let student = row["student"].as_str().expect("a name").to_owned();
        let output = row["output"].as_str().unwrap_or_default();
        let got_through = match student.as_str() {
            "C01" | "C02" => output.contains("root:x:0:0"),
            // It is the solution.
            "C05" => row["score"] == 100.0,
            "C06" => output.contains("\"timeline\"") || output.len() > 1000,
            _ => output.contains("reached"),
        };
        if got_through {
            reached.insert(student);
        }
    }
    assert_eq!(reached, HARMLESS.map(str::to_owned).into());
}

/// Grades a class of attacks and one who did what was asked for.
fn grade(name: &str, wanted: impl Fn(&Case) -> bool) {
    if !sandbox::is_whole() {
        return;
    }
    let real = real();
    let base = scratch().join(format!("attacks-{name}"));
    _ = std::fs::remove_dir_all(&base);
    let (handed, out, temporary) = (base.join("handed"), base.join("out"), base.join("tmp"));
    std::fs::create_dir_all(&temporary).expect("a folder");
    let solution = real.root().join("solutions/01_first_launch/src/lib.rs");
    put(&handed, "other", "first_launch", &std::fs::read(solution).expect("a solution"));
    // Ordinary Rust of many kinds is no attack.
    put(&handed, "ordinary", "first_launch", include_bytes!("attacks/ordinary.rs"));
    let mut cases = BTreeMap::new();
    for case in index().case.into_iter().filter(wanted) {
        if let (Some(file), Some(exercise)) = (&case.file, &case.exercise) {
            put(&handed, &case.id, exercise, &handed_in(file, real.root()));
            cases.insert(case.id.clone(), case);
        }
    }

    let mut checker = real.checker(&["grade"]);
    checker
        .arg(&handed)
        .arg("--out")
        .arg(&out)
        .args(["--require-sandbox", "--exercise", "first_launch", "--exercise", "three_lanes"])
        .env("TMPDIR", &temporary)
        .env("SECRET_SEED", "4711")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("GITHUB_ENV", "a file of the runner's");
    let output = checker.output().expect("the checker starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read_to_string(out.join("grades.jsonl")).unwrap_or_default();
    assert!(!text.is_empty(), "{:?}: {said}", output.status);

    let mut problems = Vec::new();
    let mut graded = BTreeSet::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(row["with"]["sandbox"]["level"], "full", "{said}");
        let (student, exercise) = (word("student"), word("exercise"));
        let outcome = [word("verdict"), word("gate"), word("reason")];
        let outcome = outcome.iter().filter(|it| !it.is_empty()).cloned().collect::<Vec<_>>();
        let outcome = outcome.join(" ");
        if matches!(student.as_str(), "other" | "ordinary") && exercise == "first_launch" {
            assert_eq!((outcome.as_str(), row["score"].as_f64()), ("passed", Some(100.0)), "{row}");
        }
        let Some(case) = cases.get(&student) else { continue };
        if case.exercise.as_ref() != Some(&exercise) {
            continue;
        }
        graded.insert(student.clone());
        let mut problem = |what: &str| {
            let beginning = |name: &str| word(name).chars().take(400).collect::<String>();
            problems.push(format!(
                "{student}: {what}: `{outcome}`, {}\n{}\n{}\n{}",
                row["points"],
                word("message"),
                beginning("output"),
                beginning("compiler")
            ));
        };
        if !case.expect.contains(&outcome) {
            problem("it came out otherwise");
        }
        if row["points"].as_f64().unwrap_or(0.0) > 0.0 {
            problem("it scores");
        }
        if line.len() > LONGEST_ROW {
            problem("it fills its row");
        }
        if let Some(kept) = &case.keeps {
            // What the compiler quotes of the file itself tells nothing.
            let bytes = handed_in(case.file.as_deref().unwrap_or_default(), real.root());
            let is_quoted = String::from_utf8_lossy(&bytes).contains(kept.as_str());
            let told = if is_quoted { word("output") } else { line.to_owned() };
            if told.contains(kept.as_str()) {
                problem("it got what it must not");
            }
        }
    }
    assert_eq!(graded, cases.keys().cloned().collect(), "{said}");
    assert!(
        problems.is_empty(),
        "{} of {}:\n\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n\n")
    );
    let left: Vec<_> = std::fs::read_dir(&temporary).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(at_work_below(&temporary), Vec::<u32>::new(), "processes are left");
}

/// Processes that were started from below `folder`, or work there.
fn at_work_below(folder: &Path) -> Vec<u32> {
    let folder = folder.to_str().expect("UTF-8");
    let names = |process: &Path| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let link = |name: &str| std::fs::read_link(process.join(name)).unwrap_or_default();
        let links = ["exe", "cwd"].map(|name| link(name).to_string_lossy().into_owned());
        [vec![String::from_utf8_lossy(&line).into_owned()], links.to_vec()].concat()
    };
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    processes
        .filter(|entry| names(&entry.path()).iter().any(|name| name.contains(folder)))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[test]
fn no_attack_scores_or_gets_out_and_nobody_else_is_touched() {
    grade("quick", |case| !case.slow);
}

#[test]
#[ignore = "takes minutes: these use all the time that there is"]
fn no_attack_that_takes_all_the_time_there_is_scores_or_gets_out() {
    grade("slow", |case| case.slow);
}
