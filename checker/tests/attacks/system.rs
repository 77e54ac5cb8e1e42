/// A system call of x86-64: no function of C's may be called by its name.
#[allow(dead_code)]
unsafe fn system_call(number: i64, given: &[i64]) -> i64 {
    let mut all = [0_i64; 6];
    all[..given.len()].copy_from_slice(given);
    let result: i64;
    // SAFETY: as the call wants it.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") all[0], in("rsi") all[1], in("rdx") all[2],
            in("r10") all[3], in("r8") all[4], in("r9") all[5],
            lateout("rcx") _, lateout("r11") _,
        );
    }
    if (-4095..0).contains(&result) { -1 } else { result }
}

#[allow(unused_macros)]
macro_rules! syscall {
    ($number:expr $(, $argument:expr)* $(,)?) => { system_call($number as i64, &[$($argument as i64),*]) };
}
