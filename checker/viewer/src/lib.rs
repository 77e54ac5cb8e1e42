//! Traces of any program: read from a file, measured, and told in lines.
//!
//! `checker trace` prints the lines, and the book has a page for them, in which this runs as wasm.
//! The two say the same.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`source`] | from a file to runs of devices |
//! | [`facts`] | what follows from a run |
//! | [`lessons`] | which chapters are about what it lost time to |
//! | [`lines`] | what is told of it |
//! | [`view`] | its drawing, and the part that is looked at |
//! | [`page`] | all of it as HTML |
//! | [`alone`] | the same as a file that stands alone |
//! | `export` | what the wasm offers to the page's worker |

pub mod alone;
#[cfg(target_family = "wasm")]
mod export;
pub mod facts;
pub mod lessons;
pub mod lines;
pub mod page;
pub mod source;
pub mod view;
