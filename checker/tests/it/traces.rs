//! `checker trace`, on traces that are made here.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;

use crate::kineto;
use crate::tree::{json, scratch, shown};

/// A file of its own in the scratch folder.
fn file(name: &str, text: &[u8]) -> PathBuf {
    let folder = scratch().join("traces");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("it can be written");
    path
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn periods(count: u64) -> Vec<u8> {
    let mut text = Vec::new();
    kineto::pipeline(count, &mut text).expect("memory takes all");
    text
}

fn checker(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_checker-author"));
    command.arg("trace").args(arguments).current_dir(scratch().join("traces"));
    command
}

fn run(arguments: &[&str]) -> String {
    shown(&checker(arguments).output().expect("it starts"), &scratch().join("traces"))
}

#[test]
fn a_trace_and_its_gzip_come_to_the_same_exact_numbers() {
    let text = periods(100);
    file("plain.json", &text);
    file("packed.json.gz", &gzip(&text));
    let known = kineto::known(100);
    for name in ["plain.json", "packed.json.gz"] {
        let (code, object) = json(&mut checker(&[name, "--json"]));
        assert_eq!(code, 0, "{object:#}");
        let device = &object["devices"][0];
        assert_eq!(device["span_ns"], known.span);
        assert_eq!(device["metrics"]["busy_ns"], known.busy);
        assert_eq!(device["metrics"]["kernel_device_to_host_ns"], known.kernel_to_host);
        let both = (known.kernel_to_device + known.kernel_to_host) as f64;
        assert_eq!(device["overlap_share_of_busy"], both / known.busy as f64);
        assert_eq!((&object["source"], &object["driver"]), (&"kineto".into(), &13000.into()));
    }
}

#[test]
fn a_trace_is_drawn_and_told_in_words() {
    file("told.json", &periods(3));
    let text = run(&["told.json", "--plain"]);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    for part in [
        "told.json · a trace of PyTorch's profiler · driver for CUDA 13.0",
        "device 0: Some GPU",
        "stream 20",
        "0.369 of busy time, as Holistic Trace Analysis counts it",
        "copies pageable memory",
        "a trace shows what ran and when, not which memory was used",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_window_counts_from_the_first_operation() {
    file("window.json", &periods(3));
    let (_, object) = json(&mut checker(&["window.json", "--window", "100us..150us", "--json"]));
    // From 110 µs to 160 µs of the trace: 40 µs of copying, kernels from 130.5 on.
    let metrics = &object["devices"][0]["metrics"];
    assert_eq!(metrics["makespan_ns"], 50_000);
    assert_eq!(metrics["host_to_device"]["busy_ns"], 40_000);
    assert_eq!(metrics["kernel"]["busy_ns"], 29_500);
    let text = run(&["window.json", "--window", "10s..11s"]);
    assert!(text.starts_with("exit code: 2\n") && text.contains("nothing of the trace"), "{text}");
}

#[test]
fn exports_are_written_and_read_back() {
    file("out.json", &periods(2));
    let text = run(&["out.json", "--perfetto", "again.json", "--svg", "drawn.svg", "--json"]);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    let (_, first) = json(&mut checker(&["out.json", "--json"]));
    let (_, again) = json(&mut checker(&["again.json", "--json"]));
    assert_eq!(first["devices"][0]["metrics"], again["devices"][0]["metrics"]);
    let svg = std::fs::read_to_string(scratch().join("traces/drawn.svg")).expect("it was written");
    assert!(svg.starts_with("<svg ") && svg.contains("stream 20"));
}

#[test]
fn a_run_of_ours_is_read_too_with_its_hazards() {
    let record = include_str!("../../trace/schema/README.md");
    let (_, rest) = record.split_once("```json\n").expect("an example");
    let (record, _) = rest.split_once("```").expect("its end");
    file("record.json", record.as_bytes());
    let (code, object) = json(&mut checker(&["record.json", "--json"]));
    assert_eq!(code, 0, "{object:#}");
    assert_eq!(object["source"], "record");
    assert_eq!(object["devices"][0]["metrics"]["makespan_ns"], 120_000);
    assert!(object["devices"][0]["hazards"].is_array(), "{object:#}");
    file("damaged.json", record.replace("\"program\"", "\"program\" \"\"").as_bytes());
    let text = run(&["damaged.json"]);
    assert!(text.starts_with("exit code: 4\n") && text.contains("damaged.json:"), "{text}");
}

#[test]
fn what_cannot_be_read_is_told_with_file_and_line() {
    file("nameless.json", b"{\n    {\n      \"id\": 6\n    }\n  ],\n  \"traceEvents\": []\n}");
    assert_snapshot!(run(&["nameless.json"]), @"
    exit code: 4
    ----- stderr -----
    error: nameless.json:2:5: expected the name of a field, or `}`, found `{`

    hint: profilers of 2023 lose the line `\"deviceProperties\": [`; put it in before this one
    ");
    let whole = periods(2);
    file("cut.json", &whole[..whole.len() - 10]);
    assert!(run(&["cut.json"]).contains("truncated: the file ends where"));
    let packed = gzip(&whole);
    file("cut.json.gz", &packed[..packed.len() - 20]);
    assert!(run(&["cut.json.gz"]).contains("truncated"), "{}", run(&["cut.json.gz"]));
    let mut flipped = packed.clone();
    flipped[packed.len() / 2] ^= 0x55;
    file("flipped.json.gz", &flipped);
    assert!(run(&["flipped.json.gz"]).starts_with("exit code: 4\n"));
    file(
        "cpu.json",
        b"{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1}]}",
    );
    assert!(run(&["cpu.json"]).contains("ProfilerActivity.CUDA"));
    file("empty.json", b"");
    assert!(run(&["empty.json"]).contains("truncated"));
    assert!(run(&["absent.json"]).starts_with("exit code: 2\n"));
}

#[test]
fn a_gzip_that_unpacks_beyond_the_limit_is_refused_until_it_is_raised() {
    let mut text = b"[".to_vec();
    text.extend(b" ".repeat(8 << 20));
    text.extend(b"{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1}]");
    file("bomb.json.gz", &gzip(&text));
    let refused = run(&["bomb.json.gz", "--limit", "1MiB"]);
    assert!(
        refused.contains("longer than 1048576 bytes") && refused.contains("--limit"),
        "{refused}"
    );
    assert!(run(&["bomb.json.gz"]).starts_with("exit code: 0\n"));
}

/// `checker trace book/pytorch/traces/three_lanes.json.gz --plain > book/figures/three_lanes.trace.txt`
#[test]
fn the_page_on_traces_shows_what_is_printed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_checker-author"));
    command.args(["trace", "book/pytorch/traces/three_lanes.json.gz", "--plain"]);
    let output = command.current_dir(&root).output().expect("it starts");
    let shown = std::fs::read_to_string(root.join("book/figures/three_lanes.trace.txt"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown.expect("the page's text"));
}
