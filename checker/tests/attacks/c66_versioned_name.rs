//! C66: a name with a version of the C library's

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".text",
    ".globl own_copy",
    "own_copy:",
    "ret",
    ".symver own_copy, memcpy@BYTE 40@@BYTE 40@@BYTE 40@GLIBC_2.14",
);

@HONEST@