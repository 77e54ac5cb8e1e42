//! Modules, functions and launches.

use std::ffi::{CStr, c_char, c_int, c_void};

use simulator::machine::{Arguments, Command, ModuleCommand, Reply, WorkCommand};

use super::{CUresult, Handle, answers, calls, code};
use crate::call;
use crate::say::say;

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html>
    fn cuModuleLoadData(module: *mut Handle, image: *const c_char) {
        require module, image;
        // SAFETY: checked not to be null; the image is PTX, a C string, or begins with a binary's
        // magic.
        command match unsafe { entries(image) } { Ok(command) => command, Err(code) => return code };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *module });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *module = handle };
    }

    /// Options of the PTX compiler change nothing on the simulated device.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html>
    fn cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_char, options: u32, names: *mut c_void, values: *mut c_void,
    ) {
        require module, image;
        command {
            let _ = (options, names, values);
            // SAFETY: as for `cuModuleLoadData`.
            match unsafe { entries(image) } { Ok(command) => command, Err(code) => return code }
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *module });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *module = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html>
    fn cuModuleLoad(module: *mut Handle, path: *const c_char) {
        require module, path;
        // SAFETY: checked not to be null; the path is a C string.
        command match unsafe { entries_of_file(path) } { Ok(command) => command, Err(code) => return code };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *module });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *module = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html>
    fn cuModuleUnload(module: Handle) {
        command Command::Module(ModuleCommand::Unload { module });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html>
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) {
        require function, name;
        // SAFETY: checked not to be null; the name is a C string.
        command Command::Module(ModuleCommand::FunctionGet { module, name: unsafe { text(name) } });
        // SAFETY: the real driver has just written it.
        gpu Reply::Entry { function: unsafe { *function }, parameters: Vec::new() };
        sim Reply::Entry { function: handle, parameters } => {
            call::remember_parameters(handle, parameters);
            // SAFETY: checked not to be null; the caller gives room for a handle.
            unsafe { *function = handle };
        };
    }

    /// Of the attributes that can be set, the simulated device knows how much dynamic shared memory
    /// a block may have; what to prefer in the caches changes nothing there.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html>
    fn cuFuncSetAttribute(function: Handle, attribute: u32, value: c_int) {
        command {
            /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`,
            /// `…_PREFERRED_SHARED_MEMORY_CARVEOUT`
            const DYNAMIC: u32 = 8;
            const CARVEOUT: u32 = 9;
            let shared_bytes = (attribute == DYNAMIC).then_some(value as u32);
            if call::gpu().is_none() && !matches!(attribute, DYNAMIC | CARVEOUT) {
                return code::INVALID_VALUE;
            }
            Command::Module(ModuleCommand::FunctionAllow { function, shared_bytes })
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html>
    fn cuFuncGetAttribute(value: *mut c_int, attribute: u32, function: Handle) {
        require value;
        command Command::Module(ModuleCommand::FunctionFacts { function, threads: 1, shared_bytes: 0 });
        sim Reply::Function { registers, shared_bytes, .. } => {
            const MAX_THREADS_PER_BLOCK: u32 = 0;
            const SHARED_SIZE_BYTES: u32 = 1;
            const NUM_REGS: u32 = 4;
            let found = match attribute {
                MAX_THREADS_PER_BLOCK => 1024,
                SHARED_SIZE_BYTES => shared_bytes,
                NUM_REGS => registers,
                _ => 0,
            };
            // SAFETY: checked not to be null; the caller gives room for an int.
            unsafe { *value = found as c_int };
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html>
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, threads: c_int, shared_bytes: usize,
    ) {
        require blocks;
        command Command::Module(ModuleCommand::FunctionFacts { function, threads: threads as u32, shared_bytes: shared_bytes as u32 });
        // SAFETY: checked not to be null; the caller gives room for an int.
        sim Reply::Function { resident_blocks, .. } => unsafe { *blocks = resident_blocks as c_int };
    }

    /// The sizes of the arguments are those that the kernel states: the call does not carry them.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html>
    fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, arguments: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        command {
            if !extra.is_null() && call::gpu().is_none() {
                say("`cuLaunchKernel` with `extra` is not supported by the simulated device");
                return code::NOT_SUPPORTED;
            }
            let grid = [grid_x, grid_y, grid_z];
            let block = [block_x, block_y, block_z];
            // SAFETY: the caller gives one pointer for each parameter of the kernel.
            let gathered = |sizes: &[u8]| unsafe { gather(arguments, sizes) };
            let arguments = match call::with_parameter_sizes(function, gathered) {
                Some(arguments) => arguments,
                None if call::gpu().is_some() => Arguments::new(),
                None => return code::INVALID_HANDLE,
            };
            Command::Work(WorkCommand::Launch { function, grid, block, shared_bytes, stream, arguments })
        };
    }
}

answers! {
    /// A preference between cache and shared memory changes nothing on the simulated device.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html>
    fn cuFuncSetCacheConfig(function: Handle, config: u32) {
        let _ = (function, config);
        code::SUCCESS
    }
}

/// # Safety
/// `text` is a C string.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's duty.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A module, by the names of the entries in a PTX text.
///
/// On a GPU they are not needed, and to look through a text of some ten thousand bytes would add to
/// the time of the call.
///
/// # Safety
/// `image` is PTX as a C string, or another kind of image that begins with its magic number.
unsafe fn entries(image: *const c_char) -> Result<Command, CUresult> {
    if call::gpu().is_some() {
        return Ok(Command::Module(ModuleCommand::Load { entries: Vec::new() }));
    }
    // A cubin begins with ELF's magic, a fatbin with 0xBA55ED50: neither is text.
    let first = |index: usize| {
        // SAFETY: a C string has at least its end; each byte is read only if none before it was 0.
        unsafe { *image.add(index) as u8 }
    };
    if first(0) == 0x7f || first(0) == 0x50 && first(1) == 0xed {
        say("the simulated device loads PTX only, and this image is machine code");
        return Err(code::INVALID_IMAGE);
    }
    // SAFETY: neither, so a C string.
    let image = unsafe { text(image) };
    // PTX says its version before all else (PTX ISA, `.version`).
    if !image.contains(".version") {
        return Err(code::INVALID_IMAGE);
    }
    Ok(Command::Module(ModuleCommand::Load { entries: entry_names(&image) }))
}

/// # Safety
/// `path` is a C string.
unsafe fn entries_of_file(path: *const c_char) -> Result<Command, CUresult> {
    const FILE_NOT_FOUND: CUresult = 301;
    if call::gpu().is_some() {
        return Ok(Command::Module(ModuleCommand::Load { entries: Vec::new() }));
    }
    // SAFETY: the caller's duty.
    let ptx = std::fs::read_to_string(unsafe { text(path) }).map_err(|_| FILE_NOT_FOUND)?;
    Ok(Command::Module(ModuleCommand::Load { entries: entry_names(&ptx) }))
}

fn entry_names(ptx: &str) -> Vec<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once(".entry ")?;
        Some(rest.split(['(', ' ', '{']).next()?.trim().to_owned())
    };
    ptx.lines().filter_map(name).collect()
}

/// # Safety
/// `arguments` holds a pointer to each argument, of the sizes given.
unsafe fn gather(arguments: *mut *mut c_void, sizes: &[u8]) -> Arguments {
    let mut bytes = Arguments::new();
    if arguments.is_null() {
        return bytes;
    }
    for (index, &size) in sizes.iter().enumerate() {
        // A copy whose length the compiler knows is one instruction.
        // SAFETY: the caller's duty, for each of them.
        unsafe {
            let argument = (*arguments.add(index)).cast::<u8>();
            match size {
                8 => bytes.extend_from_slice(&*argument.cast::<[u8; 8]>()),
                4 => bytes.extend_from_slice(&*argument.cast::<[u8; 4]>()),
                size => bytes.extend_from_slice(std::slice::from_raw_parts(argument, size.into())),
            }
        }
    }
    bytes
}
