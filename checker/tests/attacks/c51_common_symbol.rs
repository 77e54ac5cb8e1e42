//! C51: a variable of the C library gets its memory here

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".comm environ, 8, 8",
);

@HONEST@