//! Measuring a device: the simulated one must give back the profile that it works by.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use insta::assert_snapshot;
use simulator::Profile;
use simulator::profile::BuiltIn;

use crate::real::real;
use crate::tree::{scratch, tree};

/// What came of measuring the simulated device of a profile.
struct Measured {
    profile: Profile,
    /// What was said.
    said: serde_json::Value,
    /// Every sample.
    raw: serde_json::Value,
}

/// The device of each profile is measured once: what comes of it is always the same.
fn measured(built_in: BuiltIn) -> Arc<Measured> {
    static MEASURED: Mutex<BTreeMap<&str, Arc<OnceLock<Arc<Measured>>>>> =
        Mutex::new(BTreeMap::new());
    let mut by_name = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let one = Arc::clone(by_name.entry(built_in.name()).or_default());
    drop(by_name);
    Arc::clone(one.get_or_init(|| Arc::new(measure(built_in))))
}

fn measure(built_in: BuiltIn) -> Measured {
    let file = |suffix: &str| scratch().join(format!("{}{suffix}", built_in.name()));
    let (output, raw) = (file(".toml"), file(".raw.json"));
    let [to, every_sample] = [&output, &raw].map(|path| path.to_str().expect("UTF-8"));
    let name = format!("measured_{}", built_in.name());
    let arguments = ["calibrate", "--profile", built_in.name(), "--output", to, "--name", &name];
    let (code, said) = real().json(&[&arguments[..], &["--raw", every_sample]].concat());
    assert_eq!((code, said["name"].as_str()), (0, Some(&*name)), "{said:#}");
    let text = std::fs::read_to_string(&output).expect("a profile was written");
    assert!(text.starts_with("# Profile `") && text.contains("\n# device: "), "{text}");
    let profile = toml::from_str(&text).expect("it is a profile");
    let raw = std::fs::read(raw).expect("every sample was kept");
    Measured { profile, said, raw: serde_json::from_slice(&raw).expect("JSON") }
}

fn shipped(built_in: BuiltIn) -> Profile {
    built_in.profile(toml::from_str(built_in.measured()).expect("the built-in profile is one"))
}

fn values(profile: &Profile) -> BTreeMap<String, u64> {
    let tables = profile.tables();
    let figures = tables.iter().flat_map(|(table, figures)| {
        figures.iter().map(move |(name, figure)| (format!("{table}.{name}"), figure.value))
    });
    figures.collect()
}

/// Figures that cannot come back, and why.
const LOST: &[(&str, &str)] = &[
    // The launch that finds nothing to do is one of the map, whose fixed part is that of a map that
    // fills the device. A GPU takes less for an empty one, the simulated device does not; so what
    // `matmul` takes beside its work comes out too long, and its work too short.
    ("rates.matmul.fixed_ns", "an empty map takes the fixed part of a full one"),
    ("rates.matmul.units_per_us_warp", "as above"),
    ("rates.matmul.units_per_us_multiprocessor", "as above"),
    (
        "copies.host_to_device.duplex_fixed_ns",
        "between two copies of the other direction this one is at full speed",
    ),
    ("copies.device_to_host.duplex_fixed_ns", "as above"),
];

/// Times are whole nanoseconds, and a figure is a sum of a few of them.
const NS: u64 = 10;
/// Lines through whole nanoseconds, and through sizes of whole elements, in thousandths.
const PERMILLE: u64 = 4;

fn assert_comes_back(built_in: BuiltIn, lost: &[&str]) -> Arc<Measured> {
    let measured = measured(built_in);
    let (found, expected) = (values(&measured.profile), values(&shipped(built_in)));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    let is_lost = |name: &str| LOST.iter().any(|&(it, _)| it == name) || lost.contains(&name);
    let off: Vec<_> = expected
        .iter()
        .filter(|(name, _)| !is_lost(name))
        .filter(|(name, expected)| {
            found[*name].abs_diff(**expected) > NS.max(**expected * PERMILLE / 1000)
        })
        .map(|(name, expected)| format!("{name}: {expected}, measured {}", found[name]))
        .collect();
    assert!(off.is_empty(), "{}", off.join("\n"));
    for (name, _) in LOST {
        assert!(found[*name] != expected[*name], "{name} comes back: take it off the list");
    }
    measured
}

#[test]
fn measuring_the_simulated_h200_gives_back_its_profile() {
    assert_comes_back(BuiltIn::H200, &[]);
}

#[test]
fn measuring_an_invented_device_finds_what_was_invented() {
    // With one engine nothing goes both ways, and how fast it would be cannot be seen.
    let duplex = ["copies.host_to_device.duplex_permille", "copies.device_to_host.duplex_permille"];
    let one = assert_comes_back(BuiltIn::OneEngine, &duplex);
    assert_eq!(one.profile.chip.copy_engines.value, 1);
    let slow = assert_comes_back(BuiltIn::SlowLink, &[]);
    assert!(slow.profile.copies.host_to_device.pinned_bytes_per_us.value.abs_diff(3300) < 5);
}

#[test]
fn a_profile_that_was_measured_is_a_device_to_run_on() {
    measured(BuiltIn::H200);
    let path = scratch().join("h200.toml");
    let profile = path.to_str().expect("UTF-8");
    let arguments = ["run", "three_lanes", "--solution", "--profile", profile];
    let (code, object) = real().json(&arguments);
    assert_eq!((code, object["verdict"].as_str()), (0, Some("passed")), "{object:#}");
}

#[test]
fn how_far_a_profile_is_from_a_machine_is_said_and_the_figure_that_is_off_most_comes_first() {
    measured(BuiltIn::H200);
    let raw = scratch().join("h200.raw.json");
    let raw = raw.to_str().expect("UTF-8");
    let check = |profile: &str| {
        let arguments = ["calibrate", "--from", raw, "--check", profile];
        let (code, object) = real().json(&arguments);
        assert_eq!((code, object["profile"].as_str()), (0, Some(profile)), "{object:#}");
        object["figures"].as_array().expect("figures").clone()
    };
    let off = |figure: &serde_json::Value| figure["percent"].as_f64().expect("percent").abs();
    // Of the device that was measured, only what cannot come back is off.
    let own = check("h200");
    let far: Vec<_> = own.iter().filter(|it| off(it) > 5.0).collect();
    let is_small = |it: &&serde_json::Value| it["measured"].as_u64().expect("a value") < 3000;
    assert!(far.iter().all(is_small) && far.len() < 5 && own.len() > 100, "{far:#?}");
    let other = check("h100");
    assert!(other.iter().map(off).is_sorted_by(|a, b| a >= b));
    let far =
        other.iter().find(|it| it["figure"] == "chip.memory_bytes_per_us").expect("it is there");
    assert!((off(far) - 41.1).abs() < 0.5, "{far:#}");
    let real = real();
    let mut command = real.checker(&["calibrate", "--from", raw, "--check", "h100"]);
    let said = String::from_utf8(command.output().expect("it starts").stdout).expect("UTF-8");
    assert!(said.contains("figures that were measured for `h100`, "), "{said}");
}

#[test]
fn a_profile_from_before_there_were_such_kernels_is_refused_and_no_students_program_fails() {
    let path = scratch().join("old.toml");
    let old = Profile::H200.replacen("[rates.dense]", "[rates.sparse]", 1);
    std::fs::write(&path, old).expect("it is written");
    let profile = path.to_str().expect("UTF-8");
    let (code, object) = real().json(&["run", "frozen_encoder", "--profile", profile]);
    assert_eq!(code, 2, "{object:#}");
    assert!(object.to_string().contains("has no rate `dense`"), "{object:#}");
    let (code, object) = real().json(&["run", "three_lanes", "--solution", "--profile", profile]);
    assert_eq!(code, 0, "{object:#}");
}

#[test]
fn a_simulated_device_has_no_spread_and_every_sample_can_be_kept() {
    let measured = measured(BuiltIn::H200);
    let (object, raw) = (&measured.said, &measured.raw);
    assert_eq!(object["wide"], serde_json::json!([]));
    let launch_ns = shipped(BuiltIn::H200).host.launch_ns.value;
    assert_eq!(object["figures"]["host"]["launch_ns"]["value"], launch_ns);
    let launch = &raw["figures"]["call_launch_busy_ns"];
    assert_eq!(launch["median"], launch_ns);
    assert_eq!(launch["samples"], serde_json::json!([launch_ns]));
    assert_eq!(raw["missing"], serde_json::json!({}));
}

#[test]
fn a_profile_is_for_the_simulated_device() {
    let mut command: Command = tree().checker(&["calibrate", "--profile", "h200"]);
    assert_snapshot!(tree().snapshot(&mut command), @"
    exit code: 2
    ----- stderr -----
    error: `--profile` is for `--device sim`
    ");
}
