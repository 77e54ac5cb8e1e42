//! A student's process as the machine sees it, and the kernels and the task that it knows: as little as tests of
//! the machine need.

use simulator::bounds::TaskWork;
use simulator::machine::{
    self, Guard, Host, Kernel, KernelAccess, KernelStep, KernelWork, Library, NotMapped,
    PINNED_BYTES, Protection, SmallGrid, Task, Twin,
};
use trace::lab_protocol::Speeds;
use trace::program::AccessKind;

/// The only ordinary memory that the student's process has, by address.
pub(crate) const HEAP: std::ops::Range<u64> = 0x10_0000..0x12_0000;

/// `touch` reads and writes memory, `spin` takes a time that its argument says.
pub(crate) struct Kernels;

impl Library for Kernels {
    fn kernel(&self, name: &str) -> Option<Box<dyn Kernel>> {
        match name {
            "touch" => Some(Box::new(Touch)),
            "spin" => Some(Box::new(Spin)),
            _ => None,
        }
    }

    fn task(&self, name: &str, _speeds: &Speeds, _scale: u32) -> Option<Box<dyn Task>> {
        (name == "fill").then(|| Box::new(Fill) as Box<dyn Task>)
    }
}

/// A task with something in its buffers.
struct Fill;

impl Task for Fill {
    fn work(&self) -> TaskWork {
        TaskWork::default()
    }
    fn kernel_units(&self) -> Vec<(String, u64)> {
        vec![("spin".to_owned(), 1000)]
    }
    fn elements(&self, _array: u32) -> u64 {
        4096
    }
    fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
        let small = SmallGrid { most_blocks: 2, block_elements: 1024 };
        let step = KernelStep { kernel: "touch".to_owned(), rounds: 2, small: Some(small) };
        (array < 2).then(|| (0, vec![step; array as usize]))
    }
    fn on_host(&self) -> Vec<u32> {
        vec![0]
    }
    fn loading_ns(&self, array: u32, elements: u64) -> Option<u64> {
        (array == 0).then_some(elements)
    }
    fn input(&self, array: u32, seed: u64, _first: u64, elements: &mut [u32]) {
        elements.fill(array ^ seed as u32);
    }
    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        self.input(array, seed, first, elements);
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Arguments: source, target, bytes.
struct Touch;

impl Kernel for Touch {
    fn parameter_sizes(&self) -> Vec<u8> {
        vec![8, 8, 8]
    }
    fn rate(&self) -> &str {
        "map"
    }
    fn registers(&self) -> u32 {
        32
    }
    fn most_threads(&self) -> u32 {
        1024
    }
    fn shared_bytes(&self) -> u32 {
        0
    }
    fn work(&self, arguments: &[u8], _scale: u32) -> Option<KernelWork> {
        let bytes = number(arguments, 16)?;
        Some(KernelWork { units: bytes, bytes })
    }
    fn accesses(&self, arguments: &[u8], _scale: u32) -> Option<Vec<KernelAccess>> {
        let (address, bytes) = (number(arguments, 0)?, number(arguments, 16)?);
        let read = KernelAccess { kind: AccessKind::Read, address, bytes };
        let address = number(arguments, 8)?;
        Some(vec![read, KernelAccess { kind: AccessKind::Write, address, bytes }])
    }
    fn rounds(&self, arguments: &[u8]) -> Option<u64> {
        number(arguments, 16)
    }
    fn twin(&self) -> Option<Twin> {
        Some(Box::new(|_, inputs, outputs| {
            for (input, output) in inputs.iter().zip(outputs) {
                for (from, to) in input.iter().zip(output) {
                    *to = to.wrapping_mul(31) ^ from;
                }
            }
        }))
    }
}

/// Argument: units of work.
struct Spin;

impl Kernel for Spin {
    fn parameter_sizes(&self) -> Vec<u8> {
        vec![8]
    }
    fn rate(&self) -> &str {
        "map"
    }
    fn registers(&self) -> u32 {
        255
    }
    fn most_threads(&self) -> u32 {
        256
    }
    fn shared_bytes(&self) -> u32 {
        1024
    }
    fn work(&self, arguments: &[u8], _scale: u32) -> Option<KernelWork> {
        let units = number(arguments, 0)?;
        Some(KernelWork { units, bytes: units })
    }
    fn accesses(&self, _arguments: &[u8], _scale: u32) -> Option<Vec<KernelAccess>> {
        Some(Vec::new())
    }
    fn twin(&self) -> Option<Twin> {
        None
    }
}

/// A process with a little memory.
pub(crate) struct Process {
    heap: Vec<u8>,
    pinned: Vec<u8>,
    /// The last that was said of the first page of pinned memory.
    pub(crate) first_page: Protection,
}

impl Process {
    pub(crate) fn new() -> Self {
        let heap = (HEAP.start..HEAP.end).map(|at| at as u8).collect();
        let pinned = vec![0; PINNED_BYTES as usize];
        Self { heap, pinned, first_page: Protection::Open }
    }

    fn heap(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], NotMapped> {
        let start = address.checked_sub(HEAP.start).ok_or(NotMapped)? as usize;
        self.heap.get_mut(start..).and_then(|heap| heap.get_mut(..bytes)).ok_or(NotMapped)
    }
}

impl Host for Process {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
        bytes.copy_from_slice(self.heap(address, bytes.len())?);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
        self.heap(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
    fn read_pinned(&mut self, offset: u64, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.pinned[offset as usize..][..bytes.len()]);
    }
    fn write_pinned(&mut self, offset: u64, bytes: &[u8]) {
        self.pinned[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    fn call(&mut self, function: u64, data: u64) -> Vec<machine::Touch> {
        let at = (function ^ data) as usize % self.heap.len();
        self.heap[at] = self.heap[at].wrapping_add(1);
        // What it says it used may be anything too.
        vec![machine::Touch { offset: function, bytes: data, kind: AccessKind::Write }]
    }

    fn guard(&mut self, guard: Guard) {
        let end = guard.offset.checked_add(guard.bytes).expect("a guard is in pinned memory");
        assert!(guard.bytes > 0 && end <= PINNED_BYTES, "{guard:?}");
        assert_eq!((guard.offset % 4096, guard.bytes % 4096), (0, 0), "{guard:?}");
        if guard.offset == 0 {
            self.first_page = guard.protection;
        }
    }
}
