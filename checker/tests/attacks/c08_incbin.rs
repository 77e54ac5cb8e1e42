//! C08: the assembler is asked for `/etc/passwd`

use lab::Result;
use lab::first_launch::Session;

std::arch::global_asm!(".pushsection .rodata", "stolen_bytes:", ".incbin \"/etc/passwd\"", ".popsection");

@HONEST@