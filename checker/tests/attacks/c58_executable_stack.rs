//! C58: stacks are to be executable

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .note.GNU-stack,\"x\",%progbits",
    ".popsection",
);

@HONEST@