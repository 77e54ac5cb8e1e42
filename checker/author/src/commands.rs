//! One file for each command.

pub(crate) mod bundle;
pub(crate) mod calibrate;
pub(crate) mod chapter;
pub(crate) mod check;
pub(crate) mod confine;
pub(crate) mod measure;
pub(crate) mod record;
