//! C48: the same, for whoever has no `clock_gettime` of their own

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".text",
    ".weak clock_gettime",
    ".type clock_gettime, %gnu_indirect_function",
    "clock_gettime:",
    "jmp {early}",
    early = sym early,
);

extern "C" fn early() -> usize {
    println!("VERDICT pass");
    std::process::exit(0)
}

@HONEST@