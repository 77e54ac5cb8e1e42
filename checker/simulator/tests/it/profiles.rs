//! The profiles that come with the simulator, and what the invented ones change for the exercises'
//! recorded solutions.

use std::path::Path;

use simulator::profile::BuiltIn;
use simulator::{Profile, Schedule, replay};
use trace::Program;
use trace::timeline::{SpanKind, Timeline};

use crate::program::h200;

/// What a solution or a baseline asked of the device, as it is kept beside its exercise.
fn recorded(path: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises").join(path);
    let text = std::fs::read_to_string(&path).expect("the exercise keeps it");
    serde_json::from_str(&text).expect("it is a program")
}

fn on(built_in: BuiltIn, path: &str) -> Timeline {
    replay(&recorded(path), &profile(built_in), Schedule::Exact)
}

fn profile(built_in: BuiltIn) -> Profile {
    let measured = toml::from_str(built_in.measured()).expect("it is a profile");
    built_in.profile(measured)
}

const LANES: &str = "04_three_lanes/recorded/reference.json";
const PIPELINE: &str = "07_chunked_pipeline/recorded/reference.json";

/// How long two kinds of work ran side by side, in ns.
fn together(timeline: &Timeline, one: SpanKind, other: SpanKind) -> u64 {
    let of = |kind| timeline.spans.iter().filter(move |span| span.kind == kind);
    let mut ns = 0;
    for a in of(one) {
        for b in of(other) {
            ns += a.end_ns.min(b.end_ns).saturating_sub(a.start_ns.max(b.start_ns));
        }
    }
    ns
}

/// How long work of a kind ran, in ns. Copies of one direction never run side by side.
fn busy(timeline: &Timeline, kind: SpanKind) -> u64 {
    let spans = timeline.spans.iter().filter(|span| span.kind == kind);
    spans.map(|span| span.end_ns - span.start_ns).sum()
}

use SpanKind::{DeviceToHost, HostToDevice, Kernel};

#[test]
fn with_one_engine_the_directions_take_turns() {
    for path in [LANES, PIPELINE] {
        let (two, one) = (on(BuiltIn::H200, path), on(BuiltIn::OneEngine, path));
        let both_ways = together(&two, HostToDevice, DeviceToHost);
        assert!(both_ways > busy(&two, HostToDevice) / 2, "{path}: {both_ways} ns");
        assert_eq!(together(&one, HostToDevice, DeviceToHost), 0, "{path}");
        let copies = busy(&one, HostToDevice) + busy(&one, DeviceToHost);
        assert!(one.extent().ns() >= copies, "{path}");
        assert!(one.extent().ns() > two.extent().ns() * 5 / 4, "{path}: {}", one.extent().ns());
        // What still helps are streams: kernels run beside copies.
        assert!(together(&one, HostToDevice, Kernel) > 0, "{path}");
    }
}

#[test]
fn over_a_slow_link_copies_decide_what_everything_takes() {
    for path in [LANES, PIPELINE] {
        let (fast, slow) = (on(BuiltIn::H200, path), on(BuiltIn::SlowLink, path));
        let copies = busy(&slow, HostToDevice);
        assert!(copies > 10 * busy(&fast, HostToDevice), "{path}: {copies} ns");
        // Kernels take what they did, and are a small part of it now.
        assert!(busy(&slow, Kernel).abs_diff(busy(&fast, Kernel)) < busy(&fast, Kernel) / 10);
        assert!(slow.extent().ns() > 10 * busy(&slow, Kernel), "{path}");
        assert!(slow.extent().ns() < copies * 5 / 4, "{path}: {}", slow.extent().ns());
        assert!(together(&slow, HostToDevice, DeviceToHost) > copies / 2, "{path}");
    }
}

#[test]
fn what_was_invented_says_so_and_the_rest_is_as_measured() {
    let measured = h200();
    for (built_in, changed) in [
        (BuiltIn::H200, vec![]),
        (BuiltIn::OneEngine, vec!["async_engines", "copy_engines"]),
        (
            BuiltIn::SlowLink,
            vec![
                "pinned_bytes_per_us",
                "pageable_bytes_per_us",
                "pinned_bytes_per_us",
                "pageable_bytes_per_us",
            ],
        ),
    ] {
        let profile = profile(built_in);
        assert_eq!(profile.name, built_in.name());
        let invented = changed.is_empty() || profile.device.contains("invented");
        assert!(invented, "{}", profile.device);
        let mut found = Vec::new();
        for ((_, figures), (_, before)) in profile.tables().iter().zip(measured.tables()) {
            for ((name, figure), (_, before)) in figures.iter().zip(before) {
                if *figure != before {
                    assert!(figure.source.starts_with("invented: "), "{name}: {}", figure.source);
                    found.push(*name);
                }
            }
        }
        assert_eq!(found, changed, "{}", built_in.name());
    }
}

#[test]
fn a_built_in_profile_is_found_by_its_name() {
    for built_in in BuiltIn::ALL {
        assert_eq!(BuiltIn::find(built_in.name()), Some(built_in));
    }
    assert_eq!(BuiltIn::find("a100"), None);
}

#[test]
fn the_text_of_a_profile_holds_all_of_it() {
    for built_in in BuiltIn::ALL {
        let profile = profile(built_in);
        let read: Profile = toml::from_str(&profile.to_toml("")).expect("it is a profile");
        assert_eq!(read, profile);
    }
}
