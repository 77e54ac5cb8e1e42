//! Texts that are wrong, and what is said.

use std::fmt::Write as _;

use playground::language::compile;

/// Each is wrong in another way; most in one place.
const WRONG: [&str; 46] = [
    "kernal 2 ms",
    "cudaMemcpyAsync(x, h)",
    "stream_synchronize a",
    "sleep 2 ms",
    "fetch 4 MiB",
    "up",
    "up 4",
    "up 4 ms",
    "up 4 apples",
    "up to x",
    "up 0 MiB",
    "up 4000 GiB",
    "device x",
    "device x 4 MiB\ndevice x 8 MiB",
    "device x 4 MiB\nup 8 MiB to x",
    "device x 4 MiB\npinned h 4 MiB\nup x to h",
    "device x 4 MiB\npinned h 4 MiB\ndown h to x",
    "pinned h 4 MiB\nup h pageable",
    "device x 4 MiB\ncopy x",
    "kernel",
    "kernel 2",
    "kernel 2 MiB",
    "kernel 2 ms 0 blocks",
    "kernel 2 ms on x",
    "device input 4 MiB\nkernel 2 ms on imput",
    "kernel map 100 rounds",
    "pageable h 4 MiB\nkernel 2 ms reads h",
    "kernel 3 hours",
    "kernel 2 ms 64 blocks down 4 MiB",
    "in a kernel 2 ms\nrecord a",
    "wait e",
    "sync b",
    "in a: record done\nsync don",
    "repeat 4 {\n  up 4 MiB\n",
    "up 4 MiB\n}",
    "repeat up 4 MiB",
    "repeat 1.5 { sync }",
    "repeat n { sync }",
    "repeat 4 {\n  in s[i % 0]: up 4 MiB\n}",
    "repeat 20000 { kernel 2 us }",
    "stream hi priority 7",
    "stream hi priority first",
    "device x 4 MiB\nfree x\nkernel 2 ms on x",
    "device x 4 MiB\nhost reads x",
    "stop\nup 4 MiB",
    "up 4 MiB!\n  kernal 2 ms\nrepeat 3 {\n  down 4\n  wiat e\n}\nkernel 2 ms { }",
];

#[test]
fn each_wrong_text_is_answered_with_line_column_and_what_to_write() {
    let mut said = String::new();
    for text in WRONG {
        for line in text.lines() {
            _ = writeln!(said, "    {line}");
        }
        let mistakes = compile(text).expect_err(text);
        for mistake in mistakes {
            assert!(mistake.at.line >= 1 && mistake.at.column >= 1, "{text}: {mistake}");
            _ = writeln!(said, "{mistake}");
        }
        said.push('\n');
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_text_is_read_whatever_its_case_units_and_signs_are() {
    let plain = "in a: up 4 MiB pinned to x\nin a: kernel 2 ms 64 blocks on x\nsync";
    let program = compile(plain).expect("it is right").program.steps.len();
    for same in [
        "IN a: UP 4mib PINNED TO x\nIN a: Kernel 2MS 64 Blocks ON x\nSYNC",
        "a: upload 4096 KiB, pinned -> x; a: launch 2000 µs, 64 blocks on x; synchronise",
        "in a {\n  h2d 4_194_304 bytes pinned into x // comment\n  kernel 0.002 s 64 blocks on x # another\n}\nsync all",
    ] {
        let other = compile(same).unwrap_or_else(|mistakes| panic!("{same}: {mistakes:?}"));
        assert_eq!(other.program.steps.len(), program, "{same}");
        let calls = |text: &str| {
            let steps = compile(text).expect("it is right").program.steps;
            steps.into_iter().map(|step| step.call).collect::<Vec<_>>()
        };
        assert_eq!(calls(same), calls(plain), "{same}");
    }
}

#[test]
fn names_may_be_words_that_are_units_too() {
    let programs = [
        "device b 4 MiB\nin s: up 4 MiB pinned to b\nsync\n",
        "device b 4 MiB\npinned ms 4 MiB\nin s: up ms to b\nin s: down b to ms\nsync\n",
        "device b, c 4 MiB\nin s: copy from b to c\nin ms: kernel 2 ms reads b writes c\nsync ms\n",
        "pinned b 4 MiB\nin s: down 4 MiB to b\nsync s\nhost reads b\n",
        "event ms\nin b: record ms\nin s: wait ms\nsync ms\n",
        "repeat 4 as b {\n  in s[b]: up b + 1 MiB\n}\nsync\n",
    ];
    for text in programs {
        let compiled = compile(text);
        assert!(compiled.is_ok(), "{text}{:?}", compiled.err());
    }
}
