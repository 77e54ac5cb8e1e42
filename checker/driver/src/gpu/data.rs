//! The data of a task on a GPU: filled before a region and compared after it, by all threads that
//! the machine has, since an exercise moves hundreds of MiB and is run dozens of times.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use simulator::machine::{self, POISON, Task};
use trace::lab_protocol::{Buffer, Region};
use trace::record::Output;

use super::Gpu;
use super::observe::Observed;
use crate::cuda::{CUresult, Handle, code};

/// Elements that are made, copied or compared at a time: they stay in the caches of one core.
const BLOCK: usize = 1 << 18;

/// More threads than this gain nothing: memory is the limit.
const MOST_THREADS: usize = 16;

/// A part of a buffer that one thread works on.
#[derive(Clone, Copy)]
struct Part {
    buffer: Buffer,
    /// The context of the device that has it; none on the host.
    context: Option<Handle>,
}

impl Part {
    fn elements(&self) -> usize {
        (self.buffer.bytes / 4) as usize
    }
}

impl Gpu {
    /// Poisons the outputs of a task and fills its inputs.
    pub(super) fn fill(
        &self,
        region: &Region,
        task: &dyn Task,
        observed: &Observed,
    ) -> Result<(), CUresult> {
        // Outputs first: a buffer may be both.
        self.on_all_threads(&self.parts(&region.outputs, observed), |part, block| {
            let block = &mut block[..part.elements()];
            block.fill(POISON);
            self.write(part, block)
        })?;
        self.on_all_threads(&self.parts(&region.inputs, observed), |part, block| {
            let block = &mut block[..part.elements()];
            task.input(part.buffer.array, region.seed, part.buffer.first, block);
            self.write(part, block)
        })?;
        Ok(())
    }

    /// Compares the outputs of a region with what its task expects. An error is that of a read.
    pub(super) fn check(
        &self,
        region: &Region,
        task: &dyn Task,
        observed: &Observed,
    ) -> Result<Output, CUresult> {
        let parts = self.parts(&region.outputs, observed);
        let outputs = self.on_all_threads(&parts, |part, _| {
            let outputs = vec![part.buffer];
            let alone = Region { seed: region.seed, outputs, ..Region::default() };
            let mut result = Ok(());
            let output = machine::check_outputs(&alone, task, |_, bytes| {
                result = self.read(part, bytes);
            });
            result.map(|()| output)
        })?;
        let all = region.outputs.iter().map(|buffer| buffer.bytes / 4).sum();
        Ok(together(outputs, all))
    }

    /// Reads single words of one block of memory. An error is that of a read.
    pub(super) fn words_of(
        &self,
        words: &[Buffer],
        observed: &Observed,
    ) -> Result<Vec<[u8; 4]>, CUresult> {
        let context = words.first().and_then(|it| self.context_of(it.address, observed));
        let read = |&buffer: &Buffer| {
            let mut word = [0; 4];
            self.read(&Part { buffer, context }, &mut word).map(|()| word)
        };
        words.iter().map(read).collect()
    }

    /// Buffers in parts, in order.
    fn parts(&self, buffers: &[Buffer], observed: &Observed) -> Vec<Part> {
        let mut parts = Vec::new();
        for buffer in buffers {
            let context = self.context_of(buffer.address, observed);
            let bytes = buffer.bytes / 4 * 4;
            for start in (0..bytes).step_by(BLOCK * 4) {
                let buffer = Buffer {
                    array: buffer.array,
                    first: buffer.first + start / 4,
                    address: buffer.address + start,
                    bytes: (bytes - start).min(BLOCK as u64 * 4),
                };
                parts.push(Part { buffer, context });
            }
        }
        parts
    }

    /// Does `work` for each part, which gets room for one; the results, in the order of the parts.
    /// After a failure nothing more is begun.
    fn on_all_threads<T: Send>(
        &self,
        parts: &[Part],
        work: impl Fn(&Part, &mut [u32]) -> Result<T, CUresult> + Sync,
    ) -> Result<Vec<T>, CUresult> {
        let mut own: Handle = 0;
        // SAFETY: writes one handle.
        succeed(unsafe { self.real.current_context(&raw mut own) })?;
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let take = || -> Result<Vec<(usize, T)>, CUresult> {
            let mut block = vec![0; BLOCK];
            let mut done = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(index) else { break };
                // SAFETY: the context is that of the thread that waits for this one, or of a
                // device's memory.
                let current = unsafe { self.real.set_current_context(part.context.unwrap_or(own)) };
                let result = succeed(current).and_then(|()| work(part, &mut block));
                stopped.fetch_or(result.is_err(), Ordering::Relaxed);
                done.push((index, result?));
            }
            Ok(done)
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let others = cores.min(MOST_THREADS).min(parts.len()).saturating_sub(1);
        let mut results = thread::scope(|scope| {
            let helpers: Vec<_> = (0..others).map(|_| scope.spawn(take)).collect();
            let results = take();
            // SAFETY: it was current before.
            succeed(unsafe { self.real.set_current_context(own) })?;
            let mut results = results?;
            for helper in helpers {
                results.extend(helper.join().unwrap_or(Err(code::UNKNOWN))?);
            }
            Ok::<_, CUresult>(results)
        })?;
        results.sort_by_key(|(index, _)| *index);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// The context of the device whose memory is at this address; none on the host. A device may
    /// not be able to use the memory of another one.
    fn context_of(&self, address: u64, observed: &Observed) -> Option<Handle> {
        const MEMORY_TYPE: u32 = 2;
        const DEVICE: c_int = 2;
        const ORDINAL: u32 = 9;
        let ask = |attribute: u32| {
            let mut number: c_int = 0;
            let room = (&raw mut number).cast::<c_void>();
            // SAFETY: writes one number of 32 bits; any address may be asked about.
            let result = unsafe { self.real.pointer_attribute(room, attribute, address) };
            (result == code::SUCCESS).then_some(number)
        };
        if !observed.is_device(address) && ask(MEMORY_TYPE) != Some(DEVICE) {
            return None;
        }
        let device = ask(ORDINAL).unwrap_or(0);
        let mut context = 0;
        // SAFETY: writes one handle. The context is kept for the life of the process.
        let result = unsafe { self.real.retain_context(&raw mut context, device) };
        // Without one nothing can be copied there, and that is what the copy says.
        Some(if result == code::SUCCESS { context } else { 0 })
    }

    fn write(&self, part: &Part, elements: &[u32]) -> Result<(), CUresult> {
        let (target, bytes) = (part.buffer.address, elements.len() * 4);
        if part.context.is_some() {
            let source = elements.as_ptr().cast();
            // SAFETY: the source is live; that the target is, is the lab's word.
            return succeed(unsafe { self.real.copy_to_device(target, source, bytes) });
        }
        // SAFETY: that the target is live and not shared, is the lab's word; parts do not
        // overlap. Bytes, since it may not be aligned.
        unsafe {
            let source = elements.as_ptr().cast::<u8>();
            source.copy_to_nonoverlapping(target as *mut u8, bytes);
        }
        Ok(())
    }

    fn read(&self, part: &Part, bytes: &mut [u8]) -> Result<(), CUresult> {
        let source = part.buffer.address;
        if part.context.is_some() {
            let target = bytes.as_mut_ptr().cast();
            // SAFETY: the target is live; that the source is, is the lab's word.
            return succeed(unsafe { self.real.copy_from_device(target, source, bytes.len()) });
        }
        // SAFETY: that the source is live, is the lab's word.
        unsafe {
            (source as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }
}

/// Combines the results of the parts, in order, into that of the whole, which has `all` elements.
fn together(parts: Vec<Output>, all: u64) -> Output {
    let mut whole = if parts.is_empty() { Output::Unchecked } else { Output::Correct };
    for part in parts {
        match (&mut whole, part) {
            (Output::Wrong { wrong, .. }, Output::Wrong { wrong: more, .. }) => *wrong += more,
            (whole, Output::Wrong { block, element, expected, found, wrong, .. }) => {
                *whole = Output::Wrong { block, element, expected, found, wrong, of: all };
            }
            _ => {}
        }
    }
    whole
}

fn succeed(result: CUresult) -> Result<(), CUresult> {
    if result == code::SUCCESS { Ok(()) } else { Err(result) }
}
