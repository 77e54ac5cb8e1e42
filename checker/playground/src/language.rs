//! A small language for host programs: one line is one call, in the words of the field.
//!
//! ```text
//! pinned h 12 MiB                 # memory, before the clock starts
//! repeat 3 {
//!   in a: up h to x[i]            # a copy to the device, in stream `a`
//!   in b: wait a                  # `b` waits for what `a` was given so far
//!   in b: kernel 2 ms 64 blocks on x[i]
//!   in b: down x[i]
//! }
//! sync                            # the host waits
//! ```
//!
//! [`compile`] makes a [`Program`] of such a text, with the calls that cudarc makes. A copy from or
//! to pinned memory has the stream wait for that memory's own event first, and a stream that waits
//! for a stream takes an event for it. Each step knows its line. A text with mistakes gives all of
//! them, each with its place and with what to write instead.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`mistake`] | what is wrong with a text, and where |
//! | `lexer` | words, numbers and signs |
//! | `syntax` | the statements |
//! | `parse` | from the text to statements |
//! | `calls` | the same for calls |
//! | `number` | numbers with a fraction, and sums of them |
//! | `things` | what a name stands for |
//! | `names` | streams, events and memory by their names |
//! | `lower` | from statements to a program |
//! | `copies` | the same for copies and kernels |

mod calls;
mod copies;
mod lexer;
mod lower;
pub mod mistake;
mod names;
mod number;
mod parse;
mod syntax;
mod things;

pub use mistake::Mistake;

use std::mem::ManuallyDrop;

use trace::Program;
use trace::program::StreamId;

/// The rate of kernels that are given by their time: its unit is a nanosecond of one
/// multiprocessor.
pub const TIME: &str = "time";

/// A text, as a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The calls.
    pub program: Program,
    /// The names of the streams in the text, in the order of their numbers.
    pub streams: Vec<String>,
    /// The device, as [`crate::profiles`] counts them.
    pub device: usize,
}

impl Compiled {
    /// The streams with their names.
    pub fn named_streams(&self) -> impl Iterator<Item = (StreamId, &str)> {
        let numbers = (StreamId::FIRST_CREATED..).map(StreamId);
        numbers.zip(self.streams.iter().map(String::as_str))
    }
}

/// The program that `text` stands for, or all that is wrong with it, in the order of its lines.
pub fn compile(text: &str) -> Result<Compiled, Vec<Mistake>> {
    // In a page all memory is free again with the next request: see `export`.
    let statements = ManuallyDrop::new(parse::parse(text)?);
    let compiled = lower::lower(&statements);
    if !cfg!(target_family = "wasm") {
        drop(ManuallyDrop::into_inner(statements));
    }
    compiled
}
