//! C69: a symbol of which the loader keeps one in the whole process

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .data.unique,\"aw\",%progbits",
    ".globl _RNvCs1_12first_launch3one",
    ".type _RNvCs1_12first_launch3one, %gnu_unique_object",
    "_RNvCs1_12first_launch3one:",
    ".quad 0",
    ".popsection",
);

@HONEST@