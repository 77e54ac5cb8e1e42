//! The figures of one device.
//!
//! A profile is a TOML file in which every figure carries its source. It comes from
//! micro-benchmarks or data sheets alone and is never fitted to the exercises. `checker calibrate`
//! writes one; the teaching profiles of [`built_in`] are the H200's with a few figures invented.

pub mod built_in;
mod text;

pub use built_in::BuiltIn;

use serde::{Deserialize, Serialize};

/// A figure and where it comes from. The unit is part of the field's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The value, a whole number of the unit.
    pub value: u64,
    /// `measured …`, `data sheet …`, `derived …`, `assumed …` or `invented …`.
    pub source: String,
}

macro_rules! figures {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Figure,)*
        }

        impl $name {
            /// Every figure with its name, in the order of the profile's file.
            pub fn figures(&self) -> Vec<(&'static str, &Figure)> {
                vec![$((stringify!($field), &self.$field),)*]
            }
        }
    };
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Short name, as `--profile` takes it.
    pub name: String,
    /// The device's own name.
    pub device: String,
    /// Shape of the chip.
    pub chip: Chip,
    /// Copies.
    pub copies: Copies,
    /// How fast each kind of kernel works, by the name that the kernel gives.
    pub rates: std::collections::BTreeMap<String, Rate>,
    /// From the end of one operation to the start of the next.
    pub gaps: Gaps,
    /// Costs of calls to the host.
    pub host: Host,
    /// Costs of the first calls of a region beside those.
    pub first_calls: FirstCalls,
    /// The way between two devices of this kind. (The playground has one device.)
    #[cfg(not(target_arch = "wasm32"))]
    #[serde(default)]
    pub peers: Peers,
}

figures! {
    /// Shape of the chip.
    Chip {
        /// Compute capability, major.
        compute_capability_major,
        /// Compute capability, minor.
        compute_capability_minor,
        /// Streaming multiprocessors.
        multiprocessors,
        /// Resident threads on a multiprocessor.
        threads_per_multiprocessor,
        /// Resident blocks on a multiprocessor.
        blocks_per_multiprocessor,
        /// 32-bit registers of a multiprocessor.
        registers_per_multiprocessor,
        /// Shared memory of a multiprocessor, in bytes.
        shared_bytes_per_multiprocessor,
        /// Grids that can be resident at once.
        resident_grids,
        /// Operations that a stream holds before they start; the call that issues one more blocks.
        queue_depth,
        /// Device memory, in bytes.
        memory_bytes,
        /// The pool of stream-ordered memory grows, and gives back, in pieces of this size, in
        /// bytes.
        pool_chunk_bytes,
        /// Bandwidth of device memory for reads and writes of kernels together, in bytes per µs.
        memory_bytes_per_us,
        /// `asyncEngineCount`, as the device states it.
        async_engines,
        /// Copy engines between host and device: 2 is one for each direction, 1 is one for both.
        copy_engines,
        /// The highest stream priority is minus this.
        highest_priority,
        /// Of the first `n` blocks of a grid, the multiprocessor that gets most of them has `n`
        /// divided by this, rounded up. It is less than the number of multiprocessors where these
        /// are in groups of different sizes that are served in turn.
        turn_blocks,
        /// How much device memory the device's cache has for one kernel after another, in bytes.
        cache_bytes,
        /// How much longer a kernel takes where it is not in the cache what it reads, in ns.
        uncached_ns,
        /// And how much longer a thread then waits each time that it takes up items, in ns.
        uncached_wait_ns,
    }
}

/// Copies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// From host to device.
    pub host_to_device: Link,
    /// From device to host.
    pub device_to_host: Link,
    /// Up to this many bytes a pageable copy to the device is staged: the call returns once the
    /// driver has taken the data, before the stream reaches the copy.
    pub staged_bytes: Figure,
    /// Taking staged data costs the host this, in bytes per µs.
    pub staging_bytes_per_us: Figure,
    /// Larger pageable copies pass through the driver's pinned buffer in pieces of this many bytes.
    pub staging_chunk_bytes: Figure,
    /// From the call of a pageable download to the start of its transfer, in ns.
    pub pageable_call_ns: Figure,
    /// Inside device memory, in bytes copied per µs.
    pub device_bytes_per_us: Figure,
    /// A memset, in bytes per µs.
    pub memset_bytes_per_us: Figure,
    /// Fixed time of a copy or memset inside device memory, in ns.
    pub device_fixed_ns: Figure,
    /// How much of what the host has written to pinned memory last its cache still has, in bytes.
    pub fresh_bytes: Figure,
    /// How much longer a copy to the device takes for each MiB of that, in ns.
    pub fresh_ns_per_mib: Figure,
}

impl Copies {
    /// The figures that belong to neither direction, with their names.
    pub fn figures(&self) -> Vec<(&'static str, &Figure)> {
        vec![
            ("staged_bytes", &self.staged_bytes),
            ("staging_bytes_per_us", &self.staging_bytes_per_us),
            ("staging_chunk_bytes", &self.staging_chunk_bytes),
            ("pageable_call_ns", &self.pageable_call_ns),
            ("device_bytes_per_us", &self.device_bytes_per_us),
            ("memset_bytes_per_us", &self.memset_bytes_per_us),
            ("device_fixed_ns", &self.device_fixed_ns),
            ("fresh_bytes", &self.fresh_bytes),
            ("fresh_ns_per_mib", &self.fresh_ns_per_mib),
        ]
    }
}

figures! {
    /// One direction between host and device.
    Link {
        /// Pinned host memory, alone on the link, in bytes per µs.
        pinned_bytes_per_us,
        /// Fixed time of a copy from or to pinned memory, in ns.
        pinned_fixed_ns,
        /// Ordinary host memory, in bytes per µs: the pace of the host's own copy to or from the
        /// driver's pinned buffer, which is slower than the link.
        pageable_bytes_per_us,
        /// Fixed time of a copy from or to pageable memory that takes more than one piece, in ns.
        pageable_fixed_ns,
        /// Speed while the other direction is at work too, in thousandths of the speed alone.
        duplex_permille,
        /// How much longer each copy then takes whatever its size, in ns.
        duplex_fixed_ns,
    }
}

figures! {
    /// How fast a kind of kernel works.
    Rate {
        /// One warp alone on a multiprocessor, in units per µs: what its latencies allow.
        units_per_us_warp,
        /// A full multiprocessor, in units per µs: what its throughput allows.
        units_per_us_multiprocessor,
        /// Time of a kernel beside its work and its blocks, from its start to its end, in ns.
        fixed_ns,
        /// Time of each block on its multiprocessor beside its work, in ns: until it is dispatched
        /// and has its first elements, and until its last ones are written.
        block_ns,
        /// Time that a thread waits for memory each time that it takes up items, in ns, where the
        /// cache has them.
        wait_ns,
    }
}

/// Each serves warps of its own. So many have the multiprocessors of all devices from compute
/// capability 5.0 on but those of 6.0 (CUDA C++ Programming Guide, compute capabilities).
pub(crate) const SCHEDULERS: u64 = 4;

/// The figures of a [`Rate`] as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// One warp alone on a multiprocessor, in units per µs.
    pub units_per_us_warp: u64,
    /// A full multiprocessor, in units per µs.
    pub units_per_us_multiprocessor: u64,
    /// Time of a kernel beside its work and its blocks, in ns.
    pub fixed_ns: u64,
    /// Time of each block on its multiprocessor beside its work, in ns.
    pub block_ns: u64,
    /// Time that a thread waits for memory each time that it takes up items, in ns.
    pub wait_ns: u64,
}

impl From<&Rate> for Pace {
    fn from(rate: &Rate) -> Self {
        Self {
            units_per_us_warp: rate.units_per_us_warp.value,
            units_per_us_multiprocessor: rate.units_per_us_multiprocessor.value,
            fixed_ns: rate.fixed_ns.value,
            block_ns: rate.block_ns.value,
            wait_ns: rate.wait_ns.value,
        }
    }
}

impl Pace {
    /// The rate of `warps` warps alone on a multiprocessor, in units per µs: at least 1.
    ///
    /// A scheduler is idle while each of its warps waits for its last instruction. How long a warp
    /// waits follows from the rate of one warp alone; several warps are assumed to wait
    /// independently.
    pub fn units_per_us(&self, warps: u64) -> u64 {
        const WHOLE: u128 = 1_000_000_000;
        let most = u128::from(self.units_per_us_multiprocessor.max(1));
        let one = u128::from(self.units_per_us_warp) * u128::from(SCHEDULERS);
        let idle = WHOLE - (one * WHOLE / most).min(WHOLE);
        let busy = |warps: u64| {
            let mut all_wait = WHOLE;
            for _ in 0..warps {
                if all_wait == 0 {
                    break;
                }
                all_wait = all_wait * idle / WHOLE;
            }
            WHOLE - all_wait
        };
        let (each, more) = (warps / SCHEDULERS, warps % SCHEDULERS);
        let all = u128::from(more) * busy(each + 1) + u128::from(SCHEDULERS - more) * busy(each);
        ((most * all / (WHOLE * u128::from(SCHEDULERS))) as u64).max(1)
    }

    /// The same where the warps of a scheduler never wait at the same time, as long as one of them
    /// could go on.
    pub(crate) fn in_turn(&self, warps: u64) -> u64 {
        let (each, more) = (warps / SCHEDULERS, warps % SCHEDULERS);
        let one = self.units_per_us_warp.saturating_mul(SCHEDULERS);
        let of = |warps: u64| warps.saturating_mul(one).min(self.units_per_us_multiprocessor);
        ((more * of(each + 1) + (SCHEDULERS - more) * of(each)) / SCHEDULERS).max(1)
    }
}

figures! {
    /// From the end of what an operation waits for to its own start, in ns, where it was queued
    /// long before.
    Gaps {
        /// Between two kernels.
        kernel_ns,
        /// Between two kernels of one launch of a graph.
        graph_kernel_ns,
        /// Not a gap: what a kernel that follows another in a graph takes less than its fixed part.
        graph_saved_ns,
        /// Between two copies of one engine.
        copy_ns,
        /// Before an operation that waits for one of another engine: a kernel for a copy, a copy
        /// for a kernel or for a copy in the other direction.
        crossing_ns,
        /// Before what comes after memory is freed in the stream.
        release_ns,
        /// Before a host function that does not directly follow another: the driver's thread
        /// sleeps.
        function_wake_ns,
        /// From the return of the call to the start on an idle device.
        submit_ns,
    }
}

figures! {
    /// Costs of calls to the host, in ns.
    Host {
        /// `cuLaunchKernel`.
        launch_ns,
        /// `cuMemcpy…Async` with pinned memory, or inside the device.
        copy_ns,
        /// Cost of a staged copy beyond taking the data.
        pageable_copy_ns,
        /// `cuMemset…`.
        memset_ns,
        /// `cuEventRecord` of an event without timing.
        event_record_ns,
        /// `cuEventRecord` of an event with timing.
        event_record_timed_ns,
        /// `cuStreamWaitEvent`.
        stream_wait_ns,
        /// `cuEventQuery`, `cuStreamQuery`.
        query_ns,
        /// A synchronise that finds nothing to wait for.
        synchronize_ns,
        /// From the end of what a synchronise waits for to its return.
        wake_ns,
        /// `cuStreamCreate`.
        stream_create_ns,
        /// `cuStreamDestroy`.
        stream_destroy_ns,
        /// `cuEventCreate`.
        event_create_ns,
        /// `cuEventDestroy`.
        event_destroy_ns,
        /// `cuMemAlloc` that maps memory.
        alloc_ns,
        /// `cuMemAlloc` of a small block, which finds room in what is mapped.
        alloc_shared_ns,
        /// `cuMemFree` on an idle device that unmaps memory, the fixed part.
        free_ns,
        /// `cuMemFree`, for each MiB that it unmaps.
        free_ns_per_mib,
        /// `cuMemFree` on an idle device of a small block, beside which others are in use.
        free_shared_ns,
        /// `cuMemAllocAsync`.
        alloc_async_ns,
        /// `cuMemFreeAsync`.
        free_async_ns,
        /// Extra time of an allocation when its pool has to grow,
        pool_grow_ns,
        /// and that for each chunk.
        pool_grow_chunk_ns,
        /// Extra time of a synchronisation when the pool gives memory back,
        pool_give_back_ns,
        /// and that for each chunk.
        pool_give_back_chunk_ns,
        /// `cuMemHostAlloc` that maps memory, the fixed part.
        alloc_host_ns,
        /// `cuMemHostAlloc`, for each MiB that it maps.
        alloc_host_ns_per_mib,
        /// `cuMemHostAlloc` of a small block, which finds room in what is mapped.
        alloc_host_shared_ns,
        /// `cuMemFreeHost` on an idle device that unmaps memory, the fixed part.
        free_host_ns,
        /// `cuMemFreeHost`, for each MiB that it unmaps.
        free_host_ns_per_mib,
        /// `cuMemFreeHost` on an idle device of a small block, beside which others are in use.
        free_host_shared_ns,
        /// `cuModuleLoadData`.
        module_load_ns,
        /// `cuLaunchHostFunc`.
        host_function_ns,
        /// `cuGraphLaunch`.
        graph_launch_ns,
        /// The same, for each copy in the graph.
        graph_copy_ns,
        /// For each node that is captured.
        graph_capture_node_ns,
        /// `cuGraphInstantiateWithFlags`, the fixed part.
        graph_instantiate_ns,
        /// The same, for each node.
        graph_instantiate_node_ns,
        /// The first launch of an executable copy takes this more for each node.
        graph_upload_node_ns,
        /// How long a host function that does nothing takes its stream.
        host_function_run_ns,
        /// Everything else.
        other_ns,
        /// From the return of a call in a measured region to the next: what the wrapper and the
        /// program do.
        between_ns,
    }
}

figures! {
    /// Copies between two devices, and what one hears of the other.
    Peers {
        /// Over the link, alone, in bytes per µs.
        bytes_per_us,
        /// Fixed time of such a copy, in ns.
        fixed_ns,
        /// Cost of its call to the host in a stream of the device whose engine does it, in ns,
        call_ns,
        /// and in a stream of the other one.
        far_call_ns,
        /// From the end of an operation to the start of one that waits for it on the other device,
        /// in ns, beside the gap that there is on one device.
        heard_ns,
        /// Through the host, in bytes per µs,
        staged_bytes_per_us,
        /// with this fixed time, in ns.
        staged_fixed_ns,
        /// Bytes in the second device when the first has sent all.
        staged_piece_bytes,
        /// Cost of the call of a copy through the host, in ns,
        staged_call_ns,
        /// and what bytes beyond these
        staged_free_bytes,
        /// cost it, in bytes per µs.
        staged_call_bytes_per_us,
    }
}

impl Default for Peers {
    /// As measured between two H200 with NVLink. Copies between two H100 took the same within a
    /// twentieth.
    fn default() -> Self {
        let figure = |value: u64, what: &str| Figure {
            value,
            source: format!(
                "measured, 2026-11-27, two NVIDIA H200 with NVLink, driver 580.159.04, {what}"
            ),
        };
        Self {
            bytes_per_us: figure(394_000, "cuMemcpyPeerAsync of 16 and 64 MiB: slope"),
            fixed_ns: figure(2_000, "cuMemcpyPeerAsync of 4 KiB, to its synchronisation"),
            call_ns: figure(
                2_750,
                "cuMemcpyPeerAsync in a stream of the device whose engine does it",
            ),
            far_call_ns: figure(5_700, "cuMemcpyPeerAsync in a stream of the other one"),
            heard_ns: figure(4_600, "kernels on each device in turn, less kernels on one"),
            staged_bytes_per_us: figure(38_200, "without access, 16 and 64 MiB: slope"),
            staged_fixed_ns: figure(3_900, "without access, 4 KiB"),
            staged_piece_bytes: figure(458_752, "without access, 1 MiB less what its bytes take"),
            staged_call_ns: figure(9_000, "cuMemcpyPeerAsync of 4 KiB without access"),
            staged_free_bytes: figure(1_048_576, "cuMemcpyPeerAsync of 1 MiB without access"),
            staged_call_bytes_per_us: figure(
                175_000,
                "cuMemcpyPeerAsync of 4 to 64 MiB without access",
            ),
        }
    }
}

figures! {
    /// Extra time of the first call of its kind in a measured region, in ns: the host has worked on
    /// other memory since the call before, and the driver's code and data have left its caches.
    FirstCalls {
        /// The first that gives the device work, of whatever kind.
        work_ns,
        /// `cuLaunchKernel`.
        launch_ns,
        /// `cuMemcpy…`.
        copy_ns,
        /// `cuMemset…`.
        memset_ns,
        /// `cuLaunchHostFunc`.
        host_function_ns,
        /// `cuEventRecord`.
        event_record_ns,
        /// `cuStreamWaitEvent`.
        stream_wait_ns,
        /// `cuStreamCreate`.
        stream_create_ns,
        /// `cuStreamDestroy`.
        stream_destroy_ns,
        /// `cuEventCreate`.
        event_create_ns,
        /// `cuEventDestroy`.
        event_destroy_ns,
        /// `cuMemAlloc`.
        alloc_ns,
        /// `cuMemFree`.
        free_ns,
        /// `cuMemAllocAsync`.
        alloc_async_ns,
        /// `cuMemFreeAsync`.
        free_async_ns,
        /// A capture.
        graph_create_ns,
        /// `cuGraphLaunch`.
        graph_launch_ns,
    }
}

impl Profile {
    /// The H200 as measured: the text of its file, for those who can read TOML.
    pub const H200: &'static str = include_str!("../profiles/h200.toml");

    /// The H100 80GB HBM3, in the same way.
    pub const H100: &'static str = include_str!("../profiles/h100.toml");

    /// The rate of that name, or the reason why there is none.
    pub fn rate(&self, name: &str) -> Result<&Rate, NoSuchRate> {
        self.rates
            .get(name)
            .ok_or_else(|| NoSuchRate { rate: name.to_owned(), profile: self.name.clone() })
    }

    /// How many blocks of a kernel are resident on one multiprocessor.
    pub fn resident_blocks(&self, threads: u32, registers: u32, shared_bytes: u32) -> u32 {
        let chip = &self.chip;
        // Registers are handed out to warps in units of 256 (CUDA C++ Programming Guide,
        // occupancy).
        let warps = u64::from(threads.div_ceil(32).max(1));
        let warp_registers = (u64::from(registers) * 32).next_multiple_of(256).max(256);
        let by_threads = chip.threads_per_multiprocessor.value / (warps * 32);
        let by_registers = chip.registers_per_multiprocessor.value / (warps * warp_registers);
        // Each block takes 1 KiB more than its launch says (compute capability 8.0 and later).
        let by_shared =
            chip.shared_bytes_per_multiprocessor.value / (u64::from(shared_bytes) + 1024);
        chip.blocks_per_multiprocessor.value.min(by_threads).min(by_registers).min(by_shared) as u32
    }
}

/// A kernel counts its work in a rate that the profile does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchRate {
    /// The rate.
    pub rate: String,
    /// The profile.
    pub profile: String,
}

impl std::fmt::Display for NoSuchRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { profile, rate } = self;
        write!(
            f,
            "profile `{profile}` has no rate `{rate}`: it was measured before there were kernels of it; measure it again, with `checker calibrate`"
        )
    }
}

impl std::error::Error for NoSuchRate {}
