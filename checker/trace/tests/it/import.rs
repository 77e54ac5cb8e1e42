//! Traces of other tools.

use insta::assert_snapshot;
use trace::import::{Content, Format, KernelNames, Process, Trace, detect};
use trace::metrics::critical_path::Part;
use trace::metrics::idle::Cause;
use trace::observed::Observed;
use trace::timeline::{HostMemory, SpanKind};
use trace::{Metrics, export, metrics};

use crate::kineto::{Known, known, pipeline};

fn read(text: &str) -> Trace {
    try_read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn try_read(text: &str) -> Result<Trace, String> {
    Trace::read(&mut text.as_bytes(), u64::MAX).map_err(|error| {
        let place = error.place.map(|place| format!("{}:{}: ", place.line, place.column));
        let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        format!("{}{error}{hint}", place.unwrap_or_default())
    })
}

fn refused(text: &str) -> String {
    try_read(text).map(|trace| trace.rows()).expect_err("it is no trace")
}

fn only(trace: &Trace) -> Observed<'_> {
    assert_eq!(trace.devices.len(), 1);
    trace.observed(&trace.devices[0], KernelNames::Kept)
}

fn periods(count: u64) -> String {
    let mut text = Vec::new();
    pipeline(count, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("it is ASCII")
}

/// Rows as a list, with the least that a row needs.
fn rows(rows: &[&str]) -> String {
    format!("[{}]", rows.join(",\n"))
}

/// A kernel of stream 7, in µs.
fn kernel(start: &str, length: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{start},"dur":{length},"args":{{"device":0,"stream":7}}}}"#
    )
}

#[test]
fn a_generated_trace_comes_to_the_numbers_that_were_put_in() {
    for count in [1, 2, 1000] {
        let trace = read(&periods(count));
        assert_eq!(trace.format, Format::Kineto);
        assert_eq!((trace.driver, trace.rows()), (Some(13000), count * crate::kineto::PERIOD));
        assert_eq!(trace.devices[0].name.as_deref(), Some("Some GPU"));
        assert!(trace.notes.is_empty(), "{:?}", trace.notes);

        let Known { span, kernels, to_device, to_host, kernel_to_device, kernel_to_host, busy } =
            known(count);
        let observed = only(&trace);
        let found = Metrics::of(&observed.timeline);
        assert_eq!((found.makespan_ns, found.busy_ns), (span, busy));
        assert_eq!((found.kernel.busy_ns, found.host_to_device.busy_ns), (kernels, to_device));
        assert_eq!(found.device_to_host.busy_ns, to_host);
        assert_eq!(found.kernel_host_to_device_ns, kernel_to_device);
        assert_eq!(found.kernel_device_to_host_ns, kernel_to_host);
        assert_eq!((found.both_directions_ns, found.all_lanes_ns), (0, 0));
        assert_eq!(found.overlap_ns, kernel_to_device + kernel_to_host);

        let pageable: u64 = metrics::copies(&observed.timeline)
            .iter()
            .filter(|copies| copies.host_memory == Some(HostMemory::Pageable))
            .map(|copies| copies.copies)
            .sum();
        assert_eq!(pageable, count);
        let parts = metrics::path(&observed).segments;
        assert_eq!(parts.iter().map(|part| part.time.ns()).sum::<u64>(), span, "{count} periods");
        assert!(parts.windows(2).all(|pair| pair[0].time.end_ns == pair[1].time.start_ns));
    }
}

#[test]
fn times_are_exact_where_a_binary_fraction_is_not() {
    // 2^53 is 9007199254740992: an `f64` holds neither the last digit nor the difference.
    let trace = read(&rows(&[
        &kernel("1678920268738042.001", "0.001"),
        &kernel("1678920268738042.003", "0.002"),
    ]));
    let found = Metrics::of(&only(&trace).timeline);
    assert_eq!((found.makespan_ns, found.busy_ns, found.idle_ns), (4, 3, 1));
}

#[test]
fn times_may_be_strings_and_have_exponents() {
    let trace = read(&rows(&[&kernel("\"1.5\"", "\"2\""), &kernel("1e1", "25E-1")]));
    let spans = only(&trace).timeline.spans;
    let times: Vec<_> = spans.iter().map(|span| (span.start_ns, span.end_ns)).collect();
    assert_eq!(times, [(0, 2000), (8500, 11000)]);
}

#[test]
fn times_that_no_clock_shows_are_refused_with_their_place() {
    let late = rows(&[&kernel("5e15", "1")]);
    assert_snapshot!(refused(&late), @"1:59: this number is larger than any time or identifier");
    let long = rows(&[&kernel("1", "2e15")]);
    assert!(refused(&long).contains("larger than any time"));
}

#[test]
fn beginnings_and_ends_make_rows_like_whole_ones() {
    let trace = read(&rows(&[
        r#"{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1}"#,
        r#"{"ph":"B","cat":"other","name":"inner","pid":0,"tid":7,"ts":1.2}"#,
        r#"{"ph":"E","pid":0,"tid":7,"ts":1.3}"#,
        r#"{"ph":"E","pid":0,"tid":7,"ts":2.5}"#,
        r#"{"ph":"E","pid":0,"tid":8,"ts":2.5}"#,
        r#"{"ph":"B","cat":"kernel","name":"never ends","pid":0,"tid":7,"ts":3}"#,
    ]));
    let observed = only(&trace);
    let [span] = &observed.timeline.spans[..] else { panic!("{:?}", observed.timeline.spans) };
    assert_eq!((span.name(), span.interval().ns()), ("k", 1500));
    assert_eq!(trace.format, Format::Chrome);
    assert_snapshot!(trace.notes.join("\n"), @"rows with a beginning or an end alone, left out: 2");
}

#[test]
fn odd_rows_are_counted_and_left_out() {
    let trace = read(&rows(&[
        &kernel("1", "2"),
        &kernel("1", "2"),
        &kernel("2", "-1"),
        &kernel("null", "1"),
        &kernel("2", "2"),
    ]));
    let found = Metrics::of(&only(&trace).timeline);
    assert_eq!((found.kernel.busy_ns, found.kernel.work_ns), (3000, 4000), "overlap in a stream");
    assert_snapshot!(trace.notes.join("\n"), @r"
    rows that are there twice, which count once: 1
    rows that end before they start, left out: 1
    rows without a time, left out: 1
    ");
}

#[test]
fn every_device_has_a_run_of_its_own() {
    let on = |device: u32, process: u32, start: u32| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"k","pid":{process},"tid":7,"ts":{start},"dur":5,"args":{{"device":{device},"stream":7}}}}"#
        )
    };
    let trace = read(&rows(&[&on(1, 1, 10), &on(0, 0, 20), &on(0, 70, 30), &on(1, 1, 40)]));
    let devices: Vec<_> =
        trace.devices.iter().map(|d| (d.index, d.process.clone(), d.operations)).collect();
    let number = |process| Some(Process::Number(process));
    assert_eq!(devices, [(0, number(0), 1), (0, number(70), 1), (1, None, 2)]);
    let last = trace.observed(&trace.devices[2], KernelNames::Dropped);
    assert_eq!(Metrics::of(&last.timeline).makespan_ns, 35_000);
    assert_eq!(last.timeline.spans[0].name(), "");
}

/// A host that synchronises after a pageable copy, then launches two kernels, the second of which
/// waits in another stream for a third.
const STORY: &str = r#"{"traceEvents":[
{"ph":"X","cat":"python_function","name":"train.py(3): main","pid":9,"tid":9,"ts":0,"dur":100},
{"ph":"X","cat":"python_function","name":"torch/nn/module.py(7): call","pid":9,"tid":9,"ts":1,"dur":98},
{"ph":"X","cat":"python_function","name":"<built-in method to>","pid":9,"tid":9,"ts":1,"dur":20},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":9,"tid":9,"ts":2,"dur":18,"args":{"correlation":1}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":5,"dur":14,"args":{"device":0,"stream":7,"correlation":1,"bytes":1000}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":30,"dur":2,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":13,"ts":33,"dur":20,"args":{"device":0,"stream":13,"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":9,"tid":9,"ts":33,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":9,"tid":9,"ts":35,"dur":1,"args":{"correlation":4}},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":35,"dur":1,"args":{"device":0,"stream":20,"correlation":4,"wait_on_stream":13,"wait_on_cuda_event_record_corr_id":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":37,"dur":2,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":20,"ts":60,"dur":10,"args":{"device":0,"stream":20,"correlation":5}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":9,"tid":9,"ts":40,"dur":31,"args":{"correlation":6}}
]}"#;

#[test]
fn gaps_have_a_cause_each_and_the_host_is_asked_what_it_did() {
    let trace = read(STORY);
    let idle = metrics::idle(&only(&trace));
    let causes: Vec<_> = idle.causes.iter().map(|gaps| (gaps.cause, gaps.gaps, gaps.ns)).collect();
    assert_eq!(causes, [(Cause::Host, 1, 14_000), (Cause::Dependency, 1, 7_000)]);
    let host: Vec<_> = idle.host.iter().map(|doing| (doing.call, doing.ns)).collect();
    assert_eq!(
        host,
        [(None, 10_000), (Some("cudaLaunchKernel"), 2_000), (Some("cudaMemcpyAsync"), 1_000)]
    );
}

#[test]
fn the_critical_path_follows_recorded_waits_calls_and_what_held_them() {
    let trace = read(STORY);
    let parts: Vec<_> = metrics::path(&only(&trace))
        .segments
        .iter()
        .map(|part| (part.part, part.time.ns() / 1000))
        .collect();
    assert_eq!(
        parts,
        [
            (Part::Work(SpanKind::HostToDevice), 14),
            (Part::Host, 11),
            (Part::Launch, 3),
            (Part::Work(SpanKind::Kernel), 20),
            (Part::Turnaround, 7),
            (Part::Work(SpanKind::Kernel), 10),
        ]
    );
}

/// Two kernels of stream 13 with 5 µs between them, in which a copy of stream 17 ends. `between` is
/// called between the two launches.
fn kernels_and_a_copy(between: &str) -> String {
    let call = |name: &str, ts: u32, correlation: u32| {
        format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"{name}","pid":9,"tid":9,"ts":{ts},"dur":1,"args":{{"correlation":{correlation}}}}}"#
        )
    };
    let work = |kind: &str, name: &str, stream: u32, time: (u32, u32), correlation: u32| {
        let (ts, dur) = time;
        format!(
            r#"{{"ph":"X","cat":"{kind}","name":"{name}","pid":0,"tid":{stream},"ts":{ts},"dur":{dur},"args":{{"device":0,"stream":{stream},"correlation":{correlation},"bytes":100}}}}"#
        )
    };
    rows(&[
        &call("cudaLaunchKernel", 0, 1),
        &call("cudaMemcpyAsync", 2, 2),
        &call(between, 4, 3),
        &call("cudaLaunchKernel", 6, 4),
        &work("kernel", "a", 13, (10, 40), 1),
        &work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 17, (11, 42), 2),
        &work("kernel", "b", 13, (55, 40), 4),
    ])
}

#[test]
fn the_critical_path_leaves_a_stream_only_where_a_stream_was_made_to_wait() {
    let kernels_on_path = |between| {
        let trace = read(&kernels_and_a_copy(between));
        let sums = metrics::path(&only(&trace)).sums();
        let kernel = |sum: &&metrics::critical_path::Sum| sum.part == Part::Work(SpanKind::Kernel);
        sums.iter().find(kernel).map_or(0, |sum| sum.parts)
    };
    assert_eq!(kernels_on_path("cudaStreamIsCapturing"), 2, "a gap alone is no wait");
    assert_eq!(kernels_on_path("cudaStreamWaitEvent"), 1, "the second waited for the copy");
}

#[test]
fn calls_that_hold_the_host_have_the_line_of_the_program_not_of_a_library() {
    let trace = read(STORY);
    let observed = only(&trace);
    let held: Vec<_> = metrics::blocked(&observed, observed.timeline.extent())
        .iter()
        .map(|held| format!("{} {:?} {:?} {} ns", held.call, held.why, held.line, held.ns))
        .collect();
    assert_snapshot!(held.join("\n"), @r#"
    cudaStreamSynchronize Wait Some("train.py(3): main") 31000 ns
    cudaMemcpyAsync PageableCopy Some("train.py(3): main") 18000 ns
    "#);
}

#[test]
fn copies_are_told_by_both_of_their_ends() {
    for (name, kind, memory) in [
        ("Memcpy PtoP (Device -> Device)", SpanKind::PeerToPeer, None),
        ("MemcpyP2P", SpanKind::PeerToPeer, None),
        ("Memcpy HtoH (Pageable -> Pinned)", SpanKind::HostToHost, None),
        ("MemcpyH2H", SpanKind::HostToHost, None),
        ("Memcpy HtoH (host function)", SpanKind::HostFunction, None),
        ("Memcpy DtoD (Device -> Device)", SpanKind::DeviceToDevice, None),
        ("Memcpy HtoA (Pageable -> Array)", SpanKind::HostToDevice, Some(HostMemory::Pageable)),
        ("Memcpy DtoH (Device -> Pinned)", SpanKind::DeviceToHost, Some(HostMemory::Pinned)),
    ] {
        let copy = kernel("1", "2").replace(r#""cat":"kernel","name":"k""#, "CAT");
        let copy = copy.replace("CAT", &format!(r#""cat":"gpu_memcpy","name":"{name}""#));
        let trace = read(&rows(&[&copy]));
        let timeline = &only(&trace).timeline;
        let found: Vec<_> = timeline.spans.iter().map(|it| (it.kind, it.host_memory)).collect();
        assert_eq!(found, [(kind, memory)], "{name}");
        // Work of a device makes it busy; what the host does between two places of its own does not.
        let busy_ns = if kind.is_on_device() { 2000 } else { 0 };
        assert_eq!(Metrics::of(timeline).busy_ns, busy_ns, "{name}");
    }
}

#[test]
fn an_export_reads_back_as_what_was_written() {
    for text in [periods(5), STORY.to_owned()] {
        let trace = read(&text);
        let before = only(&trace);
        let mut written = Vec::new();
        let device = export::Device { index: 0, observed: &before };
        export::chrome(&[device], &mut written).expect("memory takes all");
        let again = read(&String::from_utf8(written).expect("it is UTF-8"));
        let after = only(&again);
        assert_eq!(Metrics::of(&after.timeline), Metrics::of(&before.timeline));
        assert_eq!(metrics::idle(&after).causes, metrics::idle(&before).causes);
        let names = |observed: &Observed<'_>| -> Vec<_> {
            observed.timeline.spans.iter().map(|s| (s.name.clone(), s.stream, s.bytes)).collect()
        };
        assert_eq!(names(&after), names(&before));
    }
}

#[test]
fn a_missing_name_is_told_with_line_and_cure() {
    assert_snapshot!(refused("{\n    {\n      \"id\": 6}\n  ],\n \"traceEvents\": []}"), @r#"
    2:5: expected the name of a field, or `}`, found `{`
    hint: profilers of 2023 lose the line `"deviceProperties": [`; put it in before this one
    "#);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let told = [
        "{\"traceEvents\": [{\"ph\": \"X\",\n \"ts\": }]}",
        "{\"traceEvents\": [{\"ph\": \"X\"},\n]}",
        "{\"traceEvents\": [{\"ph\" \"X\"}]}",
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1e300}]",
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":01}]",
        "[{\"name\":tru}]",
        "[1]",
        "[] []",
        "{\"events\":[]}",
        "hello",
    ]
    .map(|text| refused(text).lines().next().map(str::to_owned).unwrap_or_default());
    assert_snapshot!(told.join("\n"), @r#"
    2:8: expected a value, found `}`
    2:1: expected a value, found `]`
    1:24: expected `:`, found `"`
    1:32: this number is larger than any time or identifier
    1:32: expected a number, found `0`
    1:10: expected a value, found `tru`
    1:2: expected `{`, found `1`
    1:4: expected the end of the file, found `[`
    there is no list `traceEvents`
    1:1: expected `{` or `[`, found `h`
    "#);
}

#[test]
fn bytes_that_are_no_text_are_read_in_a_name_and_have_a_place_elsewhere() {
    let error = Trace::read(&mut &b"[{\"name\":\xff\"ab\"}]"[..], u64::MAX).expect_err("no UTF-8");
    assert_eq!(error.place.map(|place| (place.line, place.column)), Some((1, 10)));
    // Lines count in a name, too.
    assert!(refused("[{\"name\":\"a\nb\n\",}]").starts_with("3:3: expected the name of a field"));
    for name in [&b"ab\xff"[..], b"\xe9\"", b"\\u12", b"C:\\x", b"\x00", b"\xf0\x9f\"", b"\xc0\x80"]
    {
        let whole =
            [&b"[{\"name\":\""[..], name, if name.ends_with(b"\"") { b"}]" } else { b"\"}]" }]
                .concat();
        let trace = Trace::read(&mut &whole[..], u64::MAX).expect("it is a trace");
        assert_eq!((trace.rows(), trace.notes.len()), (1, 1), "{name:?}");
    }
    let good = "[{\"name\":\"é漢😀\\u00e9\\ud83d\"}]";
    assert_eq!(read(good).rows(), 1);
}

#[test]
fn a_file_cut_anywhere_is_truncated_or_damaged_and_never_read_in_part() {
    let text = periods(2);
    let text = text.trim_end();
    for end in 0..text.len() {
        let told = refused(&text[..end]);
        assert!(told.contains("truncated") || told.contains("a number"), "{end}: {told}");
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = format!("[{}", "[".repeat(100_000));
    assert!(refused(&deep).contains("expected `{`"));
    let deep = format!("[{{\"args\":{}", "{\"a\":[".repeat(50_000));
    assert!(refused(&deep).contains("nested more than 512 deep"));
    let long = format!("[{{\"name\":\"{}\",\"x\":\"{0}\\n\"}}]", "n".repeat(1_000_000));
    assert_eq!(read(&long).rows(), 1);
    let digits = format!("[{{\"ts\":{}}}]", "9".repeat(1_000_000));
    assert!(refused(&digits).contains("hundreds of digits"));
    let error = Trace::read(&mut periods(100).as_bytes(), 1000).expect_err("longer than the limit");
    assert_eq!(error.to_string(), "the text is longer than 1000 bytes");
}

#[test]
fn tokens_may_lie_across_the_end_of_a_buffer() {
    let text = periods(3);
    let whole = Metrics::of(&only(&read(&text)).timeline);
    // A reader that gives a byte at a time makes every token such a one.
    struct Slow<'a>(&'a [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let some = 1.min(buffer.len());
            std::io::Read::read(&mut self.0, &mut buffer[..some])
        }
    }
    let trace = Trace::read(&mut Slow(text.as_bytes()), u64::MAX).expect("it is a trace");
    assert_eq!(Metrics::of(&only(&trace).timeline), whole);
    // And so does white space before it, one more at a time.
    for shift in 0..64 {
        let padded = format!("{}{text}", " ".repeat(128 * 1024 - 700 + shift * 11));
        assert_eq!(Metrics::of(&only(&read(&padded)).timeline), whole, "{shift}");
    }
}

#[test]
fn our_own_forms_are_told_from_others_by_their_fields() {
    assert_eq!(detect(b" {\"version\":1,\"program\":{"), Content::Own);
    assert_eq!(detect(b"{\"host\":["), Content::Own);
    assert_eq!(detect(b"{\"schemaVersion\":1,\"program\":1"), Content::Chrome);
    assert_eq!(detect(b"[{\"program\":1}]"), Content::Chrome);
    assert_eq!(detect(b"{\"a\":"), Content::Chrome);
}
