//! C78: the compiler is asked for its arguments, and an error shows them

include!("/proc/self/cmdline");

@HONEST@