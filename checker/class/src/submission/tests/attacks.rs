//! Attacks on the file itself and on the folder that it lies in.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode};

use super::class::{Class, OWN};
use crate::submission::{self, *};

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
    let opened = submission::Class::open(class.folder.path(), &[]).unwrap();
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
    let opened = submission::folder::Folder::open(class.folder.path()).unwrap();
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
