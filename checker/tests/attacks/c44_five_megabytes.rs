//! C44: a source of five megabytes on one line
// @REPEAT 5000000 x@
