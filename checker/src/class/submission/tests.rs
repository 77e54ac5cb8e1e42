use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use super::*;

/// A class's folder that a test fills.
struct Class {
    folder: TempDir,
}

impl Class {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Where `path` is, with the folders above it made.
    fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        let path = self.folder.path().join(path.as_ref());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn file(&self, path: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.at(path), bytes).unwrap();
        self
    }

    fn students(&self) -> Vec<Student> {
        find(self.folder.path(), &wanted()).unwrap()
    }

    /// What becomes of the only student's `three_lanes`.
    fn outcome(&self) -> String {
        let students = self.students();
        assert_eq!(students.len(), 1, "{students:?}");
        outcome(&students[0].handed[1])
    }
}

fn wanted() -> Vec<Wanted> {
    [("two_streams", "02_two_streams"), ("three_lanes", "04_three_lanes")]
        .map(|(name, folder)| Wanted {
            name: name.to_owned(),
            folder: folder.to_owned(),
            shipped: Some(b"// shipped\n".to_vec()),
        })
        .into()
}

fn outcome(handed: &Handed) -> String {
    match handed {
        Handed::File(file) => {
            assert_eq!(file.submitted.sha256, sha256(file.text.as_bytes()));
            let flags: String = file.flags.iter().map(|flag| format!("\n  flag: {flag}")).collect();
            format!("{} {:?} {:?}{flags}", file.submitted.path, file.state, file.text.trim_end())
        }
        Handed::Missing { hint } => format!("missing, hint: {}", hint.as_deref().unwrap_or("none")),
        Handed::Invalid { reason } => format!("invalid: {reason}"),
    }
}

/// One entry of a zip, as somebody wants it to look.
#[derive(Clone)]
struct Entry<'a> {
    name: &'a [u8],
    data: &'a [u8],
    mode: u32,
    flags: u16,
    /// What it says that it becomes, where that is not the truth.
    says: Option<u32>,
}

fn entry<'a>(name: &'a str, data: &'a [u8]) -> Entry<'a> {
    Entry { name: name.as_bytes(), data, mode: 0o100_644, flags: 0, says: None }
}

/// A zip of `entries`, written by hand, because no tool writes what an attacker does.
fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(entry.data).unwrap();
        let packed = encoder.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(entry.data);
        let mut both = Vec::new();
        for number in [20, entry.flags, 8, 0, 0] {
            both.extend(number.to_le_bytes());
        }
        for number in
            [crc.sum(), packed.len() as u32, entry.says.unwrap_or(entry.data.len() as u32)]
        {
            both.extend(number.to_le_bytes());
        }
        both.extend((entry.name.len() as u16).to_le_bytes());
        both.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&both);
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend((zip.len() as u32).to_le_bytes());
        directory.extend(entry.name);
        zip.extend(b"PK\x03\x04");
        zip.extend(&both);
        zip.extend(entry.name);
        zip.extend(packed);
    }
    let at = zip.len() as u32;
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend([(entries.len() as u16).to_le_bytes(); 2].concat());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(at.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// A tar of `entries`: name, kind, data.
fn tar(entries: &[(&[u8], tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for &(name, kind, data) in entries {
        let mut header = tar::Header::new_gnu();
        // Past the library's own check of paths.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        if matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, data).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const OWN: &[u8] = b"// own\n";

#[test]
fn a_file_is_found_wherever_somebody_sensible_puts_it() {
    let places = [
        "exercises/04_three_lanes/src/lib.rs",
        "04_three_lanes/src/lib.rs",
        "04_three_lanes/lib.rs",
        "04_three_lanes.rs",
        "three_lanes.rs",
        "three_lanes/lib.rs",
        "three_lanes/src/lib.rs",
    ];
    for place in places {
        for wrapping in ["", "streams-main/"] {
            let path = format!("{wrapping}{place}");
            let class = Class::new();
            class.file(format!("ada/{path}"), OWN);
            assert_eq!(class.outcome(), format!("{path} Changed \"// own\""));
            let packed = zip(&[entry(&path, OWN)]);
            let class = Class::new();
            class.file("ada/all.zip", packed);
            assert_eq!(class.outcome(), format!("all.zip/{path} Changed \"// own\""));
            let packed = tar(&[(path.as_bytes(), tar::EntryType::Regular, OWN)]);
            let class = Class::new();
            class.file("ada/all.tar.gz", gzip(&packed));
            assert_eq!(class.outcome(), format!("all.tar.gz/{path} Changed \"// own\""));
            let class = Class::new();
            class.file("ada/ALL.TAR", packed);
            assert_eq!(class.outcome(), format!("ALL.TAR/{path} Changed \"// own\""));
        }
    }
}

#[test]
fn where_one_exercise_is_graded_its_file_needs_no_name() {
    let one = &wanted()[1..];
    for (path, found) in [
        ("ada/lib.rs", true),
        ("ada/src/lib.rs", true),
        ("ada/mine/lib.rs", true),
        ("ada/mine/src/lib.rs", true),
        // Another exercise's.
        ("ada/02_two_streams/src/lib.rs", false),
        ("ada/solutions/lib.rs", false),
        ("ada/a/b/src/lib.rs", false),
    ] {
        let class = Class::new();
        class.file(path, OWN);
        let students = find(class.folder.path(), one).unwrap();
        assert_eq!(matches!(students[0].handed[0], Handed::File(_)), found, "{path}");
        let students = find(class.folder.path(), &wanted()).unwrap();
        assert!(matches!(students[0].handed[1], Handed::Missing { .. }), "{path}");
    }
}

#[test]
fn a_whole_repository_has_one_file_for_each_exercise() {
    let class = Class::new();
    for path in [
        "exercises/02_two_streams/src/lib.rs",
        "exercises/04_three_lanes/src/lib.rs",
        "exercises/04_three_lanes/.shipped/lib.rs",
        "exercises/04_three_lanes/.kept/1.rs",
        "exercises/04_three_lanes/examples/three_lanes.rs",
        "exercises/lab/src/lib.rs",
        "solutions/04_three_lanes/src/lib.rs",
        "checker/src/lib.rs",
        "target/04_three_lanes/src/lib.rs",
    ] {
        class.file(format!("ada/streams-main/{path}"), path);
        class.file(format!("bob/{path}"), path);
    }
    for student in class.students() {
        for (handed, folder) in student.handed.iter().zip(["02_two_streams", "04_three_lanes"]) {
            let Handed::File(file) = handed else { panic!("{handed:?}") };
            assert_eq!(file.text, format!("exercises/{folder}/src/lib.rs"));
        }
    }
}

#[test]
fn the_file_as_it_was_handed_out_is_known() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", "// shipped\n");
    assert_eq!(class.outcome(), "three_lanes.rs Untouched \"// shipped\"");
    let mut unknown = wanted();
    unknown[1].shipped = None;
    let students = find(class.folder.path(), &unknown).unwrap();
    assert_eq!(outcome(&students[0].handed[1]), "three_lanes.rs Unknown \"// shipped\"");
}

#[test]
fn of_two_files_for_one_exercise_neither_is_taken_unless_they_are_equal() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN).file("ada/copy/three_lanes.rs", "// other\n");
    insta::assert_snapshot!(class.outcome(), @r"
    invalid: `copy/three_lanes.rs` and `three_lanes.rs` could both be meant, and they differ

    hint: hand in one of them
    ");
    class.file("ada/copy/three_lanes.rs", OWN);
    insta::assert_snapshot!(class.outcome(), @r#"
    copy/three_lanes.rs Changed "// own"
      flag: handed in more than once, byte for byte; `copy/three_lanes.rs` is taken
    "#);
    class.file("ada/all.zip", zip(&[entry("three_lanes.rs", b"// third\n")]));
    assert!(
        class.outcome().starts_with("invalid: `copy/three_lanes.rs` and `all.zip/three_lanes.rs`")
    );
}

#[test]
fn who_has_nothing_is_told_what_was_found() {
    let mut said = String::new();
    for paths in [
        &["a/b/04_three_lanes/src/lib.rs"][..],
        &["Three-Lanes.rs"],
        &["three_lanes (1).rs"],
        &["three_lanes.rar"],
        &["main.rs", "other.rs"],
        &["report.pdf"],
        &["all.zip"],
        &["05_events/src/lib.rs"],
    ] {
        let class = Class::new();
        for path in paths {
            let bytes =
                if *path == "all.zip" { zip(&[entry("inner.zip", b"")]) } else { OWN.to_vec() };
            class.file(format!("ada/{path}"), bytes);
        }
        said += &format!("{paths:?}\n  {}\n", class.outcome());
    }
    let class = Class::new();
    std::fs::create_dir(class.at("ada")).unwrap();
    said += &format!("nothing\n  {}\n", class.outcome());
    insta::assert_snapshot!(said);
}

#[test]
fn what_else_was_handed_in_is_ignored_and_named() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN);
    for name in [
        "Cargo.toml",
        "build.rs",
        ".cargo/config.toml",
        "rust-toolchain.toml",
        "tests/t.rs",
        "target/x/y",
        ".git/config",
    ] {
        class.file(format!("ada/{name}"), "");
    }
    let Handed::File(file) = &class.students()[0].handed[1] else { panic!() };
    insta::assert_snapshot!(file.submitted.ignored.join("\n"), @r"
    .cargo/config.toml
    .git/
    Cargo.toml
    build.rs
    rust-toolchain.toml
    target/
    tests/t.rs
    ");
    for number in 0..100 {
        class.file(format!("ada/{number:03}.txt"), "");
    }
    let Handed::File(file) = &class.students()[0].handed[1] else { panic!() };
    assert_eq!(file.submitted.ignored.len(), 9);
    assert_eq!(file.submitted.ignored[8], "and 99 more");
}

#[test]
fn moodle_s_folders_and_files_belong_to_the_participant() {
    let class = Class::new();
    class.file("Ada Lovelace_123_assignsubmission_file_/three_lanes.rs", OWN);
    class.file("Ada Lovelace_123_assignsubmission_onlinetext_/onlinetext.html", "");
    class.file("Bob_B_9_assignsubmission_file_three_lanes.rs", OWN);
    let students = class.students();
    let ids: Vec<_> =
        students.iter().map(|s| (s.id.as_str(), s.name.as_str(), outcome(&s.handed[1]))).collect();
    let found = "three_lanes.rs Changed \"// own\"".to_owned();
    assert_eq!(ids[..2], [("123", "Ada Lovelace", found.clone()), ("9", "Bob_B", found)]);
}

#[test]
fn canvas_s_flat_files_belong_to_the_user() {
    let class = Class::new();
    class.file("lovelaceada_123_456_three_lanes-2.rs", OWN);
    class.file("lovelaceada_123_457_two_streams.rs", OWN);
    class.file("hoppergrace_LATE_77_458_all.zip", zip(&[entry("three_lanes.rs", OWN)]));
    class.file("notes.txt", "");
    class.file(".DS_Store", "");
    let opened = super::Class::open(class.folder.path()).unwrap();
    assert_eq!(opened.notes, ["`notes.txt` belongs to nobody"]);
    let students = class.students();
    assert_eq!(students.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["123", "77"]);
    assert_eq!(outcome(&students[0].handed[0]), "two_streams.rs Changed \"// own\"");
    assert_eq!(outcome(&students[0].handed[1]), "three_lanes.rs Changed \"// own\"");
    assert_eq!(outcome(&students[1].handed[1]), "all.zip/three_lanes.rs Changed \"// own\"");
    assert_eq!(students[1].notes, ["Canvas marks it as late"]);
    // A second attempt under the same name: nobody knows which one counts.
    class.file("lovelaceada_123_999_three_lanes.rs", OWN);
    assert_eq!(
        outcome(&class.students()[0].handed[1]),
        "invalid: `three_lanes.rs` was handed in more than once"
    );
}

const METADATA: &str = "\
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0123'
    :email: ada@example.org
  :created_at: 2026-04-26 17:34:00.861687000 Z
submission_2:
  :submitters:
  - :name: Grace Hopper
    :email: grace@example.org
  - :name: Edith Clarke
    :sid: '7'
  :created_at: 2026-04-27 17:34:00.000000000 Z
";

#[test]
fn gradescope_s_export_says_who_and_when_as_a_folder_and_as_a_zip() {
    let class = Class::new();
    class.file("submission_metadata.yml", METADATA);
    class.file("submission_1/three_lanes.rs", OWN);
    class.file("submission_2/three_lanes.rs", "// ours\n");
    let students = class.students();
    let said = |students: &[Student]| {
        let lines = students.iter().map(|s| {
            format!(
                "{} | {} | {} | {} | {:?}",
                s.id,
                s.name,
                s.at.unwrap(),
                outcome(&s.handed[1]),
                s.notes
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(said(&students), @r#"
    0123 | Ada Lovelace | 2026-04-26T17:34:00.861687Z | three_lanes.rs Changed "// own" | []
    7 | Edith Clarke | 2026-04-27T17:34:00Z | three_lanes.rs Changed "// ours" | ["handed in by a group, `submission_2`"]
    grace@example.org | Grace Hopper | 2026-04-27T17:34:00Z | three_lanes.rs Changed "// ours" | ["handed in by a group, `submission_2`"]
    "#);
    let export = zip(&[
        entry("assignment_5_export/submission_metadata.yml", METADATA.as_bytes()),
        entry("assignment_5_export/submission_1/three_lanes.rs", OWN),
        entry("assignment_5_export/submission_2/three_lanes.rs", b"// ours\n"),
        entry("__MACOSX/._x", b""),
    ]);
    let packed = Class::new();
    packed.file("export.zip", export);
    assert_eq!(find(&packed.at("export.zip"), &wanted()).unwrap(), students);
    class.file("submission_metadata.yml", "submission_1: [");
    assert!(
        find(class.folder.path(), &wanted()).is_err(),
        "a guess at whose it is is worse than none"
    );
}

#[test]
fn the_zip_of_a_class_is_the_folder_of_a_class() {
    let class = Class::new();
    let inner = zip(&[entry("04_three_lanes/src/lib.rs", OWN)]);
    let files: [(&str, &[u8]); 4] = [
        ("ada/three_lanes.rs", OWN),
        ("bob/all.zip", &inner),
        ("cyd/exercises/02_two_streams/src/lib.rs", b"\xff"),
        ("dan/notes.txt", b""),
    ];
    for (path, bytes) in files {
        class.file(path, bytes);
    }
    let packed = Class::new();
    packed.file("class.zip", zip(&files.map(|(path, bytes)| entry(path, bytes))));
    assert_eq!(find(&packed.at("class.zip"), &wanted()).unwrap(), class.students());
}

#[test]
fn one_hostile_name_in_the_zip_of_a_class_stops_nobody_else() {
    let packed = Class::new();
    let export = zip(&[
        entry("../x/three_lanes.rs", OWN),
        entry("/etc/passwd", OWN),
        Entry { mode: 0o120_777, ..entry("bob/three_lanes.rs", b"/etc/passwd") },
        entry("cyd/three_lanes.rs", OWN),
        entry("cyd/three_lanes.rs", b"// other\n"),
        Entry { flags: 1, ..entry("dan/three_lanes.rs", OWN) },
        entry("eve/three_lanes.rs", OWN),
    ]);
    packed.file("class.zip", export);
    let class = super::Class::open(&packed.at("class.zip")).unwrap();
    let students = (0..class.len()).map(|index| class.read(index, &wanted()));
    let students =
        students.map(|student| format!("{}: {}\n", student.id, outcome(&student.handed[1])));
    let said: String =
        students.chain(class.notes.iter().map(|note| format!("note: {note}\n"))).collect();
    insta::assert_snapshot!(said, @r#"
    bob: invalid: `three_lanes.rs` is a link
    cyd: invalid: `three_lanes.rs` is there twice
    dan: invalid: `three_lanes.rs` is encrypted
    eve: three_lanes.rs Changed "// own"
    note: its entry `../x/three_lanes.rs` leads out of the archive
    note: its entry `/etc/passwd` has an absolute path
    note: its entry `bob/three_lanes.rs` is a link
    note: its entry `cyd/three_lanes.rs` is there twice
    note: its entry `dan/three_lanes.rs` is encrypted
    "#);
}

/// Each attack on the file itself, and what becomes of it. Nothing is read of what is outside.
#[test]
fn nothing_but_a_plain_file_of_the_student_s_own_is_read() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.rs");
    std::fs::write(&secret, "// secret\n").unwrap();
    std::fs::write(outside.path().join("three_lanes.rs"), "// secret\n").unwrap();
    let mut said = String::new();
    let mut attack = |name: &str, make: &dyn Fn(PathBuf)| {
        let class = Class::new();
        make(class.at("ada/three_lanes.rs"));
        let outcome = class.outcome();
        assert!(!outcome.contains("// secret"), "{name}: {outcome}");
        said += &format!("{name}\n  {outcome}\n");
    };
    attack("F01 link to a secret", &|at| symlink(&secret, at).unwrap());
    attack("F01 link to nothing", &|at| symlink("nowhere", at).unwrap());
    attack("F01 magic link", &|at| symlink("/proc/self/exe", at).unwrap());
    attack("F01 folder that is a link", &|at| {
        symlink(outside.path(), at.with_file_name("04_three_lanes")).unwrap();
    });
    attack("F01 link of one's own", &|at| {
        std::fs::write(at.with_file_name("own"), OWN).unwrap();
        symlink("own", at).unwrap();
    });
    attack("F01 loop", &|at| symlink("three_lanes.rs", at).unwrap());
    attack("F02 hard link", &|at| std::fs::hard_link(&secret, at).unwrap());
    attack("F03 pipe", &|at| make_node(&at, FileType::Fifo).unwrap());
    attack("F04 socket", &|at| drop(std::os::unix::net::UnixListener::bind(at).unwrap()));
    attack("F04 folder", &|at| std::fs::create_dir(at).unwrap());
    attack("F05 ten gigabytes", &|at| {
        std::fs::File::create(at).unwrap().set_len(10 << 30).unwrap();
    });
    attack("F05 one byte too many", &|at| std::fs::write(at, vec![b' '; 1024 * 1024 + 1]).unwrap());
    attack("F06 not UTF-8", &|at| std::fs::write(at, b"fn f() {\xff}").unwrap());
    attack("F06 UTF-16", &|at| std::fs::write(at, b"\xff\xfef\0n\0").unwrap());
    attack("F06 NUL", &|at| std::fs::write(at, b"fn f() {}\0").unwrap());
    attack("F07 mark, returns, shebang", &|at| {
        std::fs::write(at, "\u{feff}#!/bin/sh\r\nfn f() {}").unwrap();
    });
    attack("F08 unreadable", &|at| {
        std::fs::write(&at, OWN).unwrap();
        std::fs::set_permissions(&at, PermissionsExt::from_mode(0o000)).unwrap();
    });
    attack("F08 folder not searchable", &|at| {
        let folder = at.with_file_name("04_three_lanes");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("lib.rs"), OWN).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o600)).unwrap();
    });
    attack("C42 text that turns", &|at| std::fs::write(at, "// \u{202e}x").unwrap());
    insta::assert_snapshot!(said);
}

fn make_node(at: &Path, kind: FileType) -> rustix::io::Result<()> {
    let null = rustix::fs::makedev(1, 3);
    rustix::fs::mknodat(CWD, at, kind, Mode::from_raw_mode(0o666), null)
}

#[test]
fn a_device_is_not_opened() {
    let class = Class::new();
    if make_node(&class.at("ada/three_lanes.rs"), FileType::CharacterDevice).is_err() {
        _ = writeln!(std::io::stderr(), "not run: needs the right to make devices");
        return;
    }
    assert_eq!(class.outcome(), "invalid: `three_lanes.rs` is a device, not a file");
}

#[test]
fn a_student_who_is_a_link_is_reported_and_not_followed() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN);
    symlink("ada", class.at("bob")).unwrap();
    symlink("..", class.at("loop")).unwrap();
    symlink("..", class.at("ada/up")).unwrap();
    let opened = super::Class::open(class.folder.path()).unwrap();
    assert_eq!(opened.ids().collect::<Vec<_>>(), ["ada"]);
    let link = "is a symbolic link, and none is followed";
    assert_eq!(opened.notes, [format!("`bob` {link}"), format!("`loop` {link}")]);
    assert_eq!(class.outcome(), "three_lanes.rs Changed \"// own\"");
}

#[test]
fn hostile_names_are_graded_and_shown_harmlessly() {
    let class = Class::new();
    let names: [&[u8]; 11] = [
        b"-rf",
        b"=1+1",
        b"<b>x",
        b"a\nb",
        b"\x1b[2J",
        b"\xff\xfe",
        b"Ada",
        b"ada",
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        b"a\\nb",
    ];
    for name in names {
        let path = [name, b"/three_lanes.rs"].concat();
        class.file(OsStr::from_bytes(&path), OWN);
    }
    let students = class.students();
    let mut ids: Vec<_> = students.iter().map(|s| s.id.clone()).collect();
    assert!(students.iter().all(|s| matches!(s.handed[1], Handed::File(_))));
    assert!(ids.is_sorted());
    ids.dedup();
    assert_eq!(ids.len(), names.len());
    assert!(ids.iter().all(|id| !id.contains(char::is_control)), "{ids:?}");
    let opened = super::Class::open(class.folder.path()).unwrap();
    assert_eq!(
        opened.notes,
        ["`Ada` and `ada` are different students whose ids differ in case only"]
    );
}

#[test]
fn two_of_a_name_are_told_apart() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", "// folder\n");
    class.file("ada.zip", zip(&[entry("three_lanes.rs", b"// zip\n")]));
    class.file("ada (ada)/three_lanes.rs", "// trick\n");
    let students = class.students();
    let said: Vec<_> =
        students.iter().map(|s| format!("{}: {}", s.id, outcome(&s.handed[1]))).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    ada (ada): three_lanes.rs Changed "// folder"
    ada (ada)': three_lanes.rs Changed "// trick"
    ada (ada.zip): ada.zip/three_lanes.rs Changed "// zip"
    "#);
}

#[test]
fn a_hundred_thousand_files_are_walked_and_a_million_would_not_be() {
    // Memory, where there is such a folder: on some disks this many files take a minute.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let class = Class { folder: folder.unwrap() };
    class.file("ada/three_lanes.rs", OWN);
    let folder = class.at("ada/many/x");
    for number in 0..100_000 {
        std::fs::File::create(folder.with_file_name(number.to_string())).unwrap();
    }
    assert_eq!(class.outcome(), "three_lanes.rs Changed \"// own\"");
    // What nobody wrote is not walked at all.
    std::fs::rename(class.at("ada/many"), class.at("ada/target")).unwrap();
    let opened = super::Class::open(class.folder.path()).unwrap();
    assert_eq!(opened.tree.items(b"ada", DEPTH).unwrap().len(), 2);
}

#[test]
fn a_file_that_changes_is_read_once_and_never_through_a_link() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "// secret\n").unwrap();
    let class = Class::new();
    let file = class.at("ada/three_lanes.rs");
    let (a, b) = (vec![b'a'; 64 * 1024], vec![b'b'; 64 * 1024]);
    std::fs::write(&file, &a).unwrap();
    let over = AtomicBool::new(false);
    let opened = super::folder::Folder::open(class.folder.path()).unwrap();
    let (mut files, mut refused, mut wrong) = (0, 0, None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (own, link) = (class.at("own"), class.at("link"));
            while !over.load(Ordering::Relaxed) {
                for bytes in [&a, &b] {
                    std::fs::write(&own, bytes).unwrap();
                    std::fs::rename(&own, &file).unwrap();
                    std::thread::yield_now();
                    symlink(outside.path(), &link).unwrap();
                    std::fs::rename(&link, &file).unwrap();
                }
            }
        });
        // Until both were met often, and no longer than that takes on a busy machine.
        for _ in 0..1_000_000 {
            match opened.read(b"ada/three_lanes.rs", text::LONGEST) {
                Ok(bytes) if bytes == a || bytes == b => files += 1,
                Ok(bytes) => wrong = Some(format!("{} bytes of something else", bytes.len())),
                Err(reason) if reason.contains("link") || reason.contains("replaced") => {
                    refused += 1
                }
                Err(reason) => wrong = Some(reason),
            }
            if (files >= 50 && refused >= 50) || wrong.is_some() {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, None);
    assert!(files >= 50 && refused >= 50, "{files} files, {refused} refused");
}

#[test]
fn everybody_on_the_roster_is_there() {
    let class = Class::new();
    class.file("bob/three_lanes.rs", OWN);
    let mut opened = super::Class::open(class.folder.path()).unwrap();
    opened.enrol([("cyd", Some("Cyd C.")), ("ada", None), ("bob", Some("Bob B."))]);
    let students: Vec<_> = (0..opened.len()).map(|index| opened.read(index, &wanted())).collect();
    let said: Vec<_> = students
        .iter()
        .map(|s| format!("{} | {} | {}", s.id, s.name, outcome(&s.handed[1])))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    ada | ada | missing, hint: none
    bob | Bob B. | three_lanes.rs Changed "// own"
    cyd | Cyd C. | missing, hint: none
    "#);
}

/// Archives that somebody made by hand, each with the file that is looked for in it.
fn crafted() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let good = || entry("three_lanes.rs", OWN);
    let file = (&b"three_lanes.rs"[..], tar::EntryType::Regular, OWN);
    let zeros = vec![0; 64 * 1024 * 1024];
    let huge = {
        // The header says ten gigabytes, and as many follow, a thousandth in size.
        let mut header = tar::Header::new_gnu();
        header.set_path("three_lanes.rs").unwrap();
        header.set_size(10 << 30);
        header.set_cksum();
        let mut bytes = gzip(header.as_bytes());
        bytes.extend(gzip(&zeros).repeat(160));
        bytes
    };
    let locked = Entry { flags: 1, ..good() };
    let link = Entry { mode: 0o120_777, data: b"/etc/passwd", ..good() };
    let pipe = Entry { mode: 0o010_644, ..good() };
    let mut numbers = Numbers(1);
    let long: Vec<_> = (0..=1 << 20).map(|_| b'a' + numbers.below(26) as u8).collect();
    let mut short = zip(&[good(), entry("b", b"")]);
    let count = short.len() - 12;
    short[count] = 1;
    let mut wrong = zip(&[entry("three_lanes.rs", b"// whole\n")]);
    wrong[50] ^= 0xff;
    vec![
        ("slip", "x.zip", zip(&[good(), entry("../../x", b"")])),
        ("slip within", "x.zip", zip(&[entry("a/../three_lanes.rs", OWN)])),
        ("slip of Windows", "x.zip", zip(&[good(), entry("..\\x", b"")])),
        ("absolute", "x.zip", zip(&[good(), entry("/etc/x", b"")])),
        ("drive", "x.zip", zip(&[good(), entry("C:\\x", b"")])),
        ("NUL in a name", "x.zip", zip(&[good(), entry("a\0b", b"")])),
        ("link", "x.zip", zip(&[link])),
        ("pipe", "x.zip", zip(&[pipe])),
        ("twice", "x.zip", zip(&[good(), good()])),
        ("twice in two ways", "x.zip", zip(&[good(), entry("./three_lanes.rs", b"// b\n")])),
        ("locked", "x.zip", zip(&[locked])),
        ("bomb", "x.zip", zip(&[Entry { data: &zeros, ..good() }])),
        ("bomb that lies", "x.zip", zip(&[Entry { data: &zeros, says: Some(1000), ..good() }])),
        ("file too long", "x.zip", zip(&[Entry { data: &long, ..good() }])),
        ("42", "x.zip", zip(&[entry("lib 0.zip", b"PK")])),
        ("says fewer", "x.zip", short),
        ("damaged", "x.zip", wrong),
        ("empty", "x.zip", Vec::new()),
        ("no zip", "x.zip", b"PK\x03\x04 not really".to_vec()),
        ("no gzip", "x.tar.gz", b"no gzip".to_vec()),
        ("slip", "x.tar.gz", gzip(&tar(&[file, (b"../../x", tar::EntryType::Regular, b"")]))),
        ("absolute", "x.tar.gz", gzip(&tar(&[file, (b"/etc/x", tar::EntryType::Regular, b"")]))),
        ("link", "x.tar.gz", gzip(&tar(&[(b"three_lanes.rs", tar::EntryType::Symlink, b"")]))),
        ("hard link", "x.tar.gz", gzip(&tar(&[(b"three_lanes.rs", tar::EntryType::Link, b"")]))),
        ("device", "x.tar.gz", gzip(&tar(&[(b"three_lanes.rs", tar::EntryType::Char, b"")]))),
        ("sparse", "x.tar.gz", gzip(&tar(&[(b"three_lanes.rs", tar::EntryType::GNUSparse, b"")]))),
        ("twice", "x.tar.gz", gzip(&tar(&[file, file]))),
        ("bomb", "x.tar.gz", huge),
        ("cut off", "x.tar.gz", gzip(&tar(&[file]))[..40].to_vec()),
        (
            "commit of git",
            "x.tar.gz",
            gzip(&tar(&[(b"pax_global_header", tar::EntryType::XGlobalHeader, b"9 a=b\n"), file])),
        ),
        ("many", "x.tar.gz", gzip(&many())),
    ]
}

/// More entries than anybody has.
fn many() -> Vec<u8> {
    let names: Vec<_> = (0..20_001).map(|number| number.to_string()).collect();
    let entries: Vec<_> =
        names.iter().map(|name| (name.as_bytes(), tar::EntryType::Regular, &b""[..])).collect();
    tar(&entries)
}

#[test]
fn an_archive_that_somebody_made_by_hand_is_not_opened() {
    let mut said = String::new();
    for (attack, name, bytes) in crafted() {
        let class = Class::new();
        class.file(format!("ada/{name}"), bytes);
        said += &format!("{name}: {attack}\n  {}\n", class.outcome());
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_broken_archive_beside_the_file_is_no_reason_against_the_file() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN).file("ada/x.zip", "nothing");
    let students = class.students();
    assert_eq!(outcome(&students[0].handed[1]), "three_lanes.rs Changed \"// own\"");
    assert_eq!(students[0].notes.len(), 1);
    assert!(
        students[0].notes[0].starts_with("`x.zip` is damaged or no zip"),
        "{:?}",
        students[0].notes
    );
}

/// Numbers that are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Archives that are right but for a few bytes: every answer is one of ours, and none is longer than
/// what was asked for.
#[test]
fn no_bytes_make_the_reader_of_archives_panic() {
    let zip = zip(&[entry("a/three_lanes.rs", OWN), entry("b", &[7; 300]), entry("c/", b"")]);
    let tar = tar(&[
        (b"three_lanes.rs", tar::EntryType::Regular, OWN),
        (b"././@LongLink", tar::EntryType::GNULongName, b"a/long/name\0"),
        (b"b", tar::EntryType::Regular, &[7; 700]),
        (b"pax", tar::EntryType::XHeader, b"12 path=a/b\n"),
        (b"c", tar::EntryType::Regular, OWN),
    ]);
    let gzip = gzip(&tar);
    let mut numbers = Numbers(0x5eed);
    let (mut opened, mut refused) = (0, 0);
    for round in 0..9_000 {
        let (format, sound) = match round % 3 {
            0 => (archive::Format::Zip, &zip),
            1 => (archive::Format::Tar, &tar),
            _ => (archive::Format::TarGz, &gzip),
        };
        let mut bytes = sound.clone();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(bytes.len());
            match numbers.below(5) {
                0 => bytes[at] = numbers.below(256) as u8,
                1 => bytes[at] ^= 1 << numbers.below(8),
                2 => bytes.truncate(at + 1),
                3 => bytes[at] = [0, 0xff][numbers.below(2)],
                _ => {
                    let piece = bytes[at..(at + 1 + numbers.below(40)).min(bytes.len())].to_vec();
                    let to = numbers.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        match archive::open(bytes, format) {
            Ok(tree) => {
                opened += 1;
                for item in tree.items(b"", DEPTH).unwrap() {
                    if let Ok(bytes) = tree.read(&item.path, 256) {
                        assert!(bytes.len() <= 256);
                    }
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(opened > 500 && refused > 500, "{opened} opened, {refused} refused");
}

/// The same attacks in a process that has little memory: the address space of a bomb would not fit.
#[test]
fn no_archive_needs_much_memory() {
    const KIB: u32 = 768 * 1024;
    let test = "class::submission::tests::an_archive_that_somebody_made_by_hand_is_not_opened";
    let line = format!("ulimit -v {KIB}; exec \"$0\" --exact {test} --test-threads=1");
    let program = std::env::current_exe().unwrap();
    let output =
        std::process::Command::new("sh").arg("-c").arg(line).arg(program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
