//! F06: the file is not UTF-8
// @BYTE ff@
