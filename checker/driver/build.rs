//! Gives the library its SONAME and its build id.

mod build_id;

fn main() {
    // glibc answers cudarc's `dlopen("libcuda.so")` with a library of that SONAME that is loaded
    // already. Never `libcuda.so.1`: that name belongs to the real driver, and CUPTI looks for it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    println!("cargo::rustc-env=SWIM_BUILD_ID={}", build_id::build_id("".as_ref()));
}
