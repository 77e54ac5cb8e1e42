//! Work for a stream: copies, memsets, kernels and host functions.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use trace::program::{Access, AccessKind, Call, Launch, Mode, Place, Range};

use super::family::Family;
use super::handles::{Address, Handles};
use super::library::{KernelAccess, Library};
use super::reply::{Failure, Reply, code};
use super::{Host, Machine};

/// The arguments of a launch, one after the other. Those of the lab's kernels need no memory of
/// their own: to ask for some would take a good part of the time that noting a launch on a GPU
/// takes.
pub type Arguments = SmallVec<[u8; 32]>;

/// An operation, each field as the driver's call has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each stands for the driver call of the same name, field by field")]
pub enum WorkCommand {
    Copy {
        stream: u64,
        mode: Mode,
        source: Address,
        target: Address,
        bytes: u64,
    },
    /// `cuMemcpyPeer…`: it may use what a [`WorkCommand::Copy`] between two devices may not.
    PeerCopy {
        stream: u64,
        mode: Mode,
        source: Address,
        target: Address,
        bytes: u64,
    },
    /// `count` times the lowest `width` bytes of `pattern`.
    Memset {
        stream: u64,
        mode: Mode,
        target: u64,
        pattern: u32,
        width: u8,
        count: u64,
    },
    Launch {
        function: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        stream: u64,
        /// The arguments, one after the other, in the sizes that [`Reply::Entry`] gave.
        arguments: Arguments,
    },
    /// A host function, by its address and that of its data in the student's process.
    HostFunction {
        stream: u64,
        function: u64,
        data: u64,
    },
}

impl Family for WorkCommand {
    fn reply(&self, _: &mut Machine, _: &mut dyn Host) -> Result<Reply, Failure> {
        Ok(Reply::Done)
    }

    fn call(
        &self,
        handles: &mut Handles,
        _: &Reply,
        library: &dyn Library,
    ) -> Result<Option<Call>, Failure> {
        Ok(Some(match self {
            Self::Copy { bytes: 0, .. }
            | Self::PeerCopy { bytes: 0, .. }
            | Self::Memset { count: 0, .. } => return Ok(None),
            Self::Copy { stream, mode, source, target, bytes }
            | Self::PeerCopy { stream, mode, source, target, bytes } => Call::Copy {
                stream: handles.stream(*stream)?,
                mode: *mode,
                source: handles.place(*source, *bytes)?,
                target: handles.place(*target, *bytes)?,
                bytes: handles.nominal(*bytes),
            },
            Self::Memset { stream, mode, target, width, count, .. } => {
                let bytes = count.checked_mul(u64::from(*width));
                let bytes = bytes.ok_or(Failure::bare(code::INVALID_VALUE))?;
                let target = handles.device_range(*target, bytes)?;
                Call::Memset { stream: handles.stream(*stream)?, mode: *mode, target }
            }
            Self::Launch { .. } => Call::Launch(handles.launch(self, library, false)?),
            Self::HostFunction { stream, .. } => {
                Call::HostFunction { stream: handles.stream(*stream)?, accesses: Vec::new() }
            }
        }))
    }

    fn stream(&self) -> Option<u64> {
        match self {
            Self::Copy { stream, .. }
            | Self::PeerCopy { stream, .. }
            | Self::Memset { stream, .. }
            | Self::Launch { stream, .. }
            | Self::HostFunction { stream, .. } => Some(*stream),
        }
    }
}

impl Handles {
    fn place(&self, address: Address, bytes: u64) -> Result<Place, Failure> {
        Ok(match address {
            Address::Device(at) => Place::Device(self.device_range(at, bytes)?),
            Address::Pinned(at) => Place::Pinned(self.nominal_range(self.pinned.range(at, bytes)?)),
            Address::Pageable(_) => Place::Pageable,
        })
    }

    /// The nominal range of device memory at an address.
    fn device_range(&self, at: u64, bytes: u64) -> Result<Range, Failure> {
        Ok(self.nominal_range(self.device.range(at, bytes)?))
    }

    /// The memory that a captured operation uses if it runs now, reads first; none where some of it
    /// is not there.
    pub(super) fn uses(&self, command: &WorkCommand, library: &dyn Library) -> Option<Vec<Access>> {
        let access = |kind, range: Range| Access { kind, range };
        match command {
            WorkCommand::Launch { .. } => Some(self.launch(command, library, false).ok()?.accesses),
            WorkCommand::Copy { source, target, bytes, .. }
            | WorkCommand::PeerCopy { source, target, bytes, .. } => {
                let ends = [(AccessKind::Read, source), (AccessKind::Write, target)];
                let mut uses = Vec::new();
                for (kind, end) in ends {
                    match self.place(*end, *bytes).ok()? {
                        Place::Device(range) | Place::Pinned(range) => {
                            uses.push(access(kind, range));
                        }
                        Place::Pageable => {}
                    }
                }
                Some(uses)
            }
            WorkCommand::Memset { target, width, count, .. } => {
                let bytes = count.checked_mul(u64::from(*width))?;
                let range = self.device_range(*target, bytes).ok()?;
                Some(vec![access(AccessKind::Write, range)])
            }
            WorkCommand::HostFunction { .. } => None,
        }
    }

    /// The call that a launch makes although its kernel touches memory that is not there: that much
    /// is left out.
    pub(super) fn faulty_launch(
        &self,
        command: &WorkCommand,
        library: &dyn Library,
    ) -> Result<Call, Failure> {
        self.launch(command, library, true).map(Call::Launch)
    }

    fn launch(
        &self,
        command: &WorkCommand,
        library: &dyn Library,
        may_fault: bool,
    ) -> Result<Launch, Failure> {
        let WorkCommand::Launch { function, grid, block, shared_bytes, stream, arguments } =
            command
        else {
            unreachable!("only launches are named here")
        };
        let mut launch = Launch {
            stream: self.stream(*stream)?,
            kernel: self.functions.find(*function)?,
            grid: *grid,
            block: *block,
            shared_bytes: *shared_bytes,
            units: 0,
            bytes: 0,
            accesses: Vec::new(),
        };
        let Some(known) = library.kernel(self.functions.facts(*function)?) else {
            return Ok(launch);
        };
        let missing = || Failure::bare(code::INVALID_VALUE);
        let work = known.work(arguments, self.scale).ok_or_else(missing)?;
        launch.units = self.nominal(work.units);
        launch.bytes = self.nominal(work.bytes);
        for access in known.accesses(arguments, self.scale).ok_or_else(missing)? {
            match self.touched(&access, *function) {
                Ok(Some(range)) => launch.accesses.push(Access { kind: access.kind, range }),
                Err(failure) if !may_fault => return Err(failure),
                Ok(None) | Err(_) => {}
            }
        }
        Ok(launch)
    }

    /// The memory that an access of a kernel touches; none if it touches nothing.
    pub(super) fn touched(
        &self,
        access: &KernelAccess,
        function: u64,
    ) -> Result<Option<Range>, Failure> {
        let &KernelAccess { kind, address, bytes } = access;
        if bytes == 0 {
            return Ok(None);
        }
        let range = self.device.range(address, bytes).map_err(|_| {
            let name = self.functions.facts(function).map_or("", String::as_str);
            let does = if kind == AccessKind::Read { "reads" } else { "writes" };
            let why = format!(
                "kernel `{name}` {does} {bytes} bytes at {address:#x}, which are not in live device memory"
            );
            Failure::because(code::ILLEGAL_ADDRESS, why)
        })?;
        Ok(Some(self.nominal_range(range)))
    }
}
