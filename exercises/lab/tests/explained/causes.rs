//! Programs with a cause of lost overlap: a file for each code.

mod c01;
mod c02;
mod c03;
mod c04;
mod c05;
mod c06;
mod c07;
mod c08;
mod c09;
mod c11;
mod c12;
mod c13;
mod c14;
mod c15;
mod c16;
mod c17;
mod c18;
mod c19;
mod c20;

use std::time::Duration;

use lab::{HostBlock, HostMemory, Lab, Result, host_work};

use crate::Explained;
use crate::bench::{
    Chunk, Kernel, MIB, copy_at_once, device, each, finish, pinned, sized, stream, vast, words,
};

pub(crate) const EXPLAINED: &[Explained] = &[
    Explained { code: "SWIM-C01", wrong: c01::wrong, right: c01::right, also: &[] },
    Explained { code: "SWIM-C02", wrong: c02::wrong, right: c02::right, also: &[] },
    Explained { code: "SWIM-C03", wrong: c03::wrong, right: c03::right, also: &[] },
    Explained { code: "SWIM-C04", wrong: c04::wrong, right: c04::right, also: &[] },
    Explained { code: "SWIM-C05", wrong: c05::wrong, right: c05::right, also: &[] },
    Explained { code: "SWIM-C06", wrong: c06::wrong, right: c06::right, also: &[] },
    Explained { code: "SWIM-C07", wrong: c07::wrong, right: c07::right, also: &[] },
    Explained { code: "SWIM-C08", wrong: c08::wrong, right: c08::right, also: &[] },
    Explained { code: "SWIM-C09", wrong: c09::wrong, right: c09::right, also: &[] },
    Explained { code: "SWIM-C11", wrong: c11::wrong, right: c11::right, also: &[] },
    Explained { code: "SWIM-C12", wrong: c12::wrong, right: c12::right, also: &[] },
    Explained { code: "SWIM-C13", wrong: c13::wrong, right: c13::right, also: &[] },
    Explained { code: "SWIM-C14", wrong: c14::wrong, right: c14::right, also: &[] },
    Explained { code: "SWIM-C15", wrong: c15::wrong, right: c15::right, also: &[] },
    Explained { code: "SWIM-C16", wrong: c16::wrong, right: c16::right, also: &["SWIM-C04"] },
    Explained { code: "SWIM-C17", wrong: c17::wrong, right: c17::right, also: &[] },
    Explained { code: "SWIM-C18", wrong: c18::wrong, right: c18::right, also: &[] },
    Explained { code: "SWIM-C19", wrong: c19::wrong, right: c19::right, also: &[] },
    Explained { code: "SWIM-C20", wrong: c20::wrong, right: c20::right, also: &[] },
];
