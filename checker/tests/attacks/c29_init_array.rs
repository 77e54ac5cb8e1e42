//! C29: a function runs before `main`

use lab::Result;
use lab::first_launch::Session;

#[used]
#[unsafe(link_section = ".init_array")]
static FIRST: extern "C" fn() = first;

extern "C" fn first() {
    println!("VERDICT pass");
    std::process::exit(0);
}

@HONEST@