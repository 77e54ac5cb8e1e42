//! C73: a static in a section that no compiler makes

use lab::Result;
use lab::first_launch::Session;

#[unsafe(link_section = ".preinit_array")]
#[used]
static LIST: extern "C" fn() -> usize = early;

extern "C" fn early() -> usize {
    println!("VERDICT pass");
    std::process::exit(0)
}

@HONEST@