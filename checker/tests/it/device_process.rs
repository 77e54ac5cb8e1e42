//! The simulated device in a process of the checker's, with a stand-in for the driver library.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::tree::{json, scratch, shared_library, tree};

/// Makes shared memory, and serves it by writing the record that a variable names; or dies, as another says.
const LIBRARY: &str = r##"
use std::ffi::{c_char, c_int, c_uint};

unsafe extern "C" {
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

#[unsafe(no_mangle)]
extern "C" fn swim_build_id() -> *const c_char {
    c"0123456789abcdef".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn swim_device_memory() -> c_int {
    unsafe { memfd_create(c"stand-in".as_ptr(), 0) }
}

#[unsafe(no_mangle)]
extern "C" fn swim_serve(_: c_int) -> c_int {
    match std::env::var("STAND_IN_DIES").as_deref() {
        Ok("of a mistake") => std::process::abort(),
        Ok("of memory") => {
            let much = vec![0_u8; 8 << 30];
            eprintln!("there are {} bytes", much.len());
            loop { std::thread::sleep(std::time::Duration::from_secs(1)) }
        }
        Ok("of a large record") => {
            let record = std::fs::File::create(std::env::var_os("SWIM_RECORD").unwrap()).unwrap();
            record.set_len((512 << 20) + 1).unwrap();
            loop { std::thread::sleep(std::time::Duration::from_secs(1)) }
        }
        Ok("of somebody") => unsafe {
            kill(std::process::id() as c_int, 9);
        },
        _ => {}
    }
    match std::env::var("STAND_IN_RECORD") {
        Ok(from) => {
            std::fs::copy(from, std::env::var_os("SWIM_RECORD").unwrap()).unwrap();
            loop { std::thread::sleep(std::time::Duration::from_secs(1)) }
        }
        Err(_) => {
            eprintln!("there is no room for a device");
            1
        }
    }
}
"##;

fn library() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = scratch().join("stand-in-driver.so");
        shared_library(&path, LIBRARY);
        path
    })
}

fn in_two_processes(exercise: &str) -> Command {
    let arguments = ["run", exercise, "--device", "sim", "--machine", "process"];
    let mut command = tree().checker(&arguments);
    command.env("SWIM_DRIVER", library());
    command
}

#[test]
fn the_device_process_writes_the_record_and_ends_with_the_program() {
    let mut command = in_two_processes("connects");
    command.env("STAND_IN_RECORD", tree().root().join("records/swift.json"));
    let text = tree().snapshot(&mut command);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert!(text.contains("  connected through /memfd:stand-in (deleted)\n"), "{text}");
    assert!(text.contains("  writes a record to /dev/null\n"), "{text}");
}

#[test]
fn a_device_process_that_dies_is_an_error_at_once_and_not_the_students() {
    let start = Instant::now();
    let (code, object) = json(in_two_processes("loops").arg("--json"));
    assert_eq!((code, object["verdict"].as_str()), (4, Some("error")));
    assert_eq!(object["gate"], serde_json::Value::Null);
    let message = object["message"].as_str().expect("a message");
    assert!(message.contains("there is no room for a device"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(10), "it waited for the time limit");
}

#[test]
fn a_device_process_that_dies_of_what_a_program_asks_for_is_charged_to_the_program() {
    for dies in ["of a mistake", "of memory", "of a large record"] {
        let mut command = in_two_processes("loops");
        let (code, object) = json(command.arg("--json").env("STAND_IN_DIES", dies));
        let found = (code, object["verdict"].as_str(), object["gate"].as_str());
        assert_eq!(found, (1, Some("failed"), Some("output")), "{dies}: {object:#}");
        let message = object["message"].as_str().expect("a message");
        assert!(message.contains("over what the program asked of it"), "{dies}: {message}");
    }
    // A person, or a kernel without memory, ends a process that holds little: that is nobody's fault.
    let mut command = in_two_processes("loops");
    let (code, object) = json(command.arg("--json").env("STAND_IN_DIES", "of somebody"));
    assert_eq!((code, object["verdict"].as_str()), (4, Some("error")), "{object:#}");
}

#[test]
fn a_library_without_a_device_is_an_error() {
    let mut command = in_two_processes("connects");
    let (code, object) = json(command.arg("--json").env("SWIM_DRIVER", "libc.so.6"));
    assert_eq!((code, object["verdict"].as_str()), (4, Some("error")), "{object:#}");
}

#[test]
fn the_doctor_says_which_build_the_driver_library_is() {
    let mut command = tree().checker(&["doctor"]);
    let text = tree().snapshot(command.env("SWIM_DRIVER", library()));
    assert!(text.contains("stand-in-driver.so, build 0123456789abcdef\n"), "{text}");
}
