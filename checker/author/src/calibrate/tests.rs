//! From kept raw figures to a profile: those of the simulated H200, whose profile is known.

use simulator::Profile;
use simulator::profile::{BuiltIn, Figure};

use super::fit::profile;
use super::raw::{Answer, Raw};

/// `checker calibrate --device sim --raw F`, without the samples.
const SIMULATED: &str = include_str!("simulated_raw.json");

fn raw() -> Raw {
    serde_json::from_str(SIMULATED).expect("the kept figures are raw figures")
}

fn with(figures: &[(&str, i64)]) -> Raw {
    let mut raw = raw();
    let samples = figures.iter().map(|&(key, value)| (key.to_owned(), vec![value])).collect();
    raw.add(Answer { samples, ..Answer::default() });
    raw
}

fn median(key: &str) -> i64 {
    raw().median(key).expect("it is there")
}

fn of(raw: &Raw) -> Profile {
    profile(raw, "test").expect("there is enough for a profile")
}

/// Without the figures whose keys begin with one of these.
fn without(prefixes: &[&str]) -> Raw {
    let mut json: serde_json::Value = serde_json::from_str(SIMULATED).expect("JSON");
    let figures = json["figures"].as_object_mut().expect("an object");
    figures.retain(|key, _| !prefixes.iter().any(|prefix| key.starts_with(prefix)));
    serde_json::from_value(json).expect("raw figures")
}

const CUPTI: &[&str] = &["span_", "pageable_h2d_lead_ns"];

#[test]
fn each_figure_says_when_where_and_from_what() {
    let profile = of(&raw());
    assert_eq!(
        profile.host.launch_ns,
        Figure {
            value: 3079,
            source: "measured, 2026-11-21, NVIDIA H200 (simulated), driver simulated, \
                     call_launch_busy_ns"
                .to_owned()
        }
    );
    for (table, figures) in profile.tables() {
        for (name, figure) in figures {
            // One device says nothing about two.
            let expected = match table.as_str() {
                "peers" => "2026-11-27, two NVIDIA H200 with NVLink",
                _ => "2026-11-21, NVIDIA H200",
            };
            assert!(figure.source.contains(expected), "{table}.{name}: {figure:?}");
        }
    }
}

#[test]
fn a_profile_reads_back_from_its_text() {
    let profile = Profile { name: "with \"quotes\" and \\".to_owned(), ..of(&raw()) };
    let text = profile.to_toml("two\nlines");
    assert!(text.starts_with("# two\n# lines\n\nname = "), "{text}");
    assert_eq!(toml::from_str::<Profile>(&text).expect("a profile"), profile);
}

#[test]
fn a_call_that_waits_longer_for_its_end_has_a_longer_wake_and_no_longer_way() {
    let before = of(&raw());
    let after = of(&with(
        &["kernel_to_synchronize_ns", "h2d_to_synchronize_ns", "d2h_to_synchronize_ns"]
            .map(|key| (key, median(key) + 900)),
    ));
    assert_eq!(after.host.wake_ns.value, before.host.wake_ns.value + 900);
    assert_eq!(after.gaps.submit_ns.value, before.gaps.submit_ns.value);
}

#[test]
fn the_gap_between_kernels_is_their_period_less_their_own_time() {
    let raw = with(&[("kernel_period_ns", 1620), ("span_kernel_ns", 1000)]);
    let profile = of(&raw);
    assert_eq!(profile.gaps.kernel_ns.value, 620);
    assert_eq!(profile.rates["matmul"].fixed_ns.value, 1000);
}

#[test]
fn without_cupti_periods_are_split_evenly_and_the_sources_say_so() {
    let profile = of(&without(CUPTI));
    let period = u64::try_from(median("kernel_period_ns")).expect("it is a time");
    assert_eq!(profile.gaps.kernel_ns.value, period.div_ceil(2));
    assert!(profile.gaps.kernel_ns.source.ends_with("no CUPTI: periods split evenly"));
    let piece = &profile.copies.staging_chunk_bytes;
    assert_eq!(piece.value, 1 << 20);
    assert!(piece.source.starts_with("assumed, "), "{piece:?}");
}

#[test]
fn directions_that_take_turns_share_an_engine() {
    let alone = median("duplex_h2d_alone_ns");
    assert_eq!(of(&raw()).chip.copy_engines.value, 2);
    let profile = of(&with(&[("duplex_h2d_everything_ns", alone * 5 / 2)]));
    assert_eq!(profile.chip.copy_engines.value, 1);
    assert_eq!(profile.copies.host_to_device.duplex_permille.value, 1000);
}

#[test]
fn what_comes_out_below_nothing_is_nothing() {
    let profile = of(&with(&[("span_kernel_ns", median("kernel_period_ns") + 300)]));
    assert_eq!(profile.gaps.kernel_ns.value, 0);
}

#[test]
fn a_device_that_stages_little_or_nothing_has_a_profile_too() {
    for staged in [0, 4 << 10, 64 << 10] {
        let profile = of(&with(&[("staged_bytes", staged)]));
        let rate = profile.copies.staging_bytes_per_us.value;
        let all = of(&raw()).copies.staging_bytes_per_us.value;
        assert!(rate.abs_diff(all) * 100 < 3 * all, "{staged}: {rate}");
    }
}

#[test]
fn a_device_that_cannot_run_the_product_on_tensor_cores_has_a_profile_without_its_rate() {
    let profile = of(&without(&["tensor_"]));
    assert!(profile.rate("tensor").is_err());
    assert!(of(&raw()).rate("tensor").is_ok());
}

#[test]
fn a_figure_that_was_not_measured_is_named_with_its_reason() {
    let mut raw = without(&["queue_depth"]);
    raw.lacks("queue_depth", "cuLaunchKernel: CUDA_ERROR_UNKNOWN");
    let error = profile(&raw, "test").expect_err("it is needed");
    assert_eq!(
        error.to_string(),
        "`queue_depth` was not measured: cuLaunchKernel: CUDA_ERROR_UNKNOWN"
    );
}

/// `checker calibrate --from A B C --raw F` of three visits to an NVIDIA H200, driver 580.159.04, 2026-11-27, without
/// the samples. What a graph takes to be captured, instantiated and launched for the first time is of a fourth visit.
const H200: &str = include_str!("h200_raw.json");
/// The same on an NVIDIA H100 80GB HBM3, 2026-11-27.
const H100: &str = include_str!("h100_raw.json");
/// Most of it once more on the H200's machine.
const OTHER_H200: &str = include_str!("h200_other_raw.json");

#[test]
fn a_shipped_profile_is_what_was_measured_and_nothing_else() {
    for (name, raw, shipped) in [("h200", H200, Profile::H200), ("h100", H100, Profile::H100)] {
        let raw = serde_json::from_str(raw).expect("the kept figures are raw figures");
        let shipped: Profile = toml::from_str(shipped).expect("the shipped profile");
        assert_eq!(profile(&raw, name).expect("there is enough for a profile"), shipped);
        assert_eq!(BuiltIn::of_device(&shipped.device).map(BuiltIn::name), Some(name));
    }
}

#[test]
fn measuring_twice_gives_the_same_rates_of_link_and_kernels_to_a_hundredth() {
    let one: Profile = toml::from_str(Profile::H200).expect("the shipped profile");
    let mut kept: serde_json::Value = serde_json::from_str(H200).expect("JSON");
    let mut other: serde_json::Value = serde_json::from_str(OTHER_H200).expect("JSON");
    let figures = kept["figures"].as_object_mut().expect("an object");
    figures.append(other["figures"].as_object_mut().expect("an object"));
    let other = of(&serde_json::from_value(kept).expect("the kept figures are raw figures"));
    let rates = |profile: &Profile| {
        let kernel = |name| profile.rate(name).expect("a rate").units_per_us_multiprocessor.value;
        let copies = &profile.copies;
        [
            copies.host_to_device.pinned_bytes_per_us.value,
            copies.device_to_host.pinned_bytes_per_us.value,
            kernel("map"),
            kernel("matmul"),
        ]
    };
    for (one, other) in rates(&one).into_iter().zip(rates(&other)) {
        assert!(one.abs_diff(other) * 100 <= one, "{one} and {other}");
    }
}
