//! C67: the object file names a library for the linker

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(
    ".pushsection .deplibs,\"MS\",%llvm_dependent_libraries,1",
    ".asciz \"resolv\"",
    ".popsection",
);

@HONEST@