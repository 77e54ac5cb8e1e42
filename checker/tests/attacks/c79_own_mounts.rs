//! C79: the compiler is asked where everything is mounted from

const SECRET: &str = include_str!("/proc/thread-self/mountinfo");
const _: () = panic!("{}", SECRET);

@HONEST@