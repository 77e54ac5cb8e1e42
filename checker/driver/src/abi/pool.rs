//! The pool that stream-ordered memory comes from: each simulated device has the default one.

use std::ffi::c_int;
use std::sync::Mutex;

use simulator::machine::{Command, ContextCommand, MemoryCommand, Reply};
use trace::program::DEVICES;

use super::device::known;
use super::{CUresult, Handle, answers, calls, code};
use crate::call;
use crate::lock::lock;
use crate::say::say;

/// The handle of the first device's default pool.
const DEFAULT: Handle = 0x90_0000;
/// From one device's to the next.
const STRIDE: Handle = 0x1_0000;

/// The default pool of a device.
fn default_of(device: usize) -> Handle {
    DEFAULT + device as Handle * STRIDE
}

/// The pools of a GPU that the program was given, each with its device.
static REAL: Mutex<Vec<(Handle, u32)>> = Mutex::new(Vec::new());

/// The real driver has said which pool a device has.
fn remember(pool: Handle, device: c_int) {
    let found = (pool, device.unsigned_abs());
    let mut known = lock(&REAL);
    if !known.contains(&found) {
        known.push(found);
    }
}

/// The device of a pool.
fn device_of(pool: Handle) -> Option<u32> {
    if call::gpu().is_some() {
        return lock(&REAL).iter().find(|(known, _)| *known == pool).map(|(_, device)| *device);
    }
    (0..DEVICES).find(|&device| default_of(device as usize) == pool)
}

/// `CUmemAccessDesc`: what a device may do with a pool's memory.
#[repr(C)]
struct AccessDescription {
    /// 1 for a device.
    location_type: u32,
    /// Its number.
    location: c_int,
    /// 0 for nothing, 3 for reading and writing.
    flags: u32,
}

/// A device is what a pool's memory is for.
const LOCATION_DEVICE: u32 = 1;
/// It may read.
const READ: u32 = 1;
/// It may read and write.
const READ_WRITE: u32 = 3;

/// The command of one description. On a GPU the real driver decides; a description that is not
/// understood here is not noted.
fn set_access(
    pool: Handle,
    list: *const AccessDescription,
    count: usize,
) -> Result<Command, CUresult> {
    let is_real = call::gpu().is_some();
    if list.is_null() || count != 1 {
        return if is_real {
            Ok(Command::Memory(MemoryCommand::PoolFacts))
        } else {
            Err(code::INVALID_VALUE)
        };
    }
    // SAFETY: not null, and the caller says that there is one.
    let AccessDescription { location_type, location, flags } = unsafe { list.read() };
    let by = known(location).filter(|_| location_type == LOCATION_DEVICE).map(|it| it as u32);
    let enabled = flags == READ_WRITE;
    match (by, device_of(pool), flags) {
        (Some(by), Some(of), 0 | READ_WRITE) if by != of => {
            Ok(Command::Context(ContextCommand::PeerAccess { by, pool: true, enabled }))
        }
        _ if is_real => Ok(Command::Memory(MemoryCommand::PoolFacts)),
        // A device can always use its own memory.
        (Some(_), Some(_), READ_WRITE) => Ok(Command::Memory(MemoryCommand::PoolFacts)),
        (Some(_), Some(_), 0) => Err(code::INVALID_DEVICE),
        (Some(_), Some(_), READ) => Err(code::NOT_SUPPORTED),
        _ => Err(code::INVALID_VALUE),
    }
}

/// Attributes of a pool, `CU_MEMPOOL_ATTR_…`: numbers of 64 bits.
mod attribute {
    pub(super) const RELEASE_THRESHOLD: u32 = 4;
    pub(super) const RESERVED_MEM_CURRENT: u32 = 5;
    pub(super) const RESERVED_MEM_HIGH: u32 = 6;
    pub(super) const USED_MEM_CURRENT: u32 = 7;
    pub(super) const USED_MEM_HIGH: u32 = 8;
}

/// Why the simulated device does not know this pool, or this of it. On a GPU the real driver
/// decides.
fn refused(pool: Handle, attribute: u32) -> Option<CUresult> {
    if call::gpu().is_some() {
        return None;
    }
    if device_of(pool).is_none() || !(1..=attribute::USED_MEM_HIGH).contains(&attribute) {
        return Some(code::INVALID_VALUE);
    }
    (attribute < attribute::RELEASE_THRESHOLD).then(|| {
        say("how a pool reuses memory is not up to the program on the simulated device");
        code::NOT_SUPPORTED
    })
}

/// The commands for the simulated device.
///
/// # Safety
///
/// `value` is a number of 64 bits.
unsafe fn setting(attribute: u32, value: *const u64) -> Result<Command, CUresult> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { *value };
    match attribute {
        attribute::RELEASE_THRESHOLD => Ok(Command::Memory(MemoryCommand::PoolKeep { bytes })),
        // The most that there was can be forgotten and nothing else (measured: 1 on all else).
        attribute::RESERVED_MEM_HIGH if bytes == 0 => {
            Ok(Command::Memory(MemoryCommand::PoolReset { of_reserved: true }))
        }
        attribute::USED_MEM_HIGH if bytes == 0 => {
            Ok(Command::Memory(MemoryCommand::PoolReset { of_reserved: false }))
        }
        _ if call::gpu().is_some() => Ok(Command::Memory(MemoryCommand::PoolFacts)),
        _ => Err(code::INVALID_VALUE),
    }
}

answers! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    // SAFETY: the real driver has just written it.
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) require pool; gpu remember(unsafe { *pool }, device); {
        let Some(device) = known(device) else { return code::INVALID_DEVICE };
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *pool = default_of(device) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    // SAFETY: the real driver has just written it.
    fn cuDeviceGetMemPool(pool: *mut Handle, device: c_int) require pool; gpu remember(unsafe { *pool }, device); {
        let Some(device) = known(device) else { return code::INVALID_DEVICE };
        // SAFETY: checked not to be null; the caller gives room for a handle.
        unsafe { *pool = default_of(device) };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html>
    fn cuDeviceSetMemPool(device: c_int, pool: Handle) {
        match known(device) {
            Some(device) if pool == default_of(device) => code::SUCCESS,
            Some(_) => code::INVALID_VALUE,
            None => code::INVALID_DEVICE,
        }
    }
}

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut u64) {
        require value;
        device device_of(pool);
        command match refused(pool, attribute) {
            Some(code) => return code,
            None => Command::Memory(MemoryCommand::PoolFacts),
        };
        // SAFETY: checked not to be null; these attributes are numbers of 64 bits.
        sim Reply::Pool(facts) => unsafe {
            *value = match attribute {
                attribute::RESERVED_MEM_CURRENT => facts.reserved,
                attribute::RESERVED_MEM_HIGH => facts.reserved_high,
                attribute::USED_MEM_CURRENT => facts.used,
                attribute::USED_MEM_HIGH => facts.used_high,
                _ => facts.threshold,
            };
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *mut u64) {
        require value;
        device device_of(pool);
        command match refused(pool, attribute) {
            Some(code) => return code,
            // Those of 32 bits are not ours.
            None if attribute < attribute::RELEASE_THRESHOLD => Command::Memory(MemoryCommand::PoolFacts),
            // SAFETY: checked not to be null; these attributes are numbers of 64 bits.
            None => match unsafe { setting(attribute, value) } {
                Ok(command) => command,
                Err(code) => return code,
            },
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolTrimTo(pool: Handle, bytes: usize) {
        device device_of(pool);
        command match refused(pool, attribute::RELEASE_THRESHOLD) {
            Some(code) => return code,
            None => Command::Memory(MemoryCommand::PoolTrim { bytes: bytes as u64 }),
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemAllocFromPoolAsync(address: *mut Handle, bytes: usize, pool: Handle, stream: Handle) {
        require address;
        command match refused(pool, attribute::RELEASE_THRESHOLD) {
            Some(code) => return code,
            None => Command::Memory(MemoryCommand::AllocAsync { bytes: bytes as u64, stream }),
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address });
        // SAFETY: checked not to be null; the caller gives room for an address.
        sim Reply::Number(found) => unsafe { *address = found };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemPoolSetAccess(pool: Handle, list: *const AccessDescription, count: usize) {
        command match set_access(pool, list, count) {
            Ok(command) => command,
            Err(code) => return code,
        };
    }
}
