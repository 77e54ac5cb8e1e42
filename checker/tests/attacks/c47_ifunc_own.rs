//! C47: the same, under a name of the own crate

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".text",
    ".globl _RNvCs1_12first_launch6chosen",
    ".type _RNvCs1_12first_launch6chosen, %gnu_indirect_function",
    "_RNvCs1_12first_launch6chosen:",
    "jmp {early}",
    ".section .data.table,\"aw\",%progbits",
    ".quad _RNvCs1_12first_launch6chosen",
    ".text",
    early = sym early,
);

extern "C" fn early() -> usize {
    println!("VERDICT pass");
    std::process::exit(0)
}

@HONEST@