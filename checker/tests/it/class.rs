//! A class: the same verdicts as one by one, and the same bytes however it was graded.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::real::{self, Real};
use crate::sandbox;
use crate::tree::{scratch, write};

/// A new empty folder.
pub(crate) fn empty(name: &str) -> PathBuf {
    let folder = scratch().join("class").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("it goes");
    }
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn chapter(real: &Real, exercise: &str) -> String {
    let entries = std::fs::read_dir(real.root().join("exercises")).expect("a folder");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.into_iter().find(|name| name.ends_with(&format!("_{exercise}"))).expect("an exercise")
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn solution(real: &Real, exercise: &str) -> String {
    read(&real.root().join("solutions").join(chapter(real, exercise)).join("src/lib.rs"))
}

pub(crate) fn shipped(real: &Real, exercise: &str) -> String {
    read(&real.root().join("exercises").join(chapter(real, exercise)).join(".shipped/lib.rs"))
}

/// What `student` hands in for `exercise`, in `class`.
pub(crate) fn hand_in(class: &Path, student: &str, exercise: &str, text: &str) {
    write(&class.join(student).join(format!("{exercise}.rs")), text);
}

pub(crate) fn grade(real: &Real, class: &Path, out: &Path, more: &[&str]) -> Command {
    let (class, out) = (class.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    // What is tested here holds with a sandbox and without.
    let without: &[&str] = match sandbox::level() {
        "none" => &["--sandbox", "off", "--accept-risk"],
        _ => &[],
    };
    real.checker(&[&["grade", class, "--out", out], more, without].concat())
}

pub(crate) fn rows(out: &Path) -> Vec<Value> {
    let text = read(&out.join("grades.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

pub(crate) fn succeeds(command: &mut Command) {
    let output = command.output().expect("the checker starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// Two exercises, one of which has a solution in two copies, and files that fail in different ways.
fn small_class(real: &Real, name: &str) -> PathBuf {
    let class = empty(name);
    for student in ["ada", "bo", "cy", "dee"] {
        let first = match student {
            "dee" => shipped(real, "first_launch"),
            _ => solution(real, "first_launch"),
        };
        hand_in(&class, student, "first_launch", &first);
        let second = match student {
            "ada" => solution(real, "two_streams"),
            "bo" => shipped(real, "two_streams") + "\n// mine\n",
            "cy" => shipped(real, "two_streams") + "\nfn f() -> u32 { \"no\" }\n",
            _ => continue,
        };
        hand_in(&class, student, "two_streams", &second);
    }
    class
}

const TWO: [&str; 4] = ["--exercise", "first_launch", "--exercise", "two_streams"];

#[test]
fn whoever_handed_in_nothing_has_no_points_that_an_import_would_take_unless_a_person_asks_for_it() {
    let real = real::real();
    let class = empty("absent");
    hand_in(&class, "ada", "two_streams", &solution(&real, "two_streams"));
    let roster = class.with_file_name("absent.csv");
    write(&roster, "student,name\nADA,Ada Lovelace\nbo,Bo Diddley\n");
    let roster = roster.to_str().expect("UTF-8");
    let points = |name: &str, more: &[&str]| {
        let out = empty(name);
        let first = ["--exercise", "two_streams", "--roster", roster];
        succeeds(&mut grade(&real, &class, &out, &[&first, more].concat()));
        let rows = rows(&out);
        let said = rows.iter().map(|row| (row["student"].to_string(), row["points"].to_string()));
        (said.collect::<Vec<_>>(), read(&out.join("notes.txt")))
    };
    let expected = |bo: &str| {
        [("\"ADA\"", "100.0"), ("\"bo\"", bo)].map(|(id, it)| (id.to_owned(), it.to_owned()))
    };
    let (rows, notes) = points("absent-out", &[]);
    assert_eq!(rows, expected("null"));
    assert_eq!(notes, "ada: `ADA` on the roster\nbo: handed in nothing\n");
    let (rows, _) = points("absent-zero", &["--absent", "zero"]);
    assert_eq!(rows, expected("0.0"));

    // Another class's roster, or another column of this one.
    write(Path::new(roster), "student,login\n1,ada\n2,bo\n");
    let out = empty("absent-strangers");
    let output = grade(&real, &class, &out, &["--roster", roster]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("hint: `--key 'login'` knows 1 of them"), "{said}");
    assert!(!out.join("grades.jsonl").exists(), "there is nothing to import");
}

#[test]
fn each_row_says_what_a_run_alone_says() {
    let real = real::real();
    let class = empty("alone");
    let exercises = ["first_launch", "two_streams", "three_lanes", "prefetch"];
    for exercise in exercises {
        hand_in(&class, "solved", exercise, &solution(&real, exercise));
    }
    let out = empty("alone-out");
    let arguments: Vec<&str> = exercises.iter().flat_map(|it| ["--exercise", it]).collect();
    succeeds(&mut grade(&real, &class, &out, &arguments));
    for row in rows(&out) {
        let exercise = row["exercise"].as_str().expect("a name");
        let (_, alone) = real.json(&["run", exercise, "--solution"]);
        for key in [
            "verdict",
            "gate",
            "score",
            "pass_score",
            "metric",
            "metric_value",
            "baseline_value",
            "reference_value",
            "makespan_ns",
            "floor_ns",
            "serial_ns",
            "host_work_ns",
            "hidden_fraction",
            "score_rule",
        ] {
            assert_eq!(row[key], alone[key], "{exercise}: {key}");
        }
        assert_eq!(row["score"], 100.0, "{exercise}");
    }
}

#[test]
fn verdicts_name_what_was_wrong_and_what_was_not_there() {
    let real = real::real();
    let class = small_class(&real, "verdicts");
    let out = empty("verdicts-out");
    succeeds(&mut grade(&real, &class, &out, &TWO));
    let lines: Vec<String> = rows(&out)
        .iter()
        .map(|row| {
            let word = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
            let score = &row["score"];
            format!(
                "{} {}: {} {} {} {score}: {}",
                word("student"),
                word("exercise"),
                word("verdict"),
                word("gate"),
                word("reason"),
                word("message")
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_class_graded_ten_times_gives_the_same_bytes_in_any_order_in_parts_and_after_a_kill() {
    let real = real::real();
    let class = small_class(&real, "same");
    let shuffled = empty("same-shuffled");
    // Made in another order, which is how a folder may list it.
    for student in ["dee", "bo", "ada", "cy"] {
        for exercise in ["two_streams", "first_launch"] {
            let file = class.join(student).join(format!("{exercise}.rs"));
            if file.is_file() {
                hand_in(&shuffled, student, exercise, &read(&file));
            }
        }
    }
    let whole = empty("same-whole");
    succeeds(&mut grade(&real, &class, &whole, &[&TWO[..], &["--jobs", "1"]].concat()));
    let expected = read(&whole.join("grades.jsonl"));

    let again =
        [("1", &class), ("2", &class), ("2", &shuffled), ("1", &shuffled), ("2", &shuffled)];
    let turned = ["--exercise", "two_streams", "--exercise", "first_launch"];
    for (number, (jobs, class)) in again.into_iter().enumerate() {
        let out = empty(&format!("same-{number}"));
        let exercises = if number % 2 == 0 { TWO } else { turned };
        succeeds(&mut grade(&real, class, &out, &[&exercises[..], &["--jobs", jobs]].concat()));
        assert_eq!(read(&out.join("grades.jsonl")), expected, "{number}: with {jobs} workers");
    }

    for (of, shards) in [(3, ["1/3", "0/3", "2/3"].as_slice()), (2, &["1/2", "0/2"])] {
        let parts = empty(&format!("same-parts-{of}"));
        for shard in shards {
            let more = ["--shard", shard, "--resume"];
            succeeds(&mut grade(&real, &class, &parts, &[&TWO[..], &more].concat()));
        }
        let folder = parts.to_str().expect("UTF-8");
        succeeds(&mut real.checker(&["merge", folder, "--out", folder]));
        assert_eq!(read(&parts.join("grades.jsonl")), expected, "in {of} parts");
    }

    for jobs in ["1", "2"] {
        let killed = empty(&format!("same-killed-{jobs}"));
        let mut running = grade(&real, &class, &killed, &[&TWO[..], &["--jobs", jobs]].concat())
            .spawn()
            .expect("the checker starts");
        while std::fs::read_dir(killed.join("cache")).map_or(0, Iterator::count) == 0 {
            assert!(running.try_wait().expect("it can be asked").is_none(), "it kept nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
        running.kill().expect("it runs");
        running.wait().expect("it ends");
        assert!(!killed.join("grades.jsonl").exists(), "it was killed too late to tell");
        succeeds(&mut grade(&real, &class, &killed, &[&TWO[..], &["--resume"]].concat()));
        assert_eq!(read(&killed.join("grades.jsonl")), expected, "after a kill");
    }
}

/// On a machine with a GPU, as far as the checker can tell; no program runs on it.
fn with_gpu(mut command: Command) -> Command {
    command.env("LD_LIBRARY_PATH", crate::gpu::library()).env("STAND_IN", "works");
    command
}

#[test]
#[ignore = "builds all libraries for speed, which takes minutes"]
fn what_a_gpu_measures_stands_beside_a_grade_and_changes_nothing_of_it() {
    let real = real::real();
    let class = small_class(&real, "gpu");
    // Compiled for speed it exports names that the optimiser makes.
    let large = "../tests/alternatives/three_lanes/two_streams_a_lane.rs";
    let large = Path::new(env!("CARGO_MANIFEST_DIR")).join(large);
    hand_in(&class, "eve", "three_lanes", &read(&large));
    let three = [&TWO[..], &["--exercise", "three_lanes"]].concat();
    let (simulated, measured) = (empty("gpu-simulated"), empty("gpu-measured"));
    succeeds(&mut grade(&real, &class, &simulated, &three));
    let mut arguments = [&three[..], &["--device", "gpu", "--format", "csv"]].concat();
    arguments.extend(["--format", "html"]);
    // Without a sandbox it is there already.
    arguments.extend(Some("--accept-risk").filter(|_| sandbox::level() != "none"));
    succeeds(&mut with_gpu(grade(&real, &class, &measured, &arguments)));
    let mut told = Vec::new();
    let stripped = rows(&measured).into_iter().map(|mut row| {
        if let Some(gpu) = row.as_object_mut().expect("an object").remove("gpu") {
            let word = |key: &str| gpu[key].as_str().expect("a text").to_owned();
            let student = row["student"].as_str().expect("a name");
            let exercise = row["exercise"].as_str().expect("a name");
            let [trust, device] = ["trust", "device"].map(word);
            // The stand-in runs no program. That shows when the first is started, which is after the student's
            // file was compiled, and baseline and reference.
            assert!(gpu["score"].is_null(), "{gpu}");
            assert!(word("message").contains("the calibration fails on this GPU"), "{gpu}");
            told.push(format!("{student} {exercise}: {trust}, {device}"));
        }
        row
    });
    assert_eq!(stripped.collect::<Vec<_>>(), rows(&simulated));
    // The others do not compile, or were not touched.
    assert_eq!(
        told,
        [
            "ada first_launch: in-process, Stand-in",
            "ada two_streams: in-process, Stand-in",
            "bo first_launch: in-process, Stand-in",
            "bo two_streams: in-process, Stand-in",
            "cy first_launch: in-process, Stand-in",
            "eve three_lanes: in-process, Stand-in",
        ]
    );
    let table = read(&measured.join("reports/grades.csv"));
    assert_eq!(table.lines().filter(|line| line.ends_with(",in-process")).count(), 6, "{table}");
    let page = read(&measured.join("reports/students/ada.html"));
    assert!(page.contains("The grade does not hang on it."), "{page}");
}

#[test]
fn files_run_on_a_gpu_only_where_there_is_one_and_somebody_accepts_the_risk() {
    let real = real::real();
    let class = small_class(&real, "gpu-refused");
    let out = empty("gpu-refused-out");
    let said = |command: &mut Command| {
        let output = command.output().expect("the checker starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (class, to) = (class.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let on_gpu = ["grade", class, "--out", to, "--device", "gpu"];
    let (code, text) = said(&mut with_gpu(real.checker(&on_gpu)));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("`--device gpu` needs `--accept-risk`"), "{text}");
    let mut without = with_gpu(real.checker(&[&on_gpu[..], &["--accept-risk"]].concat()));
    let (code, text) = said(without.env("STAND_IN", "empty"));
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("no usable GPU: the driver finds no device"), "{text}");
    assert!(!out.join("grades.jsonl").exists());
}

/// As root every program has a user of its own. Without namespaces that user has to be able to read the
/// compiler where it lies.
#[test]
fn without_namespaces_a_file_gets_the_same_row_or_none_and_never_a_zero() {
    if !sandbox::is_whole() {
        return;
    }
    let real = real::real();
    let class = empty("nameless");
    hand_in(&class, "ada", "first_launch", &solution(&real, "first_launch"));
    let one = ["--exercise", "first_launch"];
    let (with, without) = (empty("nameless-with"), empty("nameless-without"));
    succeeds(&mut grade(&real, &class, &with, &one));
    let mut command = grade(&real, &class, &without, &one);
    let output = command.env("SWIM_SANDBOX_WITHOUT", "namespaces").output().expect("it starts");
    let row = |out: &Path| rows(out).remove(0);
    let (expected, mut row) = (row(&with), row(&without));
    assert_eq!(row["with"]["sandbox"]["level"], "partial");
    if row["verdict"] == "error" {
        let message = row["message"].as_str().expect("a text");
        assert!(message.contains("cannot read") && message.contains("RUSTUP_HOME"), "{message}");
        assert!(row["score"].is_null() && row["points"].is_null(), "{row:#}");
        assert_eq!(output.status.code(), Some(4));
        sandbox::not_run("a compiler that every user can read");
    } else {
        row["with"] = expected["with"].clone();
        assert_eq!(row, expected);
    }
}

#[test]
fn trouble_is_believed_of_the_machine_and_never_of_a_student_s_program() {
    /// The exit status by which the lab says that the machine is in trouble.
    const FORGED: &str = "pub fn before() {\n    eprintln!(\"error: the driver is broken\");\n    \
                          std::process::exit(4)\n}\n";
    const HONEST: &str = "pub fn before() {}\n";
    let real = real::real();
    let folder = real.folder("first_launch");
    let (main, first) = (folder.join("src/main.rs"), folder.join(".shipped/lib.rs"));
    let (main_before, first_before) = (read(&main), read(&first));
    // A student's code has no way to run before the lab has got everything ready; here it has one.
    let begins = "std::process::ExitCode {\n";
    assert!(main_before.contains(begins));
    write(&main, &main_before.replace(begins, &format!("{begins}    first_launch::before();\n")));
    let class = empty("trouble");
    hand_in(&class, "ada", "first_launch", &(solution(&real, "first_launch") + FORGED));
    let mut found = Vec::new();
    for (name, of_shipped) in [("ours", HONEST), ("theirs", FORGED)] {
        write(&first, &(first_before.clone() + of_shipped));
        let out = empty(&format!("trouble-{name}"));
        _ = grade(&real, &class, &out, &TWO[..2]).output().expect("the checker starts");
        let row = rows(&out).swap_remove(0);
        let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        found.push((word("verdict"), word("gate"), word("message")));
    }
    write(&main, &main_before);
    write(&first, &first_before);
    let (verdict, gate, message) = &found[0];
    assert_eq!((verdict.as_str(), gate.as_str()), ("failed", "output"), "{message}");
    assert!(!message.contains("the driver is broken"), "{message}");
    // Where the file as it was handed out says the same, it is so.
    assert_eq!((found[1].0.as_str(), found[1].1.as_str()), ("error", ""), "{:?}", found[1]);
}

#[test]
fn grades_are_not_written_over_unless_they_are_taken_up() {
    let real = real::real();
    let class = small_class(&real, "over");
    let out = empty("over-out");
    succeeds(&mut grade(&real, &class, &out, &TWO));
    let output = grade(&real, &class, &out, &TWO).output().expect("the checker starts");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("`--resume` goes on with them"), "{said}");
}

/// Every file below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

#[test]
fn nothing_is_left_of_a_student_who_is_forgotten_and_all_of_the_others() {
    let real = real::real();
    let class = small_class(&real, "forget");
    let own = solution(&real, "first_launch") + "\n// by the one who goes\n";
    hand_in(&class, "goes-4711", "first_launch", &own);
    hand_in(&class, "goes-4711", "two_streams", &solution(&real, "two_streams"));
    let (with, without) = (empty("forget-with"), empty("forget-without"));
    succeeds(&mut grade(&real, &class, &with, &TWO));
    let before = files(&with).len();
    let out = with.to_str().expect("UTF-8");
    succeeds(&mut real.checker(&["forget", "goes-4711", "--out", out]));
    // What was kept of parts goes too.
    let parts = empty("forget-parts");
    for shard in ["0/2", "1/2"] {
        let more = ["--shard", shard, "--resume"];
        succeeds(&mut grade(&real, &class, &parts, &[&TWO[..], &more].concat()));
    }
    let merged = parts.to_str().expect("UTF-8");
    succeeds(&mut real.checker(&["merge", merged, "--out", merged]));
    succeeds(&mut real.checker(&["forget", "goes-4711", "--out", merged]));
    for path in files(&parts) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned();
        assert!(!text.contains("goes-4711"), "{}", path.display());
    }
    for path in files(&with) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned();
        for word in ["goes-4711", "the one who goes"] {
            assert!(!text.contains(word), "`{}` holds `{word}`", path.display());
            assert!(!path.to_string_lossy().contains(word), "{}", path.display());
        }
    }
    // A page, and outcome and drawing of the file that nobody else has.
    assert_eq!(before - files(&with).len(), 3);

    std::fs::remove_dir_all(class.join("goes-4711")).expect("it goes");
    succeeds(&mut grade(&real, &class, &without, &TWO));
    let below = |root: &Path| -> Vec<(PathBuf, String)> {
        let mut files: Vec<_> = files(root)
            .into_iter()
            .map(|path| (path.strip_prefix(root).expect("below").to_owned(), read(&path)))
            .collect();
        files.sort();
        files
    };
    let (with, without) = (below(&with), below(&without));
    for (one, other) in with.iter().zip(&without) {
        assert_eq!(one, other);
    }
    assert_eq!(with.len(), without.len());
}

#[test]
fn parts_that_lie_in_several_folders_are_put_together_and_none_may_be_missing() {
    let real = real::real();
    let class = small_class(&real, "folders");
    write(&class.join("readme.txt"), "not a student");
    let one = |name: &str| empty(&format!("folders-{name}"));
    let (whole, first, second, all) = (one("whole"), one("first"), one("second"), one("all"));
    succeeds(&mut grade(&real, &class, &whole, &TWO));
    let path = |folder: &Path| folder.to_str().expect("UTF-8").to_owned();
    let (first_path, second_path, all_path) = (path(&first), path(&second), path(&all));

    succeeds(&mut grade(&real, &class, &first, &[&TWO[..], &["--shard", "0/2"]].concat()));
    let output = real.checker(&["merge", &first_path, "--out", &all_path]).output();
    let output = output.expect("the checker starts");
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    error: there are no grades of shard 1/2

    hint: grade with `--shard 1/2 --resume`, and merge again
    ");
    assert!(!all.join("grades.jsonl").exists());

    succeeds(&mut grade(&real, &class, &second, &[&TWO[..], &["--shard", "1/2"]].concat()));
    succeeds(&mut real.checker(&["merge", &first_path, &second_path, "--out", &all_path]));
    for file in ["grades.jsonl", "notes.txt", "reports/grades.csv"] {
        assert_eq!(read(&all.join(file)), read(&whole.join(file)), "{file}");
    }
}

#[test]
fn a_part_that_is_graded_again_takes_the_place_of_what_was_merged() {
    let real = real::real();
    let class = small_class(&real, "again");
    let out = empty("again-out");
    let path = out.to_str().expect("UTF-8").to_owned();
    let part = |shard| {
        succeeds(&mut grade(
            &real,
            &class,
            &out,
            &[&TWO, &["--shard", shard, "--resume"][..]].concat(),
        ));
    };
    ["0/2", "1/2"].into_iter().for_each(part);
    succeeds(&mut real.checker(&["merge", &path, "--out", &path]));
    let before = read(&out.join("grades.jsonl"));
    hand_in(&class, "bo", "two_streams", &solution(&real, "two_streams"));
    ["0/2", "1/2"].into_iter().for_each(part);
    succeeds(&mut real.checker(&["merge", &path, "--out", &path]));
    let after = read(&out.join("grades.jsonl"));
    assert_ne!(before, after);

    // The whole, graded in one go, is newer than any part.
    let replacements = class.with_extension("csv");
    write(&replacements, "student,exercise,points,by,reason\ncy,two_streams,50,X,appeal\n");
    let replace = ["--resume", "--replace", replacements.to_str().expect("UTF-8")];
    succeeds(&mut grade(&real, &class, &out, &[&TWO[..], &replace].concat()));
    succeeds(&mut real.checker(&["merge", &path, "--out", &path]));
    assert!(read(&out.join("grades.jsonl")).contains("appeal"));
}
