//! Measured regions: the machine fills a task's inputs when one begins, and looks at its outputs
//! and at the work that was done when it ends.

use std::sync::Arc;

use trace::lab_protocol::{
    Buffer, Device as Kind, Pass, Region, Reply as LabReply, Request as LabRequest, Speeds,
};
use trace::meter::{self, Trace};
use trace::metrics::memory::peak;
use trace::program::{Access, AccessKind, Call, Direction, Extent, Program, Range};
use trace::record::{DeviceState, Memory, Output, Shortfall, Trial};

use super::data::World;
use super::handles::Address;
use super::library::Task;
use super::requests::Requests;
use super::{Host, Machine, PINNED_BYTES, Protection};
use crate::bounds::bounds;
use crate::profile::Profile;

/// Contents of outputs before the region: 0 or an old result would hide work that was never done.
pub const POISON: u32 = 0xdead_beef;

/// One byte in memory stands for no more than this: the lab's scale is 32.
const LARGEST_SCALE: u32 = 1024;
/// The host's clock goes no further by work that is declared, in ns: an hour, ten thousand times
/// what an exercise takes. Sums of a million times of that length, in thousandths, still fit in 64
/// bits.
pub(super) const LAST_NS: u64 = 3_600 * 1_000_000_000;
/// Said where it would.
const TOO_LONG: &str = "no run takes longer than an hour on the simulated device";

/// Of an answer's words one in so many is looked at when it is sent, and the last one. A copy
/// writes them in order, all of them are compared after the region, and to read 0.3 MB takes as
/// long as a request does.
const ANSWER_STEP: usize = 1024;

pub(super) struct Open {
    region: Region,
    task: Option<Arc<dyn Task>>,
    first_step: usize,
    start_ns: u64,
    /// The host thread that began it, and is to end it.
    thread: u32,
    requests: Requests,
    /// Pages of pinned memory that the host has used by themselves.
    pub(super) lone_pages: usize,
}

impl Machine {
    /// The speeds that tasks are sized by.
    pub fn speeds(&self) -> Speeds {
        speeds(self.device.profile(), Kind::Simulated)
    }

    pub(super) fn lab(
        &mut self,
        request: &LabRequest,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> LabReply {
        match request {
            // The client keeps it: it is the one that walks the stack.
            LabRequest::Source { .. } | LabRequest::Ready => LabReply::Done,
            LabRequest::Scale { scale }
                if self.demand.as_ref().is_some_and(|it| it.scale != *scale) =>
            {
                LabReply::Refused { why: "the exercise has another scale".to_owned() }
            }
            // It has been in force from the first command on.
            LabRequest::Scale { .. } if self.demand.is_some() => LabReply::Done,
            LabRequest::Scale { scale } => {
                if self.handles.has_memory() || !(1..=LARGEST_SCALE).contains(scale) {
                    let why = format!(
                        "the scale is set once, before any memory is allocated, to {LARGEST_SCALE} at most"
                    );
                    LabReply::Refused { why }
                } else {
                    self.program.scale = *scale;
                    self.handles.scale = *scale;
                    LabReply::Done
                }
            }
            LabRequest::Speeds => LabReply::Speeds(self.speeds()),
            LabRequest::KeptTraces { seed } => {
                let seed = self.demand.as_ref().map_or(*seed, |demand| demand.seed);
                LabReply::KeptTraces(meter::kept(seed))
            }
            LabRequest::Traced { name } => {
                LabReply::Traced(Trace::of(name, self.device.timeline()))
            }
            LabRequest::Clock => LabReply::Clock { ns: self.device.host_ns() },
            LabRequest::HostWork { ns, .. } if self.is_too_long(*ns) => {
                LabReply::Refused { why: TOO_LONG.to_owned() }
            }
            LabRequest::HostWork { ns, .. } => {
                self.make(Call::HostWork { ns: *ns, target: None }, site, host);
                LabReply::Done
            }
            LabRequest::Arrival { played_ns } => self.take_request(*played_ns, site, host),
            LabRequest::Answer { request } => self.answer_request(*request, site, host),
            LabRequest::Load { place, written, ns, .. } => {
                self.load(place, *written, *ns, site, host)
            }
            LabRequest::HostCopy { source, target, bytes } => {
                let buffer = |address| Buffer { address, bytes: *bytes, ..Buffer::default() };
                self.host_copy(&buffer(*source), &buffer(*target), site, host)
            }
            LabRequest::RegionBegin(_) | LabRequest::RegionEnd
                if self.device.threads_alive() > 1 =>
            {
                LabReply::Refused { why: self.threads_left() }
            }
            LabRequest::RegionBegin(region) => {
                // The process that demands a region knows its inputs, and no other has to.
                let seed = self.demand.as_ref().map_or(region.seed, |demand| demand.seed);
                self.begin_region(&Region { seed, ..region.clone() }, site, host)
            }
            LabRequest::RegionEnd
                if self
                    .open_region
                    .as_ref()
                    .is_some_and(|it| it.thread != self.threads.running()) =>
            {
                let why = "a measured region is ended by the host thread that began it".to_owned();
                LabReply::Refused { why }
            }
            LabRequest::RegionEnd => self.end_region(site, host),
            // Answered before they come here.
            LabRequest::Thread(_)
            | LabRequest::HostAccess { .. }
            | LabRequest::FailedCall { .. } => LabReply::Done,
        }
    }

    /// The host waits for the next request.
    fn take_request(
        &mut self,
        played_ns: Option<u64>,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> LabReply {
        let next = self.open_region.as_mut().and_then(|open| open.requests.take(played_ns));
        let Some((request, at_ns)) = next else { return LabReply::Gone };
        self.make(Call::Arrival { request, at_ns }, site, host);
        LabReply::Number(request.into())
    }

    /// The host answers a request.
    fn answer_request(&mut self, request: u32, site: Option<u32>, host: &mut dyn Host) -> LabReply {
        let now_ns = self.device.host_ns();
        let is_right = self.is_answered(request, host);
        let Some(open) = &mut self.open_region else {
            return LabReply::Refused { why: "no measured region is open".to_owned() };
        };
        let since_ns = now_ns.saturating_sub(open.start_ns);
        if let Err(why) = open.requests.answer(request, since_ns) {
            return LabReply::Refused { why };
        }
        if !is_right {
            open.requests.discard(request);
        }
        self.make(Call::Answer { request }, site, host);
        LabReply::Done
    }

    /// Whether the answer to a request is where it is to be. Of a region without a task that is not
    /// known.
    fn is_answered(&mut self, request: u32, host: &mut dyn Host) -> bool {
        let open = self.open_region.as_ref();
        let Some((region, task)) = open.and_then(|open| Some((&open.region, open.task.clone()?)))
        else {
            return true;
        };
        let Some(answer) = answer_of(region, task.as_ref(), request) else { return false };
        let checked = check_outputs(&answer, task.as_ref(), |buffer, bytes| {
            let _ = self.store.read(self.address(buffer), bytes, host);
        });
        checked == Output::Correct
    }

    /// Whether the host's clock would go too far by work that takes so long.
    pub(super) fn is_too_long(&self, ns: u64) -> bool {
        self.device.core_free_from(self.device.host_ns()).saturating_add(ns) > LAST_NS
    }

    /// Ordinary host memory is reached through the student's process, pinned memory is not:
    /// what is done to it here is not the student's doing.
    fn address(&self, buffer: &Buffer) -> Address {
        let at = buffer.address;
        let offset = self.pinned_base.and_then(|base| at.checked_sub(base));
        let pinned = offset.filter(|&at| self.handles.pinned.range(at, buffer.bytes).is_ok());
        match pinned {
            Some(offset) => Address::Pinned(offset),
            None if self.handles.is_device(at) => Address::Device(at),
            None => Address::Pageable(at),
        }
    }

    /// The host loads a part of its input, which takes as long as the task of the open region says.
    fn load(
        &mut self,
        place: &Buffer,
        written: u64,
        ns: u64,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> LabReply {
        let Buffer { array, first, bytes, .. } = *place;
        let task = self.open_region.as_ref().and_then(|open| {
            let task = open.task.clone()?;
            Some((task.loading_ns(array, bytes / 4)?, task, open.region.seed))
        });
        let ns = task.as_ref().map_or(ns, |(ns, ..)| *ns);
        if self.is_too_long(ns) {
            return LabReply::Refused { why: TOO_LONG.to_owned() };
        }
        if let Some((_, task, seed)) = task {
            let address = self.address(place);
            let is_there = self.is_there(place)
                && !matches!(address, Address::Device(_))
                && first.checked_add(bytes / 4).is_some_and(|end| end <= task.elements(array));
            if !is_there {
                let why = format!("there is no place for {bytes} bytes of array {array} there");
                return LabReply::Refused { why };
            }
            // The host writes there, whether or not its process has let that be noticed.
            self.notice_write(address, bytes, site, host);
            self.write_elements(place, host, |elements| {
                task.input(array, seed, first, elements);
            });
            self.store.provenance.load(self.threads.running(), address, bytes, array, first);
        }
        let target = self.in_pinned(self.address(place), written.min(bytes));
        self.make(Call::HostWork { ns, target }, site, host);
        LabReply::Done
    }

    /// The host has copied from one place to another, which takes it as long as copying into the
    /// driver's own buffer does.
    fn host_copy(
        &mut self,
        source: &Buffer,
        target: &Buffer,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> LabReply {
        let bytes = target.bytes;
        let ns = self.copying_ns(self.handles.nominal(bytes));
        if self.is_too_long(ns) {
            return LabReply::Refused { why: TOO_LONG.to_owned() };
        }
        let (from, to) = (self.address(source), self.address(target));
        // What is on the device comes by copies alone.
        let on_host = |address| !matches!(address, Address::Device(_));
        if on_host(from) && on_host(to) && self.is_there(target) {
            let pieces = self.store.provenance.of(from, bytes);
            self.store.provenance.land(to, bytes, &pieces);
        }
        let target = self.in_pinned(to, bytes);
        self.make(Call::HostWork { ns, target }, site, host);
        LabReply::Done
    }

    /// The part of a block of pinned memory that begins at an address; none elsewhere.
    fn in_pinned(&self, address: Address, bytes: u64) -> Option<Range> {
        let Address::Pinned(offset) = address else { return None };
        self.handles.pinned_within(offset, bytes).first().copied()
    }

    /// How long the host takes to copy so many nominal bytes.
    pub(super) fn copying_ns(&self, nominal: u64) -> u64 {
        let pace = self.device.profile().copies.staging_bytes_per_us.value.max(1);
        u64::try_from(u128::from(nominal) * 1000 / u128::from(pace)).unwrap_or(u64::MAX)
    }

    /// The one who looks at the outputs reads them when the region has ended.
    fn read_outputs(&mut self, outputs: &[Buffer], site: Option<u32>, host: &mut dyn Host) {
        let mut accesses = Vec::new();
        for buffer in outputs {
            if let Address::Pinned(offset) = self.address(buffer) {
                let ranges = self.handles.pinned_within(offset, buffer.bytes);
                let reads =
                    ranges.into_iter().map(|range| Access { kind: AccessKind::Read, range });
                accesses.extend(reads);
            }
        }
        if !accesses.is_empty() {
            self.make(Call::HostAccess { accesses, extent: Extent::Whole }, site, host);
        }
    }

    /// Whether a region can have this buffer: all of it on the device, or no more of it on the host
    /// than all pinned memory together.
    fn is_there(&self, buffer: &Buffer) -> bool {
        let Buffer { address, bytes, first, .. } = *buffer;
        let has_elements = first.checked_add(bytes / 4).is_some();
        has_elements
            && match self.handles.is_device(address) {
                true => self.handles.device.range(address, bytes).is_ok(),
                false => bytes <= PINNED_BYTES,
            }
    }

    fn begin_region(
        &mut self,
        region: &Region,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> LabReply {
        if self.open_region.is_some() {
            return LabReply::Refused { why: "a measured region is open already".to_owned() };
        }
        if let Some(buffer) =
            region.inputs.iter().chain(&region.outputs).find(|it| !self.is_there(it))
        {
            let Buffer { address, bytes, .. } = buffer;
            let why = format!("there are no {bytes} bytes of memory at {address:#x}");
            return LabReply::Refused { why };
        }
        let task: Option<Arc<dyn Task>> = if region.task.is_empty() {
            None
        } else {
            match self.library.task(&region.task, &self.speeds(), self.program.scale) {
                Some(task) => Some(Arc::from(task)),
                None => {
                    return LabReply::Refused {
                        why: format!("there is no task `{}`", region.task),
                    };
                }
            }
        };
        if let Some(why) = self.not_demanded(region, task.as_deref()) {
            let why = format!("this region is not the exercise's: {why}");
            return LabReply::Refused { why };
        }
        self.make(Call::RegionBegin, site, host);
        self.guard(None, host);
        if let Some(task) = &task {
            // Outputs first: a buffer may be both.
            for buffer in &region.outputs {
                self.write_elements(buffer, host, |elements| elements.fill(POISON));
            }
            self.store.provenance.begin(Arc::clone(task), region.seed);
            for buffer in &region.inputs {
                self.write_elements(buffer, host, |elements| {
                    task.input(buffer.array, region.seed, buffer.first, elements);
                });
                let address = self.address(buffer);
                self.store.provenance.fill(address, buffer.bytes, buffer.array, buffer.first);
            }
        }
        self.open_region = Some(Open {
            region: region.clone(),
            requests: Requests::of(task.as_deref()),
            task,
            first_step: self.program.steps.len(),
            start_ns: self.device.host_ns(),
            thread: self.threads.running(),
            lone_pages: 0,
        });
        self.free_pages_are(Protection::Timed, host);
        LabReply::Done
    }

    fn write_elements(
        &mut self,
        buffer: &Buffer,
        host: &mut dyn Host,
        fill: impl FnOnce(&mut [u32]),
    ) {
        let mut elements = vec![0; (buffer.bytes / 4) as usize];
        fill(&mut elements);
        let mut bytes = vec![0; elements.len() * 4];
        for (bytes, element) in bytes.as_chunks_mut().0.iter_mut().zip(&elements) {
            *bytes = element.to_le_bytes();
        }
        // Memory that is not there any more is found out when its contents are looked at.
        let _ = self.store.write(self.address(buffer), &bytes, host);
    }

    fn end_region(&mut self, site: Option<u32>, host: &mut dyn Host) -> LabReply {
        let Some(open) = self.open_region.take() else {
            return LabReply::Refused { why: "no measured region is open".to_owned() };
        };
        self.make(Call::RegionEnd, site, host);
        self.free_pages_are(Protection::Open, host);
        let device = if self.device.is_at_work() { DeviceState::Busy } else { DeviceState::Idle };
        let makespan_ns = self.device.host_ns() - open.start_ns;
        // Where every result is known to be there, nothing can be wrong with reading it. Where
        // several threads ask for results and wait for them, they may be there by luck.
        if open.task.is_some() && (self.guards.awaits_results() || !self.guards.alone) {
            self.read_outputs(&open.region.outputs, site, host);
        }
        let mut world = World {
            store: &mut self.store,
            moving: &mut self.moving,
            fault: &mut self.fault,
            touched: &mut self.touched,
            watching: &mut self.watching,
            host,
        };
        self.device.run_to_idle(&mut world);
        self.note_touched();
        let Open { region, task, first_step, requests, .. } = open;
        let mut trial = Trial {
            name: region.name.clone(),
            makespan_ns,
            bounds: None,
            output: Output::Unchecked,
            device,
            missing_work: Vec::new(),
            memory: None,
            misled: None,
            latency: requests.latency(),
        };
        if let Some(task) = &task {
            trial.bounds = bounds(&task.work(), self.device.profile()).ok();
            trial.missing_work = shortfalls(&self.program, first_step, task.as_ref());
            trial.missing_work.extend(requests.shortfall());
            trial.memory = memory_of(&self.program, task.as_ref());
            trial.output = check_outputs(&region, task.as_ref(), |buffer, bytes| {
                if self.is_there(buffer) {
                    let _ = self.store.read(self.address(buffer), bytes, host);
                }
            });
            let place = |buffer: &Buffer| self.address(buffer);
            if trial.output == Output::Correct
                && let Some(unfounded) = self.store.provenance.check(&region, place)
            {
                trial.output = unfounded;
            }
            if trial.output != Output::Correct {
                trial.misled = self.store.provenance.misled().map(Box::new);
            }
            // Where it is wrong, that says enough.
            if self.demand.is_some() && trial.output == Output::Correct {
                let scale = u64::from(self.program.scale);
                let unreached = self.store.provenance.unreached().into_iter();
                trial.missing_work.extend(unreached.map(|(array, found)| Shortfall {
                    what: format!("elements of array {array} that its kernels made of its input"),
                    needed: task.elements(array) * scale,
                    found: found * scale,
                }));
            }
        }
        self.store.provenance.end();
        if region.pass == Pass::Counts {
            self.trials.push(trial.clone());
        }
        LabReply::Trial(Box::new(trial))
    }
}

/// The speeds that tasks are sized by, on a device of either kind with this profile.
pub fn speeds(profile: &Profile, device: Kind) -> Speeds {
    let map = profile.rates.get("map").map_or(0, |rate| rate.units_per_us_multiprocessor.value);
    Speeds {
        host_to_device_bytes_per_us: profile.copies.host_to_device.pinned_bytes_per_us.value,
        device_to_host_bytes_per_us: profile.copies.device_to_host.pinned_bytes_per_us.value,
        map_units_per_us: map * profile.chip.multiprocessors.value,
        device,
    }
}

/// A region with words of the answer to a request of this one as outputs; none if there is no such
/// request.
pub fn answer_of(region: &Region, task: &dyn Task, request: u32) -> Option<Region> {
    let part = task.answer(request)?;
    let is_it = |it: &&Buffer| (it.array, it.first) == (part.array, part.first);
    let whole = *region.outputs.iter().find(is_it)?;
    let words = whole.bytes / 4;
    let looked_at = (0..words).step_by(ANSWER_STEP).chain(words.checked_sub(1));
    let outputs = looked_at.map(|word| Buffer {
        first: whole.first + word,
        address: whole.address + 4 * word,
        bytes: 4,
        ..whole
    });
    let outputs = outputs.collect();
    Some(Region { outputs, seed: region.seed, ..Region::default() })
}

/// Compares the outputs of a region with what its task expects. `read` reads one buffer; it is
/// called once for each output, in order.
pub fn check_outputs(
    region: &Region,
    task: &dyn Task,
    mut read: impl FnMut(&Buffer, &mut [u8]),
) -> Output {
    let (mut first_wrong, mut wrong, mut of) = (None, 0, 0);
    for buffer in &region.outputs {
        let mut bytes = vec![0; buffer.bytes as usize];
        read(buffer, &mut bytes);
        let mut expected = vec![0; bytes.len() / 4];
        task.expected(buffer.array, region.seed, buffer.first, &mut expected);
        of += expected.len() as u64;
        // Arrays and no slices: for each slice a build with assertions looks whether it may be one.
        for (index, (bytes, &expected)) in bytes.as_chunks().0.iter().zip(&expected).enumerate() {
            let found = u32::from_le_bytes(*bytes);
            if found != expected {
                wrong += 1;
                first_wrong.get_or_insert((
                    buffer.array,
                    buffer.first + index as u64,
                    expected,
                    found,
                ));
            }
        }
    }
    match first_wrong {
        Some((block, element, expected, found)) => {
            Output::Wrong { block, element, expected, found, wrong, of }
        }
        None if region.outputs.is_empty() => Output::Unchecked,
        None => Output::Correct,
    }
}

/// The device memory of the last region of `program`, where `task` has a budget.
pub fn memory_of(program: &Program, task: &dyn Task) -> Option<Memory> {
    let budget_bytes = task.memory_bytes()?;
    Some(Memory { peak: peak(program), budget_bytes })
}

/// The work that `task` needs and that the steps of `program` from `first_step` on did not do.
pub fn shortfalls(program: &Program, first_step: usize, task: &dyn Task) -> Vec<Shortfall> {
    let (mut up, mut down, mut host) = (0u64, 0u64, 0u64);
    let mut names = std::collections::BTreeMap::new();
    let mut units: std::collections::BTreeMap<&str, u64> = Default::default();
    let mut graphs = std::collections::BTreeMap::new();
    let mut done: Vec<&Call> = Vec::new();
    for (index, step) in program.steps.iter().enumerate() {
        match &step.call {
            Call::FunctionGet { kernel, name, .. } => {
                names.insert(*kernel, name.as_str());
            }
            Call::GraphCreate { graph, nodes } => {
                graphs.insert(*graph, nodes);
            }
            _ if index < first_step || step.result != 0 => {}
            Call::GraphLaunch { graph, .. } => {
                done.extend(
                    graphs
                        .get(graph)
                        .into_iter()
                        .flat_map(|nodes| nodes.iter())
                        .map(|node| &node.call),
                );
            }
            call => done.push(call),
        }
    }
    for call in done {
        match call {
            call @ Call::Copy { bytes, .. } => match call.direction() {
                Some(Direction::HostToDevice) => up = up.saturating_add(*bytes),
                Some(Direction::DeviceToHost) => down = down.saturating_add(*bytes),
                _ => {}
            },
            Call::Launch(launch) => {
                let name = names.get(&launch.kernel).copied().unwrap_or_default();
                let of_kernel = units.entry(name).or_default();
                *of_kernel = of_kernel.saturating_add(launch.units);
            }
            Call::HostWork { ns, .. } => host = host.saturating_add(*ns),
            _ => {}
        }
    }
    let work = task.work();
    let mut needs = vec![
        ("host to device bytes".to_owned(), work.host_to_device_bytes, up),
        ("device to host bytes".to_owned(), work.device_to_host_bytes, down),
        ("ns of host work".to_owned(), work.host_ns, host),
    ];
    for (kernel, needed) in task.kernel_units() {
        let found = units.get(kernel.as_str()).copied().unwrap_or(0);
        needs.push((kernel, needed, found));
    }
    let short = needs.into_iter().filter(|(_, needed, found)| found < needed);
    short.map(|(what, needed, found)| Shortfall { what, needed, found }).collect()
}
