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
        "0.369 of busy time, a kernel beside a copy or a memset",
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
    let files = ["--perfetto", "again.json", "--svg", "drawn.svg", "--html", "page.html"];
    let text = run(&[&["out.json", "--json"], &files[..]].concat());
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    let (_, first) = json(&mut checker(&["out.json", "--json"]));
    let (_, again) = json(&mut checker(&["again.json", "--json"]));
    assert_eq!(first["devices"][0]["metrics"], again["devices"][0]["metrics"]);
    let svg = std::fs::read_to_string(scratch().join("traces/drawn.svg")).expect("it was written");
    assert!(svg.starts_with("<svg ") && svg.contains("stream 20"));
    let page = std::fs::read_to_string(scratch().join("traces/page.html")).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.contains("stream 20</text>"));
    assert!(page.contains("<th scope=\"row\">busy</th>") && !page.contains("src="));
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

/// A row of a trace, of a microsecond each: category, name, process, thread, start, length, and what else there is.
fn row(category: &str, name: &str, ids: [&str; 2], time: [u64; 2], arguments: &str) -> String {
    let ([process, thread], [start, length]) = (ids, time);
    format!(
        r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{process},"tid":{thread},"ts":{start},"dur":{length},"args":{{{arguments}}}}}"#
    )
}

/// A call and the kernel that it launches.
fn launched(number: u64, kernel: &str, start: u64) -> [String; 2] {
    let call = row(
        "cuda_runtime",
        "cudaLaunchKernel",
        ["10", "10"],
        [start, 5],
        &format!(r#""correlation":{number}"#),
    );
    let device = format!(r#""device":0,"stream":7,"correlation":{number}"#);
    [call, row("kernel", kernel, ["0", "7"], [start + 10, 50], &device)]
}

/// What is printed of rows, without the drawing.
fn told(name: &str, rows: &[String]) -> String {
    told_of(name, format!("{{\"traceEvents\":[{}]}}", rows.join(",")).as_bytes())
}

fn told_of(name: &str, text: &[u8]) -> String {
    file(name, text);
    let text = run(&[name, "--plain"]);
    match text.find("\nspan ") {
        Some(at) => {
            text[at..].split("\n\nnote: a trace shows").next().unwrap_or_default().to_owned()
        }
        None => text,
    }
}

#[test]
fn calls_of_amd_s_runtime_wait_and_hold_as_cuda_s_do() {
    let told = |prefix: &str| {
        let call = |name: &str, time, number| {
            row(
                "cuda_runtime",
                &format!("{prefix}{name}"),
                ["10", "10"],
                time,
                &format!(r#""correlation":{number}"#),
            )
        };
        let device =
            |number| format!(r#""device":0,"stream":0,"correlation":{number},"bytes":4096"#);
        let rows = [
            call("Memcpy", [0, 100], 1),
            row("gpu_memcpy", "Memcpy HtoD (Host -> Device)", ["0", "0"], [10, 85], &device(1)),
            call("LaunchKernel", [105, 5], 2),
            row("kernel", "k", ["0", "0"], [115, 500], &device(2)),
            call("DeviceSynchronize", [112, 505], 3),
            call("Free", [560, 40], 4),
        ];
        told(&format!("{prefix}.json"), &rows).replace(prefix, "")
    };
    let amd = told("hip");
    assert_eq!(amd, told("cuda"));
    assert!(amd.contains("DeviceSynchronize: waits for the device, once"), "{amd}");
    assert!(amd.contains("in Free: frees memory, once"), "{amd}");
}

#[test]
fn a_kernel_that_starts_before_its_own_call_belongs_to_the_only_call_of_its_number() {
    let early =
        row("kernel", "b", ["0", "7"], [299, 50], r#""device":0,"stream":7,"correlation":2"#);
    let [call, _] = launched(2, "b", 300);
    let told = told("early.json", &[&launched(1, "a", 100)[..], &[call, early]].concat());
    assert!(told.contains("the next operation was not asked for yet"), "{told}");
    assert!(!told.contains("its call is not in the trace"), "{told}");
}

#[test]
fn rows_without_a_time_are_left_out_and_counted() {
    let day = 1_615_207_264_000_000;
    let kernel = |time| row("kernel", "b", ["0", "7"], time, r#""device":0,"stream":7"#);
    for (name, blank) in [("ts0.json", [0, 0]), ("ts0_long.json", [0, 40])] {
        let rows =
            [&launched(1, "a", day)[..], &launched(3, "c", day + 70), &[kernel(blank)]].concat();
        let told = told(name, &rows);
        assert!(told.contains("span                  120 µs"), "{told}");
        assert!(told.contains("rows without a time, left out: 1"), "{told}");
    }
    // A clock that begins at 0 has rows there.
    let told = told("from0.json", &[kernel([0, 40]), kernel([50, 40])]);
    assert!(told.contains("span                  90.0 µs") && !told.contains("left out"), "{told}");
}

#[test]
fn ranks_of_one_file_have_their_own_calls_and_names() {
    let rank = |rank: u64, start: u64| {
        let host = format!("\"[rank{rank}] 4{rank}\"");
        let device = format!("\"[rank{rank}] 0\"");
        let wait = [start + 7, 90 + 10 * rank];
        [
            row(
                "cuda_runtime",
                "cudaLaunchKernel",
                [&host, "10"],
                [start, 5],
                r#""correlation":1"#,
            ),
            row(
                "kernel",
                "a",
                [&device, "7"],
                [start + 10, 50],
                r#""device":0,"stream":7,"correlation":1"#,
            ),
            row("cuda_runtime", "cudaDeviceSynchronize", [&host, "10"], wait, r#""correlation":2"#),
        ]
    };
    file("ranks.json", format!("[{}]", [rank(0, 100), rank(1, 101)].concat().join(",")).as_bytes());
    let (code, object) = json(&mut checker(&["ranks.json", "--json"]));
    assert_eq!(code, 0, "{object:#}");
    for (place, device) in object["devices"].as_array().expect("devices").iter().enumerate() {
        assert_eq!(device["process"], format!("[rank{place}] 0"));
        // Its own wait, and not the other's.
        assert_eq!(device["held"].as_array().map(Vec::len), Some(1), "{device:#}");
        assert_eq!(device["held"][0]["ns"], 90_000 + 10_000 * place as u64);
    }
    assert_eq!(object["notes"], serde_json::json!([]));
}

#[test]
fn what_only_a_byte_keeps_from_being_json_is_read_with_a_note() {
    let [call, kernel] = launched(1, "NAME", 100);
    let whole = format!("{{\"traceEvents\":[{call},{kernel}]}}").into_bytes();
    let with = |name: &[u8]| {
        let at = whole.windows(4).position(|window| window == b"NAME").expect("it is there");
        [&whole[..at], name, &whole[at + 4..]].concat()
    };
    let note = |count: u64| {
        format!("characters in names that JSON does not allow, read as they are meant: {count}")
    };
    for (name, bytes, count) in [
        ("windows.json", &b"C:\\Users\\x\\kernels.cu"[..], 3),
        ("control.json", b"a\x01b\nc", 2),
        ("latin.json", b"caf\xe9 \xc3", 2),
        ("escape.json", b"\\u12zz", 1),
    ] {
        let told = told_of(name, &with(bytes));
        assert!(
            told.contains("kernels             50.0 µs") && told.contains(&note(count)),
            "{name}: {told}"
        );
    }
    let whole = whole.as_slice();
    let list = &whole[b"{\"traceEvents\":".len()..];
    let unclosed = "the list of rows has no end; the rows that are there count";
    for (name, text) in [
        ("list.json", &list[..list.len() - 2]),
        ("comma.json", &[&list[..list.len() - 2], b",\n"].concat()),
        ("object.json", &whole[..whole.len() - 2]),
        ("closed_list.json", &whole[..whole.len() - 1]),
    ] {
        let told = told_of(name, text);
        match name {
            "object.json" | "closed_list.json" => assert!(told.contains("truncated"), "{told}"),
            _ => assert!(
                told.contains("kernels             50.0 µs") && told.contains(unclosed),
                "{name}: {told}"
            ),
        }
    }
    let marked = told_of("marked.json", &[b"\xef\xbb\xbf", whole].concat());
    assert!(marked.contains("kernels             50.0 µs") && !marked.contains("note"), "{marked}");
    for rest in [&b"\0\0\0\0"[..], b"# padding"] {
        let told = told_of("padded.json.gz", &[&gzip(whole)[..], rest].concat());
        assert!(told.contains("kernels             50.0 µs"), "{told}");
    }
    let twice = [gzip(&whole[..20]), gzip(&whole[20..])].concat();
    assert!(told_of("members.json.gz", &twice).contains("kernels             50.0 µs"));
    // A name that ends too early, nobody can tell from its end.
    assert!(told_of("quotes.json", &with(b"f(\"x\")")).contains("with quotes in it"));
}

#[test]
fn communication_is_a_class_of_its_own_and_what_rests_on_nothing_is_not_told() {
    let kernel = |name: &str, stream: u64, time| {
        row("kernel", name, ["0", "7"], time, &format!(r#""device":0,"stream":{stream}"#))
    };
    let all = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    let told = told("nccl.json", &[kernel("gemm", 7, [100, 400]), kernel(all, 20, [200, 400])]);
    assert_snapshot!(told, @"

    span                  500 µs
    busy                  500 µs, 100 %
      kernels             400 µs, 80 %, 1 operation
      communication       400 µs, 80 %, 1 operation
      stream 7            400 µs, 80 %
      stream 20           400 µs, 80 %
    communication         400 µs
      hidden              300 µs, 75 % beside kernels, as Holistic Trace Analysis counts it
    idle                  0 ns, 0 %
    critical path         2 parts, one after the other
      kernels             400 µs, 80 %, once
      unknown             100 µs, 20 %, once
    read on
      peers               100 µs in which devices exchange data and no other kernel runs

    note: the trace has no calls of the host, so nothing can be said of what held it; record them with `ProfilerActivity.CPU`
    ");
}

#[test]
fn a_trace_of_jax_shows_its_streams_copies_and_device() {
    let text = r#"{"traceEvents":[
{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:1 NVIDIA H100"}},
{"ph":"M","pid":3,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},
{"ph":"M","pid":3,"tid":14,"name":"thread_name","args":{"name":"Stream #14(MemcpyD2H)"}},
{"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Modules"}},
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"X","pid":3,"tid":14,"ts":10.0,"dur":40.0,"name":"MemcpyD2H","args":{"correlation_id":"1","memcpy_details":"kind_src:device kind_dst:pinned size:4096 dest:0 async:1"}},
{"ph":"X","pid":3,"tid":13,"ts":30.0,"dur":90.0,"name":"fusion","args":{"correlation_id":"2"}},
{"ph":"X","pid":3,"tid":1,"ts":0.0,"dur":900.0,"name":"jit_step","args":{}},
{"ph":"X","pid":701,"tid":1,"ts":0.0,"dur":5.0,"name":"fusion"},{}]}"#;
    assert_snapshot!(told_of("jax.json", text.as_bytes()), @"

    span                  110 µs
    busy                  110 µs, 100 %
      kernels             90.0 µs, 82 %, 1 operation
      to host             40.0 µs, 36 %, 1 operation
      stream 13           90.0 µs, 82 %
      stream 14           40.0 µs, 36 %
    copies                40.0 µs
      hidden              20.0 µs, 50 % beside kernels
      exposed             20.0 µs, 50 %
    overlap               0.182 of busy time, a kernel beside a copy or a memset
      kernels, to device  0 ns, 0 %
      kernels, to host    20.0 µs, 18 %
      both directions     0 ns, 0 %
      all three           0 ns, 0 %
    idle                  0 ns, 0 %
    critical path         2 parts, one after the other
      kernels             90.0 µs, 82 %, once
      unknown             20.0 µs, 18 %, once
    read on
      three_lanes         20.0 µs in which a copy runs and no kernel does

    note: the host's part of a trace of JAX is not read, so nothing can be said of what held it
    ");
    let calls = row("cuda_runtime", "cudaLaunchKernel", ["10", "10"], [1, 5], r#""correlation":1"#);
    let told = told("calls.json", &[calls]);
    assert!(told.contains("shows 1 calls of the host, and nothing that ran on a GPU"), "{told}");
}

#[test]
fn kernels_of_nsight_systems_by_its_converters_are_read_and_what_they_leave_out_is_said() {
    let row = |cat: &str, name: &str, [pid, tid]: [&str; 2], [ts, dur]: [u64; 2], args: &str| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":"{pid}","tid":"{tid}","ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        )
    };
    // nsys2json: kernels by name of process and thread, ranges of NVTX beside them.
    let plain = [
        row("cuda", "gemm", ["a.sqlite Device 1", "Stream 7"], [10, 50], ""),
        row("cuda", "gemm", ["a.sqlite Device 1", "Stream 13"], [30, 50], ""),
        row("nvtx", "step", ["a.sqlite Device 1", "NVTX Thread 9"], [0, 200], ""),
        row("cuda", "range", ["a.sqlite Device 1", "NVTX Thread 9"], [0, 200], ""),
    ];
    assert_snapshot!(told("nsys2json.json", &plain), @"

    span                  70.0 µs
    busy                  70.0 µs, 100 %
      kernels             70.0 µs, 100 %, 2 operations of 100 µs together
      stream 7            50.0 µs, 71 %
      stream 13           50.0 µs, 71 %
    idle                  0 ns, 0 %
    critical path         2 parts, one after the other
      kernels             50.0 µs, 71 %, once
      unknown             20.0 µs, 29 %, once

    note: copies and memsets are not in the file: the converter from Nsight Systems that wrote it leaves them out, so what looks idle may be a copy

    note: the trace has no calls of the host, so nothing can be said of what held it
    ");
    // nsys2chrome: the same with numbers in the arguments, and with calls.
    let numbers = r#""deviceId":0,"streamId":7,"correlationId":5"#;
    let whole = [
        row(
            "cuda_api",
            "cudaLaunchKernel_v7000",
            ["Device 0", "CUDA API Thread 9"],
            [0, 5],
            numbers,
        ),
        row("kernel", "gemm", ["Device 0", "Stream 7"], [10, 50], numbers),
        row(
            "cuda_api",
            "cudaDeviceSynchronize_v3020",
            ["Device 0", "CUDA API Thread 9"],
            [6, 60],
            "",
        ),
    ];
    assert_snapshot!(told("nsys2chrome.json", &whole), @"

    span                  50.0 µs
    busy                  50.0 µs, 100 %
      kernels             50.0 µs, 100 %, 1 operation
      stream 7            50.0 µs, 100 %
    idle                  0 ns, 0 %
    critical path         a single part
      kernels             50.0 µs, 100 %, once
    host held             60.0 µs in calls that hold it
      wait                60.0 µs in cudaDeviceSynchronize_v3020: waits for the device, once

    note: copies and memsets are not in the file: the converter from Nsight Systems that wrote it leaves them out, so what looks idle may be a copy
    ");
}

#[test]
fn a_copy_between_two_devices_is_shown_on_both_as_what_it_is() {
    let name = "Memcpy PtoP (Device -> Device)";
    let copy = |device: &str| {
        let rest = format!(r#""device":{device},"stream":7,"correlation":1"#);
        row("gpu_memcpy", name, [device, "7"], [110, 50], &rest)
    };
    let told = told("peer.json", &[copy("0"), copy("1")]);
    assert_eq!(
        told.matches("  between devices     50.0 µs, 100 %, 1 operation").count(),
        2,
        "{told}"
    );
    assert!(!told.contains("inside device"), "{told}");
}

#[test]
fn streams_whose_numbers_are_addresses_are_kept_apart() {
    let kernel = |stream: &str, start| {
        row("kernel", "k", ["0", "7"], [start, 50], &format!(r#""device":0,"stream":{stream}"#))
    };
    let numbers = ["140737488355328", "140737488359424", "-5", "0"];
    let rows: Vec<_> = (0..).zip(numbers).map(|(at, number)| kernel(number, 60 * at)).collect();
    file("addresses.json", format!("[{}]", rows.join(",")).as_bytes());
    let (_, object) = json(&mut checker(&["addresses.json", "--json"]));
    assert_eq!(object["devices"][0]["streams"].as_array().map(Vec::len), Some(4), "{object:#}");
}

const COMPARED: [&str; 3] = ["three_lanes", "wrapper_tracking", "buffer_lifetime"];

/// What `checker trace` says of a trace of PyTorch's.
fn ours(name: &str) -> serde_json::Value {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_checker-author"));
    command.args(["trace", &format!("book/pytorch/traces/{name}.json.gz"), "--json"]);
    let output = command.current_dir(root).output().expect("it starts");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    object["devices"][0]["metrics"].clone()
}

/// `book/pytorch/by_hta.py` printed it, with Holistic Trace Analysis 0.5.0.
fn by_hta() -> serde_json::Value {
    serde_json::from_str(include_str!("../../../book/pytorch/traces/hta.json")).expect("it is JSON")
}

#[test]
fn holistic_trace_analysis_without_its_rounding_measures_the_same_times() {
    let hta = by_hta();
    for name in COMPARED {
        let (hta, ours) = (&hta["not_rounded"][name], ours(name));
        let theirs = |field: &str| 1e3 * hta[field].as_f64().expect("a number");
        let own = |field: &str| ours[field].as_f64().expect("a number");
        let kernels = ours["kernel"]["busy_ns"].as_f64().expect("a number");
        for (theirs, own) in [
            (theirs("kernel_time(us)"), own("makespan_ns")),
            (theirs("compute_time(us)"), kernels),
            (theirs("non_compute_time(us)"), own("busy_ns") - kernels),
            (theirs("idle_time(us)"), own("idle_ns")),
        ] {
            assert!((theirs - own).abs() < 3.0, "{name}: {theirs} and {own} ns");
        }
        // This one it counts in whole µs all the same.
        let [theirs, own] = [&hta["overlap_percent"], &ours["overlap_share"]]
            .map(|it| it.as_f64().expect("a number"));
        assert!((theirs - 100.0 * own).abs() < 0.2, "{name}: {theirs} % and {own}");
        assert!(hta["communication_overlap"].is_null(), "no kernel of theirs exchanges data");
    }
}

#[test]
fn the_page_on_measuring_shows_both_tools_numbers() {
    let hta = by_hta();
    let page = include_str!("../../../book/chapters/measuring.md");
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    for name in COMPARED {
        let theirs = |how: &str| {
            let it = &hta[how][name];
            let of = |field: &str| it[field].as_f64().expect("a number");
            let share = |field: &str| percent(of(field) / of("kernel_time(us)"));
            let [kernels, alone, idle] =
                ["compute_time(us)", "non_compute_time(us)", "idle_time(us)"].map(share);
            format!("{kernels} | {alone} | {idle} | {:.1} % |", of("overlap_percent"))
        };
        let it = ours(name);
        let of = |field: &str| it[field].as_f64().expect("a number");
        let kernels = it["kernel"]["busy_ns"].as_f64().expect("a number");
        let share = |ns: f64| percent(ns / of("makespan_ns"));
        let own = format!(
            "{} | {} | {} | {} |",
            share(kernels),
            share(of("busy_ns") - kernels),
            share(of("idle_ns")),
            percent(of("overlap_share"))
        );
        for row in [
            format!("| `{name}` | HTA | {}", theirs("rounded")),
            format!("| | HTA, not rounded | {}", theirs("not_rounded")),
            format!("| | the checker | {own}"),
        ] {
            assert!(page.contains(&row), "the page lacks this row:\n{row}");
        }
    }
}

/// What `checker trace` says of each of the traces that lie, besides the numbers: `book/figures/lies.txt`.
#[test]
fn the_traces_that_lie_are_told_by_what_the_page_shows() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut said = String::new();
    for name in ["clocks", "calls", "missing", "lengths", "cost"] {
        let path = format!("book/lies/{name}.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_checker-author"));
        let output = command.args(["trace", &path, "--plain"]).current_dir(&root).output();
        let output = output.expect("it starts");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let tells = |line: &&str| {
            let is_said = ["busy  ", "note: ", "error: "].iter().any(|it| line.starts_with(it));
            is_said && !line.contains("a trace shows what ran")
        };
        said.push_str(&format!("$ cargo run -- trace {path}\n"));
        text.lines().filter(tells).for_each(|line| said.push_str(&format!("{line}\n")));
        said.push('\n');
    }
    let path = root.join("book/figures/lies.txt");
    if std::env::var_os("SWIM_UPDATE_LIES").is_some() {
        std::fs::write(&path, &said).expect("it can be written");
    }
    let shown = std::fs::read_to_string(&path).expect("the page's text");
    assert_eq!(said, shown, "SWIM_UPDATE_LIES=1 writes it");
}

/// Two kernels of `length` µs with one `call` of the host between them, or none, while the device is idle.
fn between(call: &str, length: u64) -> Vec<String> {
    let kernel = |number: u64, start: u64| {
        let device = format!(r#""device":0,"stream":7,"correlation":{number}"#);
        let call = format!(r#""correlation":{number}"#);
        [
            row("cuda_runtime", "cudaLaunchKernel", ["10", "10"], [start, 5], &call),
            row("kernel", "gemm", ["0", "7"], [start + 10, length], &device),
        ]
    };
    let mut rows = kernel(1, 100).to_vec();
    let meanwhile = [115 + length, 900 - length];
    if !call.is_empty() {
        rows.push(row("cuda_runtime", call, ["10", "10"], meanwhile, r#""correlation":9"#));
    }
    rows.extend(kernel(2, 1100));
    rows
}

#[test]
fn the_chapters_to_read_on_in_are_about_what_the_time_was_lost_to() {
    let read_on = |text: &str| {
        let lines = text.lines().skip_while(|line| *line != "read on").skip(1);
        let lines = lines.take_while(|line| line.starts_with("  ")).map(str::trim);
        lines.map(|line| format!("  {line}\n")).collect::<String>()
    };
    let mut said = String::new();
    for (what, call, length) in [
        ("memory is allocated", "cudaMalloc", 300),
        ("the host waits", "cudaStreamSynchronize", 300),
        ("it does something of its own", "", 300),
        ("kernels are short", "", 10),
    ] {
        let text = told("between.json", &between(call, length));
        said += &format!("{what}\n{}", read_on(&text));
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/pytorch/traces");
    for name in ["gpu_augmentation", "wrapper_tracking", "three_lanes", "pinned_memory"] {
        let path = folder.join(format!("{name}.json.gz")).display().to_string();
        said += &format!("{name}\n{}", read_on(&run(&[&path, "--plain"])));
    }
    assert_snapshot!(said, @"
    memory is allocated
      implicit_sync       600 µs in which the device is idle and the host allocates or frees memory, or loads code
      prefetch            90.0 µs in which the device is idle and the host runs code of its own
    the host waits
      prefetch            600 µs in which the device is idle and the host is in a call that waits
      prefetch            90.0 µs in which the device is idle and the host runs code of its own
    it does something of its own
      prefetch            690 µs in which the device is idle and the host runs code of its own
    kernels are short
      graphs              980 µs in which the device is idle between short kernels that come one by one
    gpu_augmentation
      prefetch            768 µs in which the device is idle and the host runs code of its own
      three_lanes         645 µs in which a copy runs and no kernel does
    wrapper_tracking
      three_lanes         11.8 ms in which a copy runs and no kernel does
    three_lanes
    pinned_memory
    ");
}
