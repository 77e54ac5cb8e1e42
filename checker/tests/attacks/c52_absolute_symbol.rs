//! C52: a function of the C library is to be at an address without memory

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".globl abort",
    ".set abort, 0",
);

@HONEST@