//! The vocabulary of the project: what a host program issued to a CUDA device ([`Program`]), what
//! ran where and when ([`Timeline`]), and what follows from the two (metrics, drawings).
//!
//! It is not a simulator and not a driver: it holds no clock, does no input or output and knows no
//! CUDA library. It builds for wasm. All times are integer nanoseconds, all intervals half-open,
//! and all byte counts *nominal* (see [`Program::scale`]).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`program`] | calls, in the order in which the host made them |
//! | [`validity`] | whether a program can be played at all |
//! | [`timeline`] | spans of device work and of host calls |
//! | [`record`] | one run of one program: both of the above and what was checked |
//! | [`env`] | how a run is started: environment variables |
//! | [`words`] | words that all reports and pages share |
//! | [`version`] | refusing a JSON form of another version |
//! | [`lab_protocol`] | what the lab asks of the driver beside the driver API |
//! | [`numbers`] | numbers by which programs of one file differ |
//! | [`shuffle`] | the order in which the items of a question are shown |
//! | [`fidelity`] | predicted against measured, as it is kept of one GPU |
//! | [`import`](mod@import) | traces of other tools |
//! | [`export`] | timelines for other tools |
//! | [`observed`] | one device's run with what is known of its calls, as the analyses take it |
//! | [`meter`] | the readings that a meter has to give |
//! | [`metrics`] | busy time, hidden fraction, exposed copy, idle, overlap efficiency |
//! | [`hazards`] | uses of the same memory that nothing orders |
//! | [`causes`] | why lanes that had work to do stood empty |
//! | [`signs`] | what a program could do otherwise, whatever that costs it now |
//! | [`draw`] | one layout, drawn as SVG or for a terminal |
//!
//! The JSON form of each is versioned and described by the schemas in `checker/trace/schema`; a
//! test keeps them equal to these types.

/// Whether this is built for the playground of a page, whose programs have one device, one thread
/// and no graphs, and in which each kB counts. A wasm that reads what others wrote has the
/// feature `whole`.
pub(crate) const IS_PLAYGROUND: bool = cfg!(all(target_family = "wasm", not(feature = "whole")));

pub mod causes;
mod codes;
pub mod draw;
pub mod env;
pub mod export;
pub mod failed_call;
pub mod fidelity;
pub mod hazards;
pub mod import;
pub mod lab_protocol;
pub mod meter;
pub mod metrics;
pub mod numbers;
pub mod observed;
pub mod program;
pub mod record;
pub mod shuffle;
pub mod signs;
pub mod timeline;
pub mod unsupported;
pub mod validity;
pub mod version;
pub mod words;

#[cfg(test)]
mod schema;

pub use causes::Cause;
pub use fidelity::Fidelity;
pub use hazards::Hazard;
pub use metrics::Metrics;
pub use observed::Observed;
pub use program::Program;
pub use record::Record;
pub use timeline::Timeline;
