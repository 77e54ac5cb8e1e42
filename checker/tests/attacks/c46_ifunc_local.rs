//! C46: a function chooses itself before `main`, and nobody else sees its name

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".text",
    ".type chosen, %gnu_indirect_function",
    "chosen:",
    "jmp {early}",
    ".section .data.table,\"aw\",%progbits",
    ".quad chosen",
    ".text",
    early = sym early,
);

extern "C" fn early() -> usize {
    println!("VERDICT pass");
    std::process::exit(0)
}

@HONEST@