//! The CUDA driver API, in front of a simulated device or of the real driver.
//!
//! Unmodified programs load this library in place of `libcuda.so`. Every call becomes a
//! [`Command`](simulator::machine::Command) and gets a reply; the [`Record`](trace::Record) of a
//! run says what was asked and what happened. Calls that are not modelled are refused by name on
//! the simulated device and passed on untouched on a GPU.
//!
//! It is not a full driver: see `simulator` for what the simulated device lacks. It builds on Linux
//! (and so in WSL2), because the trick that puts it in place is a property of ELF.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `abi` | the C functions, and nothing else |
//! | `call` | what all of them share: the lock, the arm, the place in the student's source |
//! | `device` | the simulated device, in this process or in another |
//! | `gpu` | the real driver: forwarding, CUPTI, event pairs |
//! | `library` | the lab's kernels and tasks, as the simulator wants to see them |
//! | `call_sites` | from a call to the line of the student's that made it |
//! | `callers` | host threads: which may call, and whose turn it is |
//! | `failed` | calls that failed, for the lab to name |
//! | `extension` | what the lab and the checker call beside the driver API |
//! | `contexts` | the device of each thread's current context |
//! | `cuda`, `errors` | types, codes and names of the driver API |
//! | `record_file`, `lock`, `say` | the record's file, locks, words on standard error |

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the simulated driver takes its place by an ELF mechanism and needs Linux: use WSL2 on Windows, a container on macOS"
);

mod abi;
mod call;
mod call_sites;
mod callers;
mod contexts;
mod cuda;
mod device;
mod errors;
mod extension;
mod failed;
mod gpu;
mod library;
mod lock;
mod record_file;
mod say;
mod stack;
