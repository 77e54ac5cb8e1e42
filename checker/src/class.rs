//! A class: many students' files, graded like one.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`record`] | what is kept of one student's exercise, which every report is made from |

#[expect(dead_code, reason = "rows are not written yet")]
pub(crate) mod record;
#[cfg(test)]
mod schema;
