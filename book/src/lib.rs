//! The program that builds, proofs and serves the book; the text is in `chapters`.
//!
//! It is not a fork of mdBook: it runs `mdbook-driver` with five preprocessors of its own in the
//! same process, and stock `mdbook build` gives the same pages through the commands in `book.toml`.
//! It knows nothing of CUDA: what a figure shows comes from recorded runs.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`site`] | one build of the whole book |
//! | [`head`] | what a page says of itself where a link to it is shown |
//! | [`cards`] | the picture that goes with a link to a page |
//! | [`search`] | the search index, without what a gate keeps |
//! | [`serve`] | the built book on a local address, built again when a file changes |
//! | [`proof`] | everything that mdBook says nothing about, as errors with file and line |
//! | [`preprocessors`] | the preprocessors as mdBook sees them |
//! | [`figure`] | `figure` blocks: timelines drawn from records; numbers in the text |
//! | [`puzzle`] | `puzzle` and `predict` blocks: programs side by side, and what the reader expects |
//! | [`quiz`] | `quiz` blocks: strict TOML to forms |
//! | [`playground`] | playgrounds: programs with controls |
//! | [`tables`] | tables made from files: codes, what a GPU did, minutes; curves |
//! | [`viewer`] | the page into which a reader drops a trace |
//! | [`wasm`] | what runs in pages: the simulator, and what reads traces |
//! | [`evidence`] | marks that say what shows a claim |
//! | [`records`] | the recorded runs under `figures`, and what follows from them |
//! | [`page`] | one chapter, and the blocks in it |
//! | [`listing`] | a part of a source file; which lines of two differ |
//! | [`markup`] | text as HTML that can stand inside Markdown |
//! | [`door`] | the puzzle of the first page as pictures, for the README |
//! | [`problem`] | what is wrong, with file and line |

pub mod cards;
pub mod cli;
pub mod door;
pub mod evidence;
pub mod exercises;
pub mod figure;
pub mod head;
pub mod listing;
mod log;
pub mod markup;
pub mod page;
pub mod playground;
pub mod preprocessors;
mod print;
pub mod problem;
pub mod proof;
pub mod puzzle;
pub mod quiz;
pub mod records;
pub mod search;
pub mod serve;
pub mod site;
pub mod tables;
pub mod viewer;
pub mod wasm;
