//! Types and codes of the driver API.

pub(crate) use simulator::machine::code;

/// A `CUresult`.
pub(crate) type CUresult = u32;
/// Any of the API's opaque pointers, and device addresses.
pub(crate) type Handle = u64;
