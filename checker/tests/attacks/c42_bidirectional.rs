//! C42: a comment that reads otherwise than it is

use lab::Result;
use lab::first_launch::Session;

// it is fine ‮ } */ ton si ti

@HONEST@