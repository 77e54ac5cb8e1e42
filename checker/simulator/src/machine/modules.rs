//! Modules and their functions: which kernels they are, what those need, and how they can be
//! launched.

use serde::{Deserialize, Serialize};
use trace::program::Call;

use super::family::Family;
use super::handles::Handles;
use super::library::{Kernel, Library};
use super::reply::{Failure, Reply, code};
use super::{Host, Machine};

/// `cuModule…` and `cuFunc…`, each field as the driver's call has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each stands for the driver call of the same name, field by field")]
pub enum ModuleCommand {
    /// A module, by the entries that its image holds.
    Load {
        entries: Vec<String>,
    },
    Unload {
        module: u64,
    },
    /// `cuModuleGetFunction`.
    FunctionGet {
        module: u64,
        name: String,
    },
    /// `cuFuncGetAttribute`, `cuOccupancy…`.
    FunctionFacts {
        function: u64,
        threads: u32,
        shared_bytes: u32,
    },
    /// `cuFuncSetAttribute`: blocks may have this much dynamic shared memory; none for attributes
    /// that change nothing.
    FunctionAllow {
        function: u64,
        shared_bytes: Option<u32>,
    },
}

impl Family for ModuleCommand {
    fn reply(&self, machine: &mut Machine, _: &mut dyn Host) -> Result<Reply, Failure> {
        match self {
            Self::Load { .. } => Ok(machine.new_handle()),
            Self::Unload { .. } => Ok(Reply::Done),
            Self::FunctionGet { module, name } => machine.entry(*module, name),
            Self::FunctionFacts { function, threads, shared_bytes } => {
                machine.function_facts(*function, *threads, *shared_bytes)
            }
            Self::FunctionAllow { function, shared_bytes } => {
                machine.allow_shared(*function, *shared_bytes)
            }
        }
    }

    fn call(
        &self,
        handles: &mut Handles,
        reply: &Reply,
        library: &dyn Library,
    ) -> Result<Option<Call>, Failure> {
        Ok(Some(match self {
            Self::Load { entries } => {
                handles.modules.add(0, reply.number()?, entries.clone());
                handles.belongs(reply.number()?);
                Call::ModuleLoad
            }
            Self::Unload { module } => {
                handles.modules.remove(*module)?;
                for function in handles.functions_of.remove(module).unwrap_or_default() {
                    handles.functions.entries.remove(&function);
                }
                Call::ModuleUnload
            }
            Self::FunctionGet { module, name } => {
                let kernel = handles.add_function(*module, reply.number()?, name);
                let known = library.kernel(name);
                let known = known.as_deref();
                Call::FunctionGet {
                    kernel,
                    name: name.clone(),
                    rate: known.map_or_else(String::new, |known| known.rate().to_owned()),
                    registers: known.map_or(0, |known| known.registers()),
                    shared_bytes: known.map_or(0, |known| known.shared_bytes()),
                    items: known.and_then(|known| known.items()),
                    inner_loop: known.and_then(|known| known.inner_loop()),
                }
            }
            Self::FunctionFacts { .. } | Self::FunctionAllow { .. } => return Ok(None),
        }))
    }
}

impl Machine {
    pub(super) fn entry(&mut self, module: u64, name: &str) -> Result<Reply, Failure> {
        if !self.handles.modules.facts(module)?.iter().any(|entry| entry == name) {
            return Err(Failure::bare(code::NOT_FOUND));
        }
        let Some(kernel) = self.library.kernel(name) else {
            let why = format!(
                "the simulated device has no kernel `{name}`: it runs the lab's kernels only"
            );
            return Err(Failure::because(code::NOT_SUPPORTED, why));
        };
        if let Err(unknown) = self.device.profile().rate(kernel.rate()) {
            return Err(Failure::because(code::NOT_SUPPORTED, unknown.to_string()));
        }
        let parameters = kernel.parameter_sizes();
        let Reply::Number(function) = self.new_handle() else {
            unreachable!("a handle is a number")
        };
        Ok(Reply::Entry { function, parameters })
    }

    pub(super) fn kernel(&self, function: u64) -> Result<Box<dyn Kernel>, Failure> {
        let name = self.handles.functions.facts(function)?;
        self.library.kernel(name).ok_or(Failure::bare(code::INVALID_HANDLE))
    }

    pub(super) fn function_facts(
        &self,
        function: u64,
        threads: u32,
        shared: u32,
    ) -> Result<Reply, Failure> {
        let kernel = self.kernel(function)?;
        let (registers, shared_bytes) = (kernel.registers(), kernel.shared_bytes());
        let profile = self.device.profile();
        let resident_blocks =
            profile.resident_blocks(threads, registers, shared_bytes.saturating_add(shared));
        Ok(Reply::Function { registers, shared_bytes, resident_blocks })
    }

    pub(super) fn allow_shared(
        &mut self,
        function: u64,
        bytes: Option<u32>,
    ) -> Result<Reply, Failure> {
        let kernel = self.kernel(function)?;
        if let Some(bytes) = bytes {
            if !self.has_shared(kernel.as_ref(), bytes) {
                return Err(Failure::bare(code::INVALID_VALUE));
            }
            self.allowed_shared.insert(function, bytes);
        }
        Ok(Reply::Done)
    }

    /// Whether a multiprocessor has that much shared memory for a block.
    fn has_shared(&self, kernel: &dyn Kernel, dynamic_bytes: u32) -> bool {
        // What a block cannot have of it (CUDA C++ Programming Guide, technical specifications,
        // from compute capability 8.0 on).
        const RESERVED: u64 = 1024;
        let shared = u64::from(dynamic_bytes) + u64::from(kernel.shared_bytes());
        shared + RESERVED <= self.device.profile().chip.shared_bytes_per_multiprocessor.value
    }

    /// Whether a kernel can be launched with this shape at all. What it needs of a multiprocessor
    /// is looked at when it is.
    pub(super) fn check_shape(
        &self,
        function: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
    ) -> Result<(), Failure> {
        // CUDA C++ Programming Guide, technical specifications: the same since compute capability
        // 3.0.
        const LARGEST_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
        const LARGEST_BLOCK: [u32; 3] = [1024, 1024, 64];
        let within = |shape: [u32; 3], largest: [u32; 3]| {
            shape.iter().zip(largest).all(|(&n, most)| (1..=most).contains(&n))
        };
        let threads: u64 = block.iter().map(|&n| u64::from(n.min(1 << 20))).product();
        let kernel = self.kernel(function)?;
        // What a block has without asking (CUDA C++ Programming Guide, shared memory).
        const WITHOUT_ASKING: u32 = 48 << 10;
        let without_asking = WITHOUT_ASKING.saturating_sub(kernel.shared_bytes());
        let allowed = self.allowed_shared.get(&function).copied().unwrap_or(0).max(without_asking);
        let fits = within(grid, LARGEST_GRID)
            && within(block, LARGEST_BLOCK)
            && threads <= u64::from(kernel.most_threads())
            && shared_bytes <= allowed
            && self.has_shared(kernel.as_ref(), shared_bytes);
        if fits { Ok(()) } else { Err(Failure::bare(code::INVALID_VALUE)) }
    }
}
