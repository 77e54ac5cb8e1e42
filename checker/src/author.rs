//! What an author's files have to be, beyond what their formats say.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`problem`] | what is wrong, with file and line |
//! | [`place`] | places that are still to be filled |
//! | [`marks`] | the regions of a student's file, and what a solution does in them |
//! | [`advice`] | hints that are there, and that leave something to do |
//! | [`model`] | the chapter that a new one starts as |

pub(crate) mod advice;
pub(crate) mod marks;
pub(crate) mod model;
pub(crate) mod place;
pub(crate) mod problem;

pub(crate) use problem::{Problem, Problems};
