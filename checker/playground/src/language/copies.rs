//! Copies and kernels of a program.

use trace::program::{Access, AccessKind, Call, Items, KernelId, Launch};

use crate::profiles;

use super::TIME;
use super::lower::{Lowered, Lowering};
use super::mistake::{At, Mistake};
use super::names::MODE;
use super::syntax::{Amount, Kernel, Memory, Name, Way, Work};
use super::things::{Buffer, Thing};

/// Blocks of a grid, at most.
const MOST_BLOCKS: u32 = 1_000_000;
/// Rounds of a map for each element, at most.
const MOST_ROUNDS: u32 = 10_000_000;

// A block of a kernel that is given by its time takes all registers of a multiprocessor, so each
// has one to itself.
const TIMED_THREADS: u32 = 1024;
const TIMED_REGISTERS: u32 = 64;

// As the kernels of the exercises: `exercises/lab/kernels/src/map.rs` and `matmul.rs`.
const MAP_THREADS: u32 = 256;
const MAP_REGISTERS: u32 = 32;
const MAP_ITEMS: Items = Items { bytes: 8, together: 4, waits: 1 };
/// Eight blocks for each multiprocessor of an H200, which fill it.
const MAP_BLOCKS: u32 = 8 * 132;
const MATMUL_BLOCKS: u32 = 256;
const MATMUL_THREADS: u32 = 128;
const MATMUL_REGISTERS: u32 = 167;
const MATMUL_SHARED_BYTES: u32 = 16896;
const MATMUL_UNITS: u64 = 1 << 30;
/// Two matrices are read and one is written, of 1024 by 1024 numbers of four bytes.
const MATMUL_BYTES: u64 = 3 * (4 << 20);

/// The two ends of a copy between host and device, as far as the text names them.
struct Ends<'a> {
    host: Option<&'a Name>,
    device: Option<&'a Name>,
}

impl Lowering {
    pub(super) fn copy(
        &mut self,
        way: Way,
        size: Option<&Amount>,
        memory: Option<Memory>,
        from: Option<&Name>,
        to: Option<&Name>,
        at: At,
    ) -> Lowered<()> {
        let size = size.map(|size| self.bytes(size)).transpose()?;
        if way == Way::Inside {
            return self.copy_inside(size, from, to, at);
        }
        let ends = self.ends(way, from, to)?;
        let known = |name: Option<&Name>| -> Lowered<Option<Buffer>> {
            let Some(name) = name else { return Ok(None) };
            match self.thing(name)? {
                Some(Thing::Buffer(buffer)) => Ok(Some(buffer)),
                None => Ok(None),
                Some(thing) => self.other(name, thing, "the name of a buffer"),
            }
        };
        let (device, host) = (known(ends.device)?, known(ends.host)?);
        self.are_ends(way, &ends, device, host)?;
        let smaller = match (device, host) {
            (Some(device), Some(host)) => Some(device.bytes.min(host.bytes)),
            (one, other) => one.or(other).map(|it| it.bytes),
        };
        let Some(bytes) = size.or(smaller) else {
            let name = ends.device.or(ends.host);
            let key = name.map(|name| self.key(name)).transpose()?.unwrap_or_default();
            let word = if way == Way::Up { "up 4 MiB to" } else { "down 4 MiB from" };
            let at = name.map_or(at, |name| name.at);
            return Err(Mistake::new(
                at,
                format!("nobody has said how large `{key}` is; write `{word} {key}`"),
            ));
        };
        let device = self.end(ends.device, device, Memory::Device, bytes)?;
        if let (Some(name), Some(host), Some(memory)) = (ends.host, host, memory)
            && host.kind != memory
        {
            let said = "nothing here: how it was declared counts";
            return self.other(name, Thing::Buffer(host), said);
        }
        let host = self.end(ends.host, host, memory.unwrap_or(Memory::Pageable), bytes)?;
        let stream = self.stream;
        if host.kind == Memory::Pinned {
            // cudarc has the stream wait for the last use of pinned memory.
            self.call(Call::StreamWait { stream, event: host.event }, at);
        }
        let (source, target) = if way == Way::Up { (host, device) } else { (device, host) };
        let (source, target) = (source.place(bytes), target.place(bytes));
        self.call(Call::Copy { stream, mode: MODE, source, target, bytes }, at);
        Ok(())
    }

    /// Which name is whose. A single name is the device's, unless it is known to be the host's.
    fn ends<'a>(
        &self,
        way: Way,
        from: Option<&'a Name>,
        to: Option<&'a Name>,
    ) -> Lowered<Ends<'a>> {
        if let (Some(name), None) | (None, Some(name)) = (from, to) {
            let is_host =
                matches!(self.thing(name)?, Some(Thing::Buffer(it)) if it.kind != Memory::Device);
            return Ok(match is_host {
                true => Ends { host: Some(name), device: None },
                false => Ends { host: None, device: Some(name) },
            });
        }
        Ok(if way == Way::Up {
            Ends { host: from, device: to }
        } else {
            Ends { host: to, device: from }
        })
    }

    fn are_ends(
        &self,
        way: Way,
        ends: &Ends<'_>,
        device: Option<Buffer>,
        host: Option<Buffer>,
    ) -> Lowered<()> {
        let write = match way {
            Way::Up => "`up h to x`, from host memory to device memory",
            _ => "`down x to h`, from device memory to host memory",
        };
        if let (Some(name), Some(buffer)) = (ends.device, device)
            && buffer.kind != Memory::Device
        {
            return self.other(name, Thing::Buffer(buffer), write);
        }
        if let (Some(name), Some(buffer)) = (ends.host, host)
            && buffer.kind == Memory::Device
        {
            return self.other(name, Thing::Buffer(buffer), write);
        }
        Ok(())
    }

    /// One end: what is there, if it is large enough, or new memory.
    fn end(
        &mut self,
        name: Option<&Name>,
        known: Option<Buffer>,
        kind: Memory,
        bytes: u64,
    ) -> Lowered<Buffer> {
        if let (Some(name), Some(buffer)) = (name, known) {
            self.is_large_enough(name, buffer, bytes)?;
            return Ok(buffer);
        }
        let buffer = self.set_up_buffer(kind, bytes);
        if let Some(name) = name {
            self.put(name, Thing::Buffer(buffer))?;
        }
        Ok(buffer)
    }

    fn is_large_enough(&self, name: &Name, buffer: Buffer, bytes: u64) -> Lowered<()> {
        if bytes <= buffer.bytes {
            return Ok(());
        }
        let (key, size) = (self.key(name)?, buffer.bytes);
        let text = format!(
            "`{key}` has {size} bytes, and the copy has {bytes}; write a smaller size, or declare `{key}` larger"
        );
        Err(Mistake::new(name.at, text))
    }

    fn copy_inside(
        &mut self,
        size: Option<u64>,
        from: Option<&Name>,
        to: Option<&Name>,
        at: At,
    ) -> Lowered<()> {
        let (Some(from), Some(to)) = (from, to) else {
            return Err(Mistake::new(
                at,
                "a copy inside the device has two ends; write `copy x to y`",
            ));
        };
        let source = self.buffer(from)?;
        let bytes = size.unwrap_or(source.bytes);
        let target = match self.thing(to)? {
            None => {
                let buffer = self.set_up_buffer(Memory::Device, bytes);
                self.put(to, Thing::Buffer(buffer))?;
                buffer
            }
            Some(_) => self.buffer(to)?,
        };
        for (name, buffer) in [(from, source), (to, target)] {
            if buffer.kind != Memory::Device {
                return self.other(name, Thing::Buffer(buffer), "`up` or `down` for host memory");
            }
            self.is_large_enough(name, buffer, bytes)?;
        }
        let (source, target) = (source.place(bytes), target.place(bytes));
        self.call(Call::Copy { stream: self.stream, mode: MODE, source, target, bytes }, at);
        Ok(())
    }

    pub(super) fn memset(&mut self, name: &Name, at: At) -> Lowered<()> {
        let buffer = self.buffer(name)?;
        if buffer.kind == Memory::Pageable {
            return self.other(name, Thing::Buffer(buffer), "the name of device memory");
        }
        let target = buffer.range(buffer.bytes);
        self.call(Call::Memset { stream: self.stream, mode: MODE, target }, at);
        Ok(())
    }

    /// The memory that a kernel uses.
    fn accesses(&self, kernel: &Kernel) -> Lowered<Vec<Access>> {
        let mut accesses = Vec::new();
        for (kind, names) in
            [(AccessKind::Read, &kernel.reads), (AccessKind::Write, &kernel.writes)]
        {
            for name in names {
                let buffer = self.buffer(name)?;
                if buffer.kind == Memory::Pageable {
                    return self.other(name, Thing::Buffer(buffer), "the name of device memory");
                }
                accesses.push(Access { kind, range: buffer.range(buffer.bytes) });
            }
        }
        Ok(accesses)
    }

    pub(super) fn kernel(&mut self, kernel: &Kernel, at: At) -> Lowered<()> {
        let accesses = self.accesses(kernel)?;
        let blocks = kernel.blocks.as_ref().map(|blocks| self.count(blocks, 1, MOST_BLOCKS));
        let blocks = blocks.transpose()?;
        let (function, grid, threads, units, bytes) = match &kernel.work {
            Work::Time(time) => {
                let ns = self.ns(time)?;
                let all = profiles::multiprocessors();
                let blocks = blocks.unwrap_or(all);
                // Blocks that find no multiprocessor come after the others, and the time is that of
                // all of them.
                let each = (ns / u64::from(blocks.div_ceil(all))).max(1);
                let name = kernel.name.as_deref().unwrap_or("kernel");
                let function = (name, TIME, TIMED_REGISTERS, 0, None);
                (function, blocks, TIMED_THREADS, each * u64::from(blocks), 0)
            }
            Work::Map(rounds) => {
                let rounds = self.count(rounds, 0, MOST_ROUNDS)?;
                let of = |kind| accesses.iter().filter(move |it: &&Access| it.kind == kind);
                let [read, written] = [AccessKind::Read, AccessKind::Write]
                    .map(|kind| of(kind).map(|it| it.range.bytes).sum::<u64>());
                let size = if read > 0 { read } else { written };
                if size == 0 {
                    return Err(Mistake::new(
                        at,
                        "a map works on memory; write `kernel map 100 rounds on x`",
                    ));
                }
                let name = kernel.name.as_deref().unwrap_or("map");
                let function = (name, "map", MAP_REGISTERS, 0, Some(MAP_ITEMS));
                let units = size / 4 * u64::from(rounds);
                (function, blocks.unwrap_or(MAP_BLOCKS), MAP_THREADS, units, 2 * size)
            }
            Work::Matmul => {
                let name = kernel.name.as_deref().unwrap_or("matmul");
                let function = (name, "matmul", MATMUL_REGISTERS, MATMUL_SHARED_BYTES, None);
                (function, MATMUL_BLOCKS, MATMUL_THREADS, MATMUL_UNITS, MATMUL_BYTES)
            }
        };
        let launch = Launch {
            kernel: self.function(function),
            stream: self.stream,
            grid: [grid, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            units,
            bytes,
            accesses,
        };
        self.call(Call::Launch(launch), at);
        Ok(())
    }

    /// The kernel of this name and kind.
    fn function(
        &mut self,
        (own, own_rate, registers, shared_bytes, items): (&str, &str, u32, u32, Option<Items>),
    ) -> KernelId {
        let is_it = |call: &Call| matches!(call, Call::FunctionGet { name, rate, .. } if name == own && rate == own_rate);
        let known = self.kernels.iter().position(is_it);
        let index = known.unwrap_or_else(|| {
            self.kernels.push(Call::FunctionGet {
                kernel: KernelId(self.kernels.len() as u32),
                name: own.to_owned(),
                rate: own_rate.to_owned(),
                registers,
                shared_bytes,
                items,
                inner_loop: None,
            });
            self.kernels.len() - 1
        });
        KernelId(index as u32)
    }
}
