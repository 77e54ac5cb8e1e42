//! One file for each command; `reports` is what those that touch a class's grades have in common.

pub(crate) mod forget;
pub(crate) mod grade;
pub(crate) mod merge;
mod reports;
