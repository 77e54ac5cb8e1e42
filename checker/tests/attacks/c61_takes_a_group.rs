//! C61: a group of sections under the name of somebody else's, of which the first one counts

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .text.group,\"axG\",%progbits,memcpy,comdat",
    "nop",
    ".popsection",
);

@HONEST@