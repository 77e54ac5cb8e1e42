//! The C functions of the driver API, and nothing else: arguments in, a `CUresult` out.
//!
//! `calls!` writes those that become commands, `answers!` those that the library answers by itself.
//! On a GPU both go to the real driver. All others are in `passed_through`.

mod context;
mod copy;
mod device;
mod error;
mod event;
mod graph;
mod memory;
mod module;
mod passed_through;
mod pool;
mod stream;

use crate::cuda::{CUresult, Handle, code};

/// Defines calls that become commands.
///
/// - `require`: pointers that must not be null.
/// - `device`: the one that the call is about, where its context is not the current one.
/// - `command`: the call as a command.
/// - `gpu`: the reply that can be read off after the real driver has been called.
/// - `sim`: takes the simulated device's reply.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) {
        $(require $($required:ident),+;)?
        $(device $device:expr;)?
        command $command:expr;
        $(gpu $reply:expr;)?
        $(sim $pattern:pat => $write:expr;)?
    })*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $crate::cuda::CUresult {
            let make = || {
                $($(if $required.is_null() { return $crate::cuda::code::INVALID_VALUE; })+)?
                if let Some(gpu) = $crate::call::gpu() {
                    static SLOT: $crate::gpu::Slot = $crate::gpu::Slot::new();
                    let Some(real) = gpu.symbol(&SLOT, stringify!($name)) else {
                        return $crate::cuda::code::NOT_SUPPORTED;
                    };
                    type Real = unsafe extern "C" fn($($type),*) -> $crate::cuda::CUresult;
                    // SAFETY: the real driver's function of this name has this signature.
                    let real = unsafe { std::mem::transmute::<usize, Real>(real) };
                    return gpu.call(
                        $command,
                        // SAFETY: the caller's duties are those of the real function.
                        || unsafe { real($($argument),*) },
                        || calls!(@reply $($reply)?),
                    );
                }
                let device = calls!(@device $($device)?);
                match $crate::call::issue(device, $command) {
                    Ok(reply) => calls!(@answer reply $($pattern => $write)?),
                    Err(code) => code,
                }
            };
            $crate::failed::noted(stringify!($name), make())
        }
    )*};
    (@device) => { None };
    (@device $device:expr) => { $device };
    (@reply) => { simulator::machine::Reply::Done };
    (@reply $reply:expr) => { $reply };
    (@answer $given:ident) => {{ let _ = $given; $crate::cuda::code::SUCCESS }};
    (@answer $given:ident $pattern:pat => $write:expr) => {
        match $given {
            $pattern => { $write; $crate::cuda::code::SUCCESS }
            _ => $crate::cuda::code::UNKNOWN,
        }
    };
}

/// Defines calls that the library answers by itself on the simulated device: they take no time and
/// order nothing. `gpu` is what follows a success of the real driver's.
macro_rules! answers {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(require $($required:ident),+;)? $(gpu $after:expr;)? $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::cuda::CUresult {
            let make = || {
                if let Some(gpu) = $crate::call::gpu() {
                    static SLOT: $crate::gpu::Slot = $crate::gpu::Slot::new();
                    let Some(real) = gpu.symbol(&SLOT, stringify!($name)) else {
                        return $crate::cuda::code::NOT_SUPPORTED;
                    };
                    type Real = unsafe extern "C" fn($($type),*) -> $crate::cuda::CUresult;
                    // SAFETY: the real driver's function of this name has this signature.
                    let real = unsafe { std::mem::transmute::<usize, Real>(real) };
                    // SAFETY: the caller's duties are those of the real function.
                    let result = $crate::gpu::known(unsafe { real($($argument),*) });
                    $(if result == $crate::cuda::code::SUCCESS { $after })?
                    return result;
                }
                $($(if $required.is_null() { return $crate::cuda::code::INVALID_VALUE; })+)?
                $body
            };
            $crate::failed::noted(stringify!($name), make())
        }
    )*};
}

pub(crate) use {answers, calls};
