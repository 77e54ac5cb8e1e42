//! Hazards: correct programs, racy ones, and random ones against an independent oracle.

mod completeness;
mod correct;
mod cost;
mod misleading;
mod near;
mod oracle;
mod racy;
mod random;
mod script;
mod threaded;
mod unwaited;
mod words;
