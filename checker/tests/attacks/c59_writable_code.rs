//! C59: code that may be written over

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .text.soft,\"awx\",%progbits",
    "nop",
    ".popsection",
);

@HONEST@