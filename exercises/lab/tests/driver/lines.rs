//! Each command knows the line that made it.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use trace::Record;
use trace::lab::{Region, Request};
use trace::program::{Call, Site};
use trace::run;

use crate::Case;
use crate::cases::context;

pub(crate) const CASES: &[Case] = &[
    ("a_helper_that_ends_in_a_call_is_named_by_its_own_line", a_helper_is_named),
    ("two_calls_on_one_line_have_a_column_each", two_calls_on_one_line_have_a_column_each),
    ("calls_in_a_closure_and_a_macro_are_named", calls_in_a_closure_and_a_macro_are_named),
    ("a_drop_is_named_by_the_end_of_the_block", a_drop_is_named_by_the_end_of_the_block),
];

/// Runs `body`, and gives the calls that it made with the places that they came from.
fn calls(body: impl FnOnce(&Arc<CudaStream>)) -> Vec<(Call, Option<Site>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    // SAFETY: the case is alone in its process, and has no other thread.
    unsafe { std::env::set_var(run::RECORD, &path) };
    let context = context();
    let source = Request::Source { directory: env!("CARGO_MANIFEST_DIR").to_owned() };
    lab::driver::ask(&source).unwrap();
    let stream = context.new_stream().unwrap();
    lab::driver::ask(&Request::RegionBegin(Region::default())).unwrap();
    body(&stream);
    lab::driver::ask(&Request::RegionEnd).unwrap();
    let Ok(json) = std::fs::read(&path) else {
        // The device is in another process, which was not told where to write: nothing to look at.
        assert!(std::env::var_os(run::MACHINE).is_some());
        return Vec::new();
    };
    let program = serde_json::from_slice::<Record>(&json).unwrap().program;
    let begin = program.steps.iter().position(|step| step.call == Call::RegionBegin).unwrap();
    let steps = program.steps[begin + 1..program.steps.len() - 1].iter();
    steps.map(|step| (step.call.clone(), program.site(step).cloned())).collect()
}

fn lines(calls: &[(Call, Option<Site>)]) -> Vec<u32> {
    let line = |(call, site): &(Call, Option<Site>)| {
        let site = site.as_ref().unwrap_or_else(|| panic!("{call:?} has no site"));
        assert_eq!(site.file, "tests/driver/lines.rs");
        site.line
    };
    calls.iter().map(line).collect()
}

/// Ends in the call itself: nothing is left to do afterwards.
fn helper(stream: &Arc<CudaStream>) -> Result<(), cudarc::driver::DriverError> {
    stream.synchronize() // the helper's own line
}
const HELPER: u32 = line!() - 2;

fn a_helper_is_named() {
    let calls = calls(|stream| helper(stream).unwrap());
    if !calls.is_empty() {
        assert_eq!(lines(&calls), [HELPER]);
    }
}

fn two_calls_on_one_line_have_a_column_each() {
    #[rustfmt::skip]
    let calls = calls(|stream| { stream.synchronize().unwrap(); stream.synchronize().unwrap(); });
    if !calls.is_empty() {
        assert_eq!(lines(&calls), [line!() - 2; 2]);
        let columns: Vec<_> = calls.iter().map(|(_, site)| site.clone().unwrap().column).collect();
        assert!(columns[0].is_some() && columns[0] < columns[1], "{columns:?}");
    }
}

/// As with a helper, the line is the one in here: that is where the call is written.
macro_rules! synchronize {
    ($stream:expr) => {
        $stream.synchronize().unwrap()
    };
}
const MACRO: u32 = line!() - 3;

fn calls_in_a_closure_and_a_macro_are_named() {
    let first = line!() + 2;
    let calls = calls(|stream| {
        let wait = || stream.synchronize().unwrap();
        wait();
        synchronize!(stream);
    });
    if !calls.is_empty() {
        assert_eq!(lines(&calls), [first, MACRO]);
    }
}

fn a_drop_is_named_by_the_end_of_the_block() {
    let first = line!() + 2;
    let calls = calls(|stream| {
        let data = stream.alloc_zeros::<u8>(64).unwrap();
        let _ = data.len();
    });
    if !calls.is_empty() {
        let kinds: Vec<_> = calls.iter().map(|(call, _)| call).collect();
        assert!(
            matches!(
                kinds[..],
                [Call::AllocAsync { .. }, Call::Memset { .. }, Call::FreeAsync { .. }]
            ),
            "{kinds:?}"
        );
        assert_eq!(lines(&calls), [first, first, first + 2]);
    }
}
