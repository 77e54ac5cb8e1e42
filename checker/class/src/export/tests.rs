//! A class in every format: as it should look, read by a reader of its own kind, and with hostile text in
//! every place where a student could have put some.
//!
//! | module | what it proves, or holds |
//! | --- | --- |
//! | `class` | the class |
//! | `looks` | how each format looks |
//! | `grades` | points: what has none, and that all formats agree |
//! | `gradebook` | a gradebook of Canvas, filled in |
//! | `other_side` | results as those read them whom they are for |
//! | `hostile` | hostile text is text |
//! | `feedback` | what a student is told, and what not |
//! | `files` | which files are written, and where |

pub(crate) mod class;
mod feedback;
mod files;
mod gradebook;
mod grades;
mod hostile;
mod looks;
mod other_side;
