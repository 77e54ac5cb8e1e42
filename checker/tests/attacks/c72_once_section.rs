//! C72: a section of which linkers keep the first with its name

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .gnu.linkonce.t.memcpy,\"ax\",%progbits",
    "ret",
    ".popsection",
);

@HONEST@