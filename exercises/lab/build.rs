//! The build id of the driver library that the lab belongs to.

#[path = "../../checker/driver/build_id.rs"]
mod build_id;

fn main() {
    println!(
        "cargo::rustc-env=SWIM_BUILD_ID={}",
        build_id::build_id("../../checker/driver".as_ref())
    );
}
