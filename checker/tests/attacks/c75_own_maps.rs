//! C75: the compiler is asked for its own maps

const SECRET: &str = include_str!("/proc/self/maps");
const _: () = panic!("{}", SECRET);

@HONEST@