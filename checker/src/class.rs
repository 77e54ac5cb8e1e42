//! A class: many students' files, graded like one.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`kit`] | what every submission is compiled against |
//! | [`compile`] | from a student's file to a program, by `rustc` alone |
//! | [`objects`] | what the compiler made of a student's file, and what may be in it |
//! | [`one`] | one student's exercise, from the file to what is kept of it |
//! | [`worker`] | a process that grades one file after another |
//! | [`on_gpu`] | what files take on a GPU, beside their grades |
//! | [`took`] | what grading took, stage by stage |
//! | [`grading`] | a class's files, graded by several workers at once |
//! | [`store`] | the folder that a class's grades are in |
//! | [`export`] | every report, made from the rows |
//! | [`record`] | what is kept of one student's exercise, which every report is made from |
//! | [`name`] | names that came from outside: how they are shown, what files are called after them |
//! | [`submission`] | what students handed in, and which file of it is graded |
//! | [`roster`] | who is in the class |
//! | [`late`] | what comes after the deadline |
//! | [`replacements`] | points that a person gives in place of a score |
//! | [`similar`] | files that resemble each other |
//! | [`prints`] | what a class's files are compared by, and the list of those that resemble each other |
//! | [`erase`] | taking a student's data out |
//! | [`table`] | tables that an instructor writes, read strictly |

pub(crate) mod compile;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod grading;
pub(crate) mod kit;
pub(crate) mod late;
pub(crate) mod name;
pub(crate) mod objects;
pub(crate) mod on_gpu;
pub(crate) mod one;
pub(crate) mod prints;
pub(crate) mod record;
pub(crate) mod replacements;
pub(crate) mod roster;
#[cfg(test)]
mod schema;
pub(crate) mod similar;
pub(crate) mod store;
pub(crate) mod submission;
mod table;
pub(crate) mod took;
pub(crate) mod worker;
