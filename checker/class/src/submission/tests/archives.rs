//! Archives that somebody made by hand.

use super::class::{Class, OWN, outcome};
use super::pack::{Entry, entry, gzip, tar, zip};
use crate::submission::*;

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
    let test = "submission::tests::archives::an_archive_that_somebody_made_by_hand_is_not_opened";
    let line = format!("ulimit -v {KIB}; exec \"$0\" --exact {test} --test-threads=1");
    let program = std::env::current_exe().unwrap();
    let output =
        std::process::Command::new("sh").arg("-c").arg(line).arg(program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
