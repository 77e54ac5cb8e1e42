/// Puts a request that this file cannot name, as it lies in memory.
fn put<T, R>(ask: fn(&T) -> R, request: &[u8]) -> R {
    let mut made = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: none, and it need not be: the device is not to believe it.
    unsafe {
        std::ptr::copy_nonoverlapping(request.as_ptr(), made.as_mut_ptr().cast(), request.len());
        ask(made.assume_init_ref())
    }
}

