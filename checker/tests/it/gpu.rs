//! A machine with a GPU, or with one that is broken, as far as a stand-in for the system's driver can
//! tell.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;

use crate::tree::{Tree, manifest, scratch, shared_library, tree, write};

/// A stand-in for the system's `libcuda.so.1`, whose `cuInit` does what the variable says.
const LIBRARY: &str = r##"
use std::ffi::{c_char, c_int, c_uint};

#[unsafe(no_mangle)]
extern "C" fn cuInit(_: c_uint) -> c_int {
    match std::env::var("STAND_IN").as_deref() {
        Ok("hangs") => loop { std::thread::sleep(std::time::Duration::from_secs(1)) },
        Ok("crashes") => std::process::abort(),
        Ok("fails") => 999,
        _ => { println!("chatter"); 0 }
    }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { *count = if std::env::var("STAND_IN").as_deref() == Ok("empty") { 0 } else { 1 } };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, _: c_int) -> c_int {
    unsafe { *device = 0 };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, _: c_int, _: c_int) -> c_int {
    unsafe { c"Stand-in".as_ptr().copy_to(name, 9) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    unsafe { *version = if std::env::var("STAND_IN").as_deref() == Ok("old") { 11080 } else { 13010 } };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _: c_int) -> c_int {
    assert_eq!(attribute, 40);
    unsafe { *value = if std::env::var("STAND_IN").as_deref() == Ok("narrow") { 1 } else { 3 } };
    0
}
"##;

/// The folder of the stand-in.
pub(crate) fn library() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("stand-in");
        shared_library(&folder.join("libcuda.so.1"), LIBRARY);
        folder
    })
}

pub(crate) fn with_gpu(arguments: &[&str], behaviour: &str) -> Command {
    let mut command = tree().checker(arguments);
    command.env("LD_LIBRARY_PATH", library()).env("STAND_IN", behaviour);
    command
}

#[test]
fn without_a_gpu_asking_for_one_is_an_error_with_a_way_out() {
    for (behaviour, why) in [
        ("empty", "the driver finds no device"),
        ("fails", "`cuInit` fails with CUresult 999"),
        ("crashes", "the driver crashed with signal 6"),
        ("old", "the driver of Stand-in is for CUDA 11.8, and the oldest that works is for 12.0"),
    ] {
        let text = tree().snapshot(&mut with_gpu(&["run", "swift", "--device", "gpu"], behaviour));
        assert_eq!(
            text,
            format!(
                "exit code: 4\n----- stderr -----\nerror: no usable GPU: {why}\n\n\
                 hint: `--device sim` runs every exercise without one\n"
            )
        );
    }
}

#[test]
fn the_object_for_a_gpu_that_is_not_there_is_an_error_without_a_gate() {
    let mut command = with_gpu(&["run", "swift", "--device", "gpu", "--json"], "empty");
    let (code, object) = crate::tree::json(&mut command);
    assert_eq!(code, 4);
    assert_eq!(
        json!([object["exercise"], object["device"], object["verdict"], object["gate"]]),
        json!(["swift", "gpu", "error", null])
    );
}

#[test]
fn without_a_usable_gpu_the_simulated_device_is_taken() {
    let (code, object) = crate::tree::json(&mut with_gpu(&["run", "swift", "--json"], "crashes"));
    assert_eq!((code, object["device"].as_str()), (0, Some("sim")));
}

#[test]
fn on_a_gpu_the_median_of_several_rounds_is_graded() {
    let (code, object) = crate::tree::json(&mut with_gpu(&["run", "swift", "--json"], "works"));
    assert_eq!(code, 0, "{object:#}");
    assert_eq!(object["device"], "gpu");
    assert_eq!(object["device_name"], "Stand-in");
    assert_eq!(object["trust"], "in-process");
    assert_eq!(object["makespan_ns"], 1_050_000);
    // Each engine's median, and not the pass that took almost twice as long.
    assert_eq!(object["floor_ns"], 1_000_000);
    assert_eq!(object["serial_ns"], 3_000_000);
    assert_eq!(object["score"], 100.0);
    assert_eq!((&object["score_low"], &object["score_high"]), (&json!(100.0), &json!(100.0)));
}

#[test]
fn measurements_that_spread_too_far_are_inconclusive_and_no_fail() {
    let arguments = ["run", "noisy", "--json", "--time-cap", "0"];
    let (code, object) = crate::tree::json(&mut with_gpu(&arguments, "works"));
    assert_eq!(code, 3, "{object:#}");
    assert_eq!(
        json!([object["verdict"], object["gate"], object["score"]]),
        json!(["inconclusive", null, null])
    );
}

#[test]
fn without_a_solution_its_record_is_played_on_the_gpu() {
    let (code, object) = crate::tree::json(&mut with_gpu(&["run", "unsolved", "--json"], "works"));
    assert_eq!((code, object["score"].as_f64()), (0, Some(100.0)), "{object:#}");
    assert!(object["notes"].to_string().contains("played from its record"), "{object:#}");
}

#[test]
fn without_a_baseline_a_gpu_cannot_measure() {
    let mut command = with_gpu(&["run", "sluggish", "--json"], "works");
    let (code, object) = crate::tree::json(&mut command);
    assert_eq!((code, object["verdict"].as_str()), (4, Some("error")), "{object:#}");
}

#[test]
fn a_gate_that_fails_on_a_gpu_ends_the_measurement() {
    let mut command = with_gpu(&["run", "swift", "--baseline", "--json"], "works");
    let (code, object) = crate::tree::json(&mut command);
    assert_eq!((code, object["score"].as_f64()), (1, Some(0.0)), "{object:#}");
}

#[test]
fn a_program_of_the_puzzle_is_timed_on_a_gpu_and_not_graded() {
    let mut command = with_gpu(&["run", "swift", "--program", "drawn", "--json"], "works");
    let (code, object) = crate::tree::json(&mut command);
    assert_eq!((code, object["makespan_ns"].as_u64()), (0, Some(1_400_000)), "{object:#}");
    assert_eq!(object["verdict"], serde_json::Value::Null);
}

#[test]
fn the_doctor_names_the_gpu() {
    let text = tree().snapshot(&mut with_gpu(&["doctor"], "works"));
    assert!(text.contains("ok      gpu: Stand-in, driver for CUDA 13.1"), "{text}");
    assert!(
        text.contains("ok      copy engines: 3: copies in both directions run at once"),
        "{text}"
    );
    assert!(text.contains("swift: runs, simulated and on the GPU\n"), "{text}");
}

#[test]
fn a_driver_that_is_too_old_is_no_gpu_for_anyone() {
    let text = tree().snapshot(&mut with_gpu(&["doctor"], "old"));
    assert!(text.contains("absent  gpu: the driver of Stand-in is for CUDA 11.8"), "{text}");
    assert!(text.contains("hint: install a driver of release 525 or later"), "{text}");
    assert!(text.contains("swift: runs, simulated\n"), "{text}");
    let (code, object) = crate::tree::json(&mut with_gpu(&["run", "swift", "--json"], "old"));
    assert_eq!((code, object["device"].as_str()), (0, Some("sim")));
}

#[test]
fn the_doctor_says_which_lesson_a_gpu_cannot_show() {
    let tree = Tree::sound(scratch().join("narrow"), scratch().join("sound-target"));
    let needs = "pass_score = 80\nneeds = [\"a copy engine for each direction\"]";
    let manifest = manifest("swift", true).replace("pass_score = 80", needs);
    write(&tree.root().join("exercises/01_swift/exercise.toml"), &manifest);
    let mut command = tree.checker(&["doctor"]);
    let text = tree.snapshot(command.env("LD_LIBRARY_PATH", library()).env("STAND_IN", "narrow"));
    for line in [
        "absent  copy engines: 1: copies in both directions take turns\n        hint: ",
        "swift: runs, simulated; on this GPU its lesson does not show: it needs a copy engine for each direction\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn where_an_exercise_takes_two_gpus_and_there_is_one_it_is_simulated_and_said() {
    let tree = Tree::sound(scratch().join("two"), scratch().join("sound-target"));
    let needs = "pass_score = 80\nneeds = [\"two GPUs\"]";
    let manifest = manifest("swift", true).replace("pass_score = 80", needs);
    write(&tree.root().join("exercises/01_swift/exercise.toml"), &manifest);
    let run = |arguments: &[&str]| {
        let mut command = tree.checker(arguments);
        tree.snapshot(command.env("LD_LIBRARY_PATH", library()).env("STAND_IN", "works"))
    };
    let doctor = run(&["doctor"]);
    let says = "swift: runs, simulated; `swift` takes two GPUs, and this machine has one\n";
    assert!(doctor.contains(says), "{doctor}");
    let auto = run(&["run", "swift"]);
    assert!(auto.contains("simulated h200"), "{auto}");
    assert!(
        auto.contains(
            "note: `swift` takes two GPUs, and this machine has one: it runs on two simulated ones"
        ),
        "{auto}"
    );
    let gpu = run(&["run", "swift", "--device", "gpu"]);
    assert!(gpu.contains("error: `swift` takes two GPUs, and this machine has one"), "{gpu}");
    assert!(gpu.contains("hint: `--device sim` simulates two"), "{gpu}");
}

#[test]
fn without_a_gpu_there_is_nothing_to_calibrate() {
    let mut command = with_gpu(&["calibrate"], "fails");
    insta::assert_snapshot!(tree().snapshot(&mut command), @"
    exit code: 4
    ----- stderr -----
    error: there is no GPU to measure: `cuInit` fails with CUresult 999

    hint: run it on a machine with one; `checker dev bundle DIR` gathers what it needs there
    ");
}
