//! The data: what is in device memory, and what is on its way to and from it.

use std::collections::BTreeMap;

use trace::program::AccessKind;

use super::command::{Command, Touch};
use super::handles::Address;
use super::library::{KernelAccess, Twin};
use super::memory::MemoryCommand;
use super::probe::{Watching, poison};
use super::provenance::{Launched, Piece, WORD};
use super::reply::{Failure, Reply, code};
use super::store::Store;
use super::work::WorkCommand;
use super::{Host, Machine, NotMapped};
use crate::device::{At, Effects};

/// The failure of a copy to or from pageable memory that is not there.
fn not_mapped(does: &str, address: Address, bytes: u64) -> Failure {
    let at = match address {
        Address::Device(at) | Address::Pinned(at) | Address::Pageable(at) => at,
    };
    let why = format!(
        "a copy {does} {bytes} bytes of host memory at {at:#x}, which the program does not have"
    );
    Failure::because(code::ILLEGAL_ADDRESS, why)
}

/// Between two places of the host, bytes are moved in pieces of this size: the whole may be larger
/// than what the machine could hold.
const PIECE: usize = 1 << 20;

/// No process has more memory than this, in bytes: the user half of a 48-bit address space.
const LARGEST_COPY: u64 = 1 << 47;

/// Movements of data by operations that have not ended, by their step and their node in the graph
/// that it launches.
pub(super) type Moving = BTreeMap<(u32, u32), Movement>;

/// Data that an operation reads and writes.
pub(super) enum Movement {
    Copy {
        source: Address,
        target: Address,
        bytes: u64,
        data: Option<Vec<u8>>,
        /// Where the data comes from.
        pieces: Vec<Piece>,
    },
    Memset {
        target: u64,
        pattern: u32,
        width: u8,
        count: u64,
    },
    Kernel {
        run: Option<Twin>,
        arguments: Vec<u8>,
        accesses: Vec<KernelAccess>,
        results: Vec<Vec<u8>>,
        launched: Launched,
        /// Where the results come from, range by range.
        pieces: Vec<Vec<Piece>>,
    },
    HostFunction {
        function: u64,
        data: u64,
    },
    /// Memory was allocated or freed: its contents are undefined.
    Poison {
        address: u64,
        bytes: u64,
    },
    /// It touches memory that is not there: it moves nothing, and ends in this error.
    Fault(Failure),
}

impl Movement {
    /// Refuses a copy to pageable memory that is not there. Whether it may be written shows only
    /// when it is.
    pub(super) fn check_target(&self, host: &mut dyn Host) -> Result<(), Failure> {
        let Movement::Copy { target: Address::Pageable(at), bytes, .. } = *self else {
            return Ok(());
        };
        let mut byte = [0];
        let last = at.checked_add(bytes.saturating_sub(1)).ok_or(NotMapped);
        let found = host.read(at, &mut byte).and_then(|()| host.read(last?, &mut byte));
        found.map_err(|NotMapped| Failure {
            code: code::INVALID_VALUE,
            ..not_mapped("writes", Address::Pageable(at), bytes)
        })
    }

    /// The operation starts: everything that it reads is read now, but for a copy from host to
    /// host, which is done in one go when it ends. `step` is the call that issued it.
    pub(super) fn read(
        &mut self,
        store: &mut Store,
        host: &mut dyn Host,
        step: u32,
    ) -> Result<(), Failure> {
        match self {
            Movement::Copy { source, target, bytes, data, pieces } => {
                if data.is_none() && is_on_device(*source, *target) {
                    store.take_along(*bytes)?;
                    let mut read = vec![0; *bytes as usize];
                    if store.read(*source, &mut read, host).is_err() {
                        store.in_flight -= *bytes;
                        return Err(not_mapped("reads", *source, *bytes));
                    }
                    *pieces = store.provenance.copied(*source, &read, step);
                    *data = Some(read);
                }
            }
            Movement::Memset { .. } | Movement::Poison { .. } | Movement::Fault(_) => {}
            Movement::Kernel { run, arguments, accesses, results, launched, pieces } => {
                *pieces = store.provenance.results(launched, accesses, step);
                let Some(run) = run else { return Ok(()) };
                let written = accesses.iter().filter(|access| access.kind == AccessKind::Write);
                store.take_along(written.map(|access| access.bytes).sum())?;
                let slice = |access: &KernelAccess| store.slice(access.address, access.bytes);
                let of_kind = |kind| accesses.iter().filter(move |a| a.kind == kind && a.bytes > 0);
                let inputs: Vec<&[u8]> = of_kind(AccessKind::Read).map(slice).collect();
                *results =
                    of_kind(AccessKind::Write).map(|access| slice(access).to_vec()).collect();
                if !inputs.is_empty() || !results.is_empty() {
                    run(arguments, &inputs, results);
                }
            }
            Movement::HostFunction { .. } => {}
        }
        Ok(())
    }

    /// Bytes that it holds until it ends.
    fn in_flight(&self) -> u64 {
        match self {
            Movement::Copy { data: Some(data), .. } => data.len() as u64,
            Movement::Kernel { results, .. } => results.iter().map(|it| it.len() as u64).sum(),
            _ => 0,
        }
    }

    /// The operation ends: everything that it writes lands now.
    fn write(self, store: &mut Store, host: &mut dyn Host) -> Result<(), Failure> {
        match self {
            Movement::Copy { target, data: Some(data), pieces, .. } => {
                let done = store.write(target, &data, host);
                done.map_err(|NotMapped| not_mapped("writes", target, data.len() as u64))?;
                store.provenance.land(target, data.len() as u64, &pieces);
                store.provenance.deliver(target, &pieces);
            }
            Movement::Copy { source, target, bytes, data: None, .. } => {
                let mut piece = vec![0; PIECE.min(bytes as usize)];
                let mut done = 0;
                while done < bytes {
                    piece.truncate((bytes - done).min(PIECE as u64) as usize);
                    let (from, to) = (behind(source, done), behind(target, done));
                    let read = store.read(from, &mut piece, host);
                    read.map_err(|NotMapped| not_mapped("reads", source, bytes))?;
                    let written = store.write(to, &piece, host);
                    written.map_err(|NotMapped| not_mapped("writes", target, bytes))?;
                    done += piece.len() as u64;
                }
                // What was known of it is known of it in its new place. Whether it is still so,
                // shows when it is used: nothing is looked for, or the host could bring anything
                // about by itself.
                let pieces = store.provenance.of(source, bytes);
                store.provenance.land(target, bytes, &pieces);
            }
            Movement::Memset { target, pattern, width, count } => {
                let width = usize::from(width);
                let pattern = pattern.to_le_bytes();
                store.provenance.land(Address::Device(target), count * width as u64, &[]);
                let bytes = store.slice_mut(target, count * width as u64);
                // Arrays and no slices: for each slice a build with assertions looks whether it may
                // be one.
                match width {
                    1 => bytes.fill(pattern[0]),
                    2 => bytes.as_chunks_mut().0.fill([pattern[0], pattern[1]]),
                    _ => bytes.as_chunks_mut().0.fill(pattern),
                }
            }
            Movement::Kernel { accesses, results, pieces, .. } => {
                let writes = accesses.iter().filter(|a| a.kind == AccessKind::Write);
                for (number, access) in writes.enumerate() {
                    let pieces = pieces.get(number).map_or(&[][..], Vec::as_slice);
                    store.provenance.land(Address::Device(access.address), access.bytes, pieces);
                    store.provenance.reached(pieces);
                }
                let written =
                    accesses.iter().filter(|a| a.kind == AccessKind::Write && a.bytes > 0);
                for (access, result) in written.zip(results) {
                    store.slice_mut(access.address, access.bytes).copy_from_slice(&result);
                }
            }
            Movement::Poison { address, bytes } => {
                store.provenance.land(Address::Device(address), bytes, &[]);
                store.slice_mut(address, bytes).copy_from_slice(&poison(bytes));
            }
            Movement::HostFunction { .. } | Movement::Fault(_) => {}
        }
        Ok(())
    }
}

impl Machine {
    /// Stream-ordered memory holds nothing that anyone wrote, once it has come to be or is gone.
    pub(super) fn poisoning(&self, command: &Command, reply: &Reply) -> Option<Movement> {
        let (address, bytes) = match (command, reply) {
            (Command::Memory(MemoryCommand::AllocAsync { bytes, .. }), Reply::Number(address)) => {
                (*address, *bytes)
            }
            (Command::Memory(MemoryCommand::FreeAsync { address, .. }), _) => {
                (*address, self.handles.device.size(*address).ok()?)
            }
            _ => return None,
        };
        (address != 0).then_some(Movement::Poison { address, bytes })
    }

    /// The movement of data by an operation.
    pub(super) fn movement(&self, command: &WorkCommand) -> Result<Movement, Failure> {
        Ok(match *command {
            WorkCommand::Copy { bytes, .. } if bytes > LARGEST_COPY => {
                return Err(Failure::bare(code::INVALID_VALUE));
            }
            WorkCommand::Copy { source, target, bytes, .. }
            | WorkCommand::PeerCopy { source, target, bytes, .. } => {
                for end in [source, target] {
                    self.check_there("copy", end, bytes)?;
                }
                Movement::Copy { source, target, bytes, data: None, pieces: Vec::new() }
            }
            WorkCommand::Memset { target, pattern, width, count, .. } => {
                if !matches!(width, 1 | 2 | 4) {
                    return Err(Failure::bare(code::INVALID_VALUE));
                }
                if target % u64::from(width) != 0 {
                    let why = format!(
                        "the memset of words of {width} bytes at {target:#x} begins at no multiple of {width}"
                    );
                    return Err(Failure::because(code::INVALID_VALUE, why));
                }
                let bytes = count.saturating_mul(u64::from(width));
                self.check_there("memset", Address::Device(target), bytes)?;
                Movement::Memset { target, pattern, width, count }
            }
            WorkCommand::Launch { function, grid, block, shared_bytes, ref arguments, .. } => {
                self.check_shape(function, grid, block, shared_bytes)?;
                let blocks = grid.iter().map(|&blocks| u64::from(blocks)).product();
                self.kernel_movement(function, blocks, arguments)?
            }
            WorkCommand::HostFunction { function, data, .. } => {
                Movement::HostFunction { function, data }
            }
        })
    }

    /// Fails, and says why, where an operation is to use memory that is not there.
    fn check_there(&self, what: &str, place: Address, bytes: u64) -> Result<(), Failure> {
        let (at, blocks) = match place {
            _ if bytes == 0 => return Ok(()),
            Address::Device(at) => (at, &self.handles.device),
            Address::Pinned(at) => (at, &self.handles.pinned),
            Address::Pageable(_) => return Ok(()),
        };
        if blocks.range(at, bytes).is_ok() {
            return Ok(());
        }
        let offset = self.pinned_base.and_then(|base| at.checked_sub(base));
        let is_of_the_host = place == Address::Device(at)
            && offset.is_some_and(|offset| self.handles.pinned.holds(offset));
        let why = if is_of_the_host {
            format!(
                "{at:#x} is pinned memory of the host: a GPU takes it for memory of the device too, and the \
                 simulated device does not\nhint: write to it from the host, or use memory of the device in this \
                 {what}"
            )
        } else if blocks.holds(at) {
            format!(
                "the {what} of {bytes} bytes goes beyond the end of the block of memory that it begins in"
            )
        } else {
            format!(
                "the {what} uses memory that is not there: it has been freed, or was never allocated\n\
                 hint: ask for the {what} before the memory is freed"
            )
        };
        Err(Failure::because(code::INVALID_VALUE, why))
    }

    fn kernel_movement(
        &self,
        function: u64,
        blocks: u64,
        arguments: &[u8],
    ) -> Result<Movement, Failure> {
        let kernel = self.kernel(function)?;
        let accesses = kernel.accesses(arguments, self.handles.scale);
        let accesses = accesses.ok_or(Failure::bare(code::INVALID_VALUE))?;
        let touched = |access: &KernelAccess| self.handles.touched(access, function).err();
        if let Some(fault) = accesses.iter().find_map(touched) {
            return Ok(Movement::Fault(fault));
        }
        if self.handles.are_several() {
            for access in &accesses {
                let Ok(Some(range)) = self.handles.touched(access, function) else { continue };
                match self.check_peer(function, &range) {
                    Err(fault) if fault.code == code::ILLEGAL_ADDRESS => {
                        return Ok(Movement::Fault(fault));
                    }
                    checked => checked?,
                }
            }
        }
        let name = self.handles.functions.facts(function)?;
        let elements = accesses.first().map_or(0, |access| access.bytes / WORD);
        let rounds = kernel.rounds(arguments);
        let launched = Launched { kernel: name.clone(), rounds, blocks, elements };
        Ok(Movement::Kernel {
            run: kernel.twin(),
            arguments: arguments.to_vec(),
            accesses,
            results: Vec::new(),
            launched,
            pieces: Vec::new(),
        })
    }
}

/// Whether a copy has an end on the device.
fn is_on_device(source: Address, target: Address) -> bool {
    [source, target].iter().any(|address| matches!(address, Address::Device(_)))
}

/// The address `bytes` after `address`.
fn behind(address: Address, bytes: u64) -> Address {
    match address {
        Address::Device(at) => Address::Device(at + bytes),
        Address::Pinned(at) => Address::Pinned(at + bytes),
        Address::Pageable(at) => Address::Pageable(at.saturating_add(bytes)),
    }
}

/// The data, as the timing core sees it.
pub(super) struct World<'a> {
    pub(super) store: &'a mut Store,
    pub(super) moving: &'a mut Moving,
    pub(super) fault: &'a mut Option<Failure>,
    /// Memory that host functions used, by step and node.
    pub(super) touched: &'a mut Vec<((u32, u32), Vec<Touch>)>,
    pub(super) watching: &'a mut Option<Watching>,
    pub(super) host: &'a mut dyn Host,
}

impl Effects for World<'_> {
    fn start(&mut self, step: u32, node: u32) {
        if self.fault.is_some() {
            return; // the context is lost: what it had queued does nothing any more
        }
        if let Some(watching) = self.watching {
            watching.starts(At { step, node }, self.store, self.host);
        }
        match self.moving.get_mut(&(step, node)) {
            Some(Movement::HostFunction { function, data }) => {
                let touches = self.host.call(*function, *data);
                if !touches.is_empty() {
                    self.touched.push(((step, node), touches));
                }
            }
            Some(movement) => *self.fault = movement.read(self.store, self.host, step).err(),
            None => {}
        }
    }

    fn end(&mut self, step: u32, node: u32) {
        let Some(movement) = self.moving.remove(&(step, node)) else { return };
        self.store.in_flight = self.store.in_flight.saturating_sub(movement.in_flight());
        if self.fault.is_some() {
            return;
        }
        match movement {
            Movement::Fault(fault) => *self.fault = Some(fault),
            _ => *self.fault = movement.write(self.store, self.host).err(),
        }
        if let Some(watching) = self.watching {
            watching.ends(At { step, node }, self.store, self.host);
        }
    }
}
