//! The lab's kernels and tasks, as the simulator wants to see them.

use kernels::task::priorities::{ANSWERS, ARRIVALS_US, REQUEST_BLOCKS, REQUESTS, REQUESTS_FROM};
use kernels::{Argument, Kernel, Mode, Parameter, Recipe, Stage, recipe, task};
use simulator::bounds::{Request, TaskKernel, TaskWork};
use simulator::machine::{
    self, KernelAccess, KernelStep, KernelWork, Part, Role, Side, SmallGrid, Span, Twin,
};
use trace::lab_protocol::{READINGS, Speeds};
use trace::meter;
use trace::program::{AccessKind, Items, Loop, Pipe};

/// The task whose host writes readings.
const METERED: &str = kernels::task::measuring::SPEC.name;
/// The task whose host answers requests.
const SERVED: &str = kernels::task::priorities::NAME;

/// All kernels and tasks of the lab.
pub(crate) struct Library;

/// A kernel of the lab.
struct Known(&'static Kernel);

impl machine::Library for Library {
    fn kernel(&self, name: &str) -> Option<Box<dyn machine::Kernel>> {
        kernels::find(name).map(|kernel| Box::new(Known(kernel)) as Box<dyn machine::Kernel>)
    }

    fn task(&self, name: &str, speeds: &Speeds, scale: u32) -> Option<Box<dyn machine::Task>> {
        let speeds = kernels::task::Speeds {
            host_to_device_bytes_per_us: speeds.host_to_device_bytes_per_us,
            device_to_host_bytes_per_us: speeds.device_to_host_bytes_per_us,
            map_units_per_us: speeds.map_units_per_us,
        };
        let task = kernels::Task::find(name, &speeds, scale);
        let task = task.map(|task| match task.name() {
            METERED => Box::new(Metered(Set(task))) as Box<dyn machine::Task>,
            SERVED => {
                let requests = Set(kernels::Task::new(&REQUESTS, &speeds, scale));
                Box::new(Served { job: Set(task), requests })
            }
            _ => Box::new(Set(task)),
        });
        task.or_else(|| Some(Box::new(Listed(task::recipe(name, scale)?))))
    }
}

/// The arguments of a launch, from their bytes; none if there are too few.
fn arguments(kernel: &Kernel, mut bytes: &[u8]) -> Option<Vec<Argument>> {
    let mut arguments = Vec::new();
    for parameter in kernel.parameters {
        let (argument, rest) = match parameter {
            Parameter::Pointer => {
                let (first, rest) = bytes.split_first_chunk()?;
                (Argument::Pointer(u64::from_le_bytes(*first)), rest)
            }
            Parameter::U32 => {
                let (first, rest) = bytes.split_first_chunk()?;
                (Argument::U32(u32::from_le_bytes(*first)), rest)
            }
        };
        arguments.push(argument);
        bytes = rest;
    }
    Some(arguments)
}

impl machine::Kernel for Known {
    fn parameter_sizes(&self) -> Vec<u8> {
        let size = |parameter: &Parameter| match parameter {
            Parameter::Pointer => 8,
            Parameter::U32 => 4,
        };
        self.0.parameters.iter().map(size).collect()
    }

    fn rate(&self) -> &str {
        self.0.rate
    }

    fn registers(&self) -> u32 {
        self.0.registers
    }

    fn most_threads(&self) -> u32 {
        self.0.threads
    }

    fn shared_bytes(&self) -> u32 {
        self.0.shared_bytes
    }

    fn items(&self) -> Option<Items> {
        items(self.0)
    }

    fn inner_loop(&self) -> Option<Loop> {
        inner_loop(self.0)
    }

    fn work(&self, bytes: &[u8], scale: u32) -> Option<KernelWork> {
        let work = self.0.work(&arguments(self.0, bytes)?, scale);
        Some(KernelWork { units: work.units, bytes: work.bytes })
    }

    fn accesses(&self, bytes: &[u8], scale: u32) -> Option<Vec<KernelAccess>> {
        let accesses = self.0.accesses(&arguments(self.0, bytes)?, scale);
        let access = |access: kernels::Access| KernelAccess {
            kind: match access.mode {
                Mode::Read => AccessKind::Read,
                Mode::Write => AccessKind::Write,
            },
            address: access.pointer,
            bytes: access.bytes,
        };
        Some(accesses.into_iter().map(access).collect())
    }

    fn rounds(&self, bytes: &[u8]) -> Option<u64> {
        self.0.rounds(&arguments(self.0, bytes)?).map(u64::from)
    }

    fn twin(&self) -> Option<Twin> {
        let (kernel, twin) = (self.0, self.0.twin()?);
        Some(Box::new(move |bytes, inputs, outputs| {
            if let Some(arguments) = arguments(kernel, bytes) {
                twin(&arguments, inputs, outputs);
            }
        }))
    }
}

fn items(kernel: &Kernel) -> Option<Items> {
    kernel.items.map(|kernels::Items { bytes, together, waits }| Items { bytes, together, waits })
}

fn inner_loop(kernel: &Kernel) -> Option<Loop> {
    let kernels::Loop { main, each_turn, chains, others } = kernel.inner_loop?;
    let pipe = match main {
        kernels::Main::Floats => Pipe::Floats,
        kernels::Main::Integers => Pipe::Integers,
        kernels::Main::Tensor => Pipe::Tensor,
        kernels::Main::Loads => Pipe::Memory,
    };
    Some(Loop { pipe, each_turn, chains, others })
}

fn side(side: recipe::Side) -> Side {
    match side {
        recipe::Side::Host => Side::Host,
        recipe::Side::Device => Side::Device,
    }
}

/// A task of the lab that is a list of launches.
struct Listed(Recipe);

impl Listed {
    /// Given arrays of the host, which have to be uploaded.
    fn uploaded(&self) -> impl Iterator<Item = (u32, &recipe::Array)> {
        let arrays = (0..).zip(self.0.arrays());
        arrays.filter(|(_, it)| it.side == recipe::Side::Host && it.given > 0)
    }

    /// Words that have to be downloaded.
    fn downloaded(&self) -> u64 {
        let parts = self.0.arrays().iter().flat_map(|it| &it.on_host);
        parts.map(|(_, words)| words).sum()
    }
}

impl machine::Task for Listed {
    fn work(&self) -> TaskWork {
        let words: u64 = self.uploaded().map(|(_, it)| it.given).sum();
        let kernel = |share: recipe::Share| TaskKernel {
            rate: share.kernel.rate.to_owned(),
            units: share.units,
            bytes: share.bytes,
            threads: share.kernel.threads,
            registers: share.kernel.registers,
            items: items(share.kernel),
            inner_loop: inner_loop(share.kernel),
            blocks: share.blocks,
            launches: Some(share.launches),
        };
        TaskWork {
            host_to_device_bytes: 4 * words * u64::from(self.0.scale()),
            kernels: self.0.shares().into_iter().map(kernel).collect(),
            device_to_host_bytes: 4 * self.downloaded() * u64::from(self.0.scale()),
            host_ns: self.0.host_ns(),
            ..TaskWork::default()
        }
    }

    fn kernel_units(&self) -> Vec<(String, u64)> {
        let mut units = std::collections::BTreeMap::new();
        for share in self.0.shares() {
            *units.entry(share.kernel.name.to_owned()).or_default() += share.units;
        }
        units.into_iter().collect()
    }

    fn elements(&self, array: u32) -> u64 {
        self.0.arrays().get(array as usize).map_or(0, |it| it.elements)
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (array, it) in (0..).zip(self.0.arrays()) {
            if it.given > 0 && it.loading_ns.is_none() {
                let (side, elements) = (side(it.side), it.given);
                parts.push(Part { array, role: Role::Input, side, first: 0, elements });
            }
            if it.wanted_from < it.elements {
                let (first, elements) = (it.wanted_from, it.elements - it.wanted_from);
                let (role, side) = (Role::Output, Side::Device);
                parts.push(Part { array, role, side, first, elements });
            }
            for &(first, elements) in &it.on_host {
                let (role, side) = (Role::Output, Side::Host);
                parts.push(Part { array, role, side, first, elements });
            }
        }
        parts
    }

    fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
        // What is made is an array of its own: no element goes through kernels on its own.
        self.0.arrays().get(array as usize).map(|_| (array, Vec::new()))
    }

    fn made(&self, kernel: &str, reads: &[Span]) -> Result<Vec<Span>, Option<String>> {
        let reads: Vec<recipe::Span> = reads
            .iter()
            .map(|&Span { array, first, elements }| recipe::Span { array, first, elements })
            .collect();
        let writes = self.0.made(kernel, &reads).ok_or_else(|| self.0.misfit(kernel, &reads))?;
        let span = |&recipe::Span { array, first, elements }: &_| Span { array, first, elements };
        Ok(writes.iter().map(span).collect())
    }

    fn on_host(&self) -> Vec<u32> {
        self.uploaded().map(|(array, _)| array).collect()
    }

    fn loading_ns(&self, array: u32, elements: u64) -> Option<u64> {
        self.0.loading_ns(array, elements)
    }

    fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        self.0.input(array, seed, first, elements);
    }

    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        self.0.expected(array, seed, first, elements);
    }
}

/// A task of the lab whose host writes down what its meter says of the traces that are kept.
struct Metered(Set);

impl machine::Task for Metered {
    fn work(&self) -> TaskWork {
        self.0.work()
    }

    fn kernel_units(&self) -> Vec<(String, u64)> {
        self.0.kernel_units()
    }

    fn elements(&self, array: u32) -> u64 {
        match array {
            READINGS => meter::KEPT_WORDS as u64,
            _ => self.0.elements(array),
        }
    }

    fn parts(&self) -> Vec<Part> {
        let (array, role, side, first) = (READINGS, Role::Output, Side::Host, 0);
        let mut parts = self.0.parts();
        parts.push(Part { array, role, side, first, elements: self.elements(READINGS) });
        parts
    }

    /// No way leads to the readings: they are compared, and where they come from is not asked.
    fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
        self.0.origin(array)
    }

    fn on_host(&self) -> Vec<u32> {
        self.0.on_host()
    }

    fn passed(
        &self,
        array: u32,
        seed: u64,
        first: u64,
        steps: &[KernelStep],
        elements: &mut [u32],
    ) {
        self.0.passed(array, seed, first, steps, elements);
    }

    fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        self.0.input(array, seed, first, elements);
    }

    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        if array != READINGS {
            return self.0.expected(array, seed, first, elements);
        }
        let words = meter::kept_words(seed);
        for (element, word) in elements.iter_mut().zip(words.iter().skip(first as usize)) {
            *element = *word;
        }
    }
}

/// A task of the lab whose host answers requests while the device does a job. Each of the two is a
/// task with arrays of its own.
struct Served {
    job: Set,
    requests: Set,
}

impl Served {
    /// The one of the two that an array belongs to, its number there, and the seed of its own: no
    /// two arrays hold the same.
    fn of(&self, array: u32, seed: u64) -> (&Set, u32, u64) {
        match array.checked_sub(REQUESTS_FROM) {
            Some(array) => (&self.requests, array, !seed),
            None => (&self.job, array, seed),
        }
    }
}

impl machine::Task for Served {
    fn work(&self) -> TaskWork {
        let (job, requests) = (self.job.work(), self.requests.work());
        let number = ARRIVALS_US.len() as u64;
        let request = requests.kernels.first().map(|kernel| Request {
            host_to_device_bytes: requests.host_to_device_bytes / number,
            device_to_host_bytes: requests.device_to_host_bytes / number,
            kernel: TaskKernel {
                units: kernel.units / number,
                bytes: kernel.bytes / number,
                blocks: Some(REQUEST_BLOCKS.into()),
                ..kernel.clone()
            },
        });
        TaskWork {
            host_to_device_bytes: job.host_to_device_bytes + requests.host_to_device_bytes,
            device_to_host_bytes: job.device_to_host_bytes + requests.device_to_host_bytes,
            kernels: job.kernels.into_iter().chain(requests.kernels).collect(),
            request,
            ..TaskWork::default()
        }
    }

    fn kernel_units(&self) -> Vec<(String, u64)> {
        self.job.kernel_units().into_iter().chain(self.requests.kernel_units()).collect()
    }

    fn elements(&self, array: u32) -> u64 {
        let (of, array, _) = self.of(array, 0);
        of.elements(array)
    }

    /// Each request has memory of its own.
    fn parts(&self) -> Vec<Part> {
        let requests = self.requests.parts().into_iter().flat_map(|part| {
            let number = ARRIVALS_US.len() as u64;
            let (array, elements) = (part.array + REQUESTS_FROM, part.elements / number);
            (0..number).map(move |it| Part { array, first: it * elements, elements, ..part })
        });
        self.job.parts().into_iter().chain(requests).collect()
    }

    fn arrivals(&self) -> Vec<u64> {
        ARRIVALS_US.iter().map(|us| us * 1000).collect()
    }

    fn answer(&self, request: u32) -> Option<Part> {
        let elements = self.elements(ANSWERS) / ARRIVALS_US.len() as u64;
        let first = u64::from(request) * elements;
        self.parts().into_iter().find(|it| (it.array, it.first) == (ANSWERS, first))
    }

    fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
        let (of, own, _) = self.of(array, 0);
        let (from, steps) = of.origin(own)?;
        Some((from + (array - own), steps))
    }

    fn on_host(&self) -> Vec<u32> {
        self.requests.on_host().into_iter().map(|array| array + REQUESTS_FROM).collect()
    }

    fn passed(
        &self,
        array: u32,
        seed: u64,
        first: u64,
        steps: &[KernelStep],
        elements: &mut [u32],
    ) {
        let (of, array, seed) = self.of(array, seed);
        of.passed(array, seed, first, steps, elements);
    }

    fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let (of, array, seed) = self.of(array, seed);
        of.input(array, seed, first, elements);
    }

    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let (of, array, seed) = self.of(array, seed);
        of.expected(array, seed, first, elements);
    }
}

/// A task of the lab.
struct Set(kernels::Task);

impl machine::Task for Set {
    fn work(&self) -> TaskWork {
        let (up, down) = self.0.bytes();
        let small = self.0.small();
        let elements = self.0.elements() * u64::from(self.0.scale());
        let work = |(name, units): (&str, u64)| {
            let kernel = kernels::find(name)?;
            Some(TaskKernel {
                rate: kernel.rate.to_owned(),
                units,
                bytes: elements * kernel.items.map_or(0, |items| items.bytes.into()),
                threads: kernel.threads,
                registers: kernel.registers,
                items: items(kernel),
                inner_loop: inner_loop(kernel),
                launches: None,
                blocks: small
                    .iter()
                    .find(|(it, _)| *it == name)
                    .map(|(_, it)| it.multiprocessors.into()),
            })
        };
        let mut units = self.0.units();
        units.retain(|(name, _)| self.0.is_on_the_first(name));
        TaskWork {
            host_to_device_bytes: up,
            device_to_host_bytes: down,
            between_bytes: self.0.bytes_between(),
            kernels: units.into_iter().filter_map(work).collect(),
            host_ns: self.0.host_ns(),
            request: None,
        }
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.0.memory_bytes()
    }

    fn kernel_units(&self) -> Vec<(String, u64)> {
        self.0.units().into_iter().map(|(kernel, units)| (kernel.to_owned(), units)).collect()
    }

    fn elements(&self, _array: u32) -> u64 {
        self.0.elements()
    }

    fn parts(&self) -> Vec<Part> {
        let part = |part: task::Part| Part {
            array: part.array,
            role: match part.role {
                task::Role::Given => Role::Input,
                task::Role::Made => Role::Output,
            },
            side: side(part.side),
            first: part.first,
            elements: part.elements,
        };
        self.0.parts().into_iter().map(part).collect()
    }

    fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
        let (from, passes) = self.0.origin(array)?;
        let small = self.0.small();
        let small = |stage: Stage| {
            let (_, it) = small.iter().find(|(name, _)| *name == stage.name())?;
            let block_elements = self.0.elements() / u64::from(it.branches * it.multiprocessors);
            Some(SmallGrid { most_blocks: it.multiprocessors, block_elements })
        };
        let step = |pass: task::Pass| KernelStep {
            kernel: pass.stage.name().to_owned(),
            rounds: pass.rounds.into(),
            small: small(pass.stage),
        };
        Some((from, passes.into_iter().map(step).collect()))
    }

    fn on_host(&self) -> Vec<u32> {
        self.0.on_host()
    }

    fn loading_ns(&self, array: u32, elements: u64) -> Option<u64> {
        self.0.loading_ns(array, elements)
    }

    fn passed(
        &self,
        array: u32,
        seed: u64,
        first: u64,
        steps: &[KernelStep],
        elements: &mut [u32],
    ) {
        let pass = |step: &KernelStep| {
            let stage = Stage::ALL.into_iter().find(|stage| stage.name() == step.kernel)?;
            Some(task::Pass { stage, rounds: u32::try_from(step.rounds).ok()? })
        };
        let passes: Vec<_> = steps.iter().filter_map(pass).collect();
        self.0.passed(array, seed, first, &passes, elements);
    }

    fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        self.0.input(array, seed, first, elements);
    }

    fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        self.0.expected(array, seed, first, elements);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_told_what_a_kernels_warps_issue_if_the_kernel_says_so() {
        let told = |name: &str| {
            let kernel = kernels::find(name).expect("it is listed");
            machine::Kernel::inner_loop(&Known(kernel))
        };
        let inner =
            |pipe, each_turn, chains, others| Some(Loop { pipe, each_turn, chains, others });
        // The numbers of `checker/simulator/tests/it/pairs.rs` too, which is held to two devices.
        assert_eq!(told("fma_map"), inner(Pipe::Floats, 128, 8, 3));
        assert_eq!(told("chain_map"), inner(Pipe::Floats, 16, 1, 3));
        assert_eq!(told("stream_map"), inner(Pipe::Memory, 1, 1, 51));
        assert_eq!(told("tensor_product"), inner(Pipe::Tensor, 16, 4, 5));
        assert_eq!(told("map_a"), inner(Pipe::Integers, 64, 4, 3));
        assert_eq!(told("matmul_1024"), None);
    }
}
