//! C68: a list of constructors under the name of data

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .data.list,\"aw\",%init_array",
    ".quad {early}",
    ".popsection",
    early = sym early,
);

extern "C" fn early() -> usize {
    println!("VERDICT pass");
    std::process::exit(0)
}

@HONEST@