//! Folders and archives as students hand them in, and as some would who mean no good.
//!
//! | module | what it proves, or holds |
//! | --- | --- |
//! | `class` | a class's folder that a test fills |
//! | `pack` | archives as anybody could write them |
//! | `found` | which file is graded, and what is said where there is none |
//! | `students` | whose a submission is |
//! | `attacks` | attacks on the file and on its folder |
//! | `archives` | archives that somebody made by hand |

mod archives;
mod attacks;
mod class;
mod found;
mod pack;
mod students;
