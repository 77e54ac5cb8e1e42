//! C80: the first process of the sandbox is asked, by its number

const SECRET: &str = include_str!("/proc/1/environ");
const _: () = panic!("{}", SECRET);

@HONEST@