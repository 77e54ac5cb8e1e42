//! Calls of the host, from when they are made to when they return.

use trace::program::{Call, DEVICES, StreamId};
use trace::timeline::Interval;

use super::begin::Begun;
use super::cache::Cache;
use super::host_cache::HostCache;
use super::streams::Stream;
use super::wait::{Answer, Return, Wait, queued_in};
use super::{Device, Effects, FULL_SPEED, OperationId, at};

impl Device {
    /// Makes a call of the host thread whose turn it is; spans and effects name it by `step`. The
    /// call must be valid: its streams, events and kernels exist. None if the call has not
    /// returned, because other threads go first: see [`Device::turn`].
    ///
    /// `device` is the one whose context is current, from 0.
    pub fn call_on(
        &mut self,
        device: u32,
        step: u32,
        call: &Call,
        effects: &mut impl Effects,
    ) -> Option<Answer> {
        self.current = device.min(DEVICES - 1);
        let thread = self.hosts.running();
        let meant = self.streams.meant(thread, call);
        let call = meant.as_ref().unwrap_or(call);
        let asked = self.host_ns;
        self.run_until(asked, effects);
        // A stream that is full holds the call until one of its operations starts.
        let full = queued_in(call).filter(|&stream| !self.has_room(stream));
        let start = match full {
            None => asked,
            Some(stream) if self.hosts.is_alone() => self.room_in(stream, asked, effects),
            Some(_) => {
                self.hold_for_room(thread, step, call);
                return None;
            }
        };
        self.make((thread, step), call, (asked, start), effects, Return::Now)
    }

    /// The same with the context of the first device.
    pub fn call(&mut self, step: u32, call: &Call, effects: &mut impl Effects) -> Option<Answer> {
        self.call_on(0, step, call, effects)
    }

    /// Makes a call for which there is room.
    pub(super) fn make(
        &mut self,
        (thread, step): (u32, u32),
        call: &Call,
        (asked, start): (u64, u64),
        effects: &mut impl Effects,
        how: Return,
    ) -> Option<Answer> {
        // Its thread has no core before, and no call blocks it.
        let (asked, start) = match call {
            Call::HostWork { ns, .. } => [self.take_core(start, *ns); 2].into(),
            _ => (asked, start),
        };
        let mut blocked_ns = start - asked;
        let mut start = start + self.before_ns(call);
        let is_work = cfg!(feature = "threads") && queued_in(call).is_some();
        if is_work {
            start = self.driver_free_from(start);
        }
        let Begun { cost, wait, waited, answer } = self.begin_call(step, call, start);
        if is_work {
            self.take_driver(start + cost);
        }
        if let Call::Free { .. } | Call::FreeHost { .. } | Call::HostAccess { .. } = call {
            self.is_over_now(step, 0);
        }
        let mut end = start + cost;
        if self.blocks_in(wait) {
            let times = (asked, start, end);
            return self.hold((thread, step), times, (wait, waited), answer, how);
        }
        let blocked_until = self.end_of_wait(wait, call, effects);
        if let Some(freed) = blocked_until.map(|end_ns| end_ns + self.profile.host.wake_ns.value)
            && freed > end
            && blocked_until > Some(start)
        {
            blocked_ns += freed - end;
            end = freed;
        }
        end += self.give_back(waited);
        self.returned((thread, step), (asked, end), blocked_ns, how);
        self.finish_in_order(effects);
        if self.hosts.is_alone() {
            self.run_until(end, effects);
        }
        match call {
            Call::RegionBegin => {
                self.region_start = Some(end);
                self.region.begin();
                // It begins after work on other memory.
                self.host_cache = HostCache::default();
                self.units.iter_mut().for_each(|unit| unit.cache = Cache::default());
            }
            Call::RegionEnd => {
                self.region.end();
                self.timeline.region =
                    self.region_start.map(|region_start| Interval::new(region_start, end));
            }
            Call::ThreadEnd => self.retire(),
            _ => {}
        }
        Some(answer)
    }

    /// When that which a call waits for is over; none where it waits for nothing. Works off events
    /// until then.
    fn end_of_wait(&mut self, wait: Wait, call: &Call, effects: &mut impl Effects) -> Option<u64> {
        match wait {
            Wait::Operation { id, more_ns } => {
                self.run_to_end_of(id, |device| device.goes_on(call, id), effects);
                Some(self.operations[id].end_ns + more_ns)
            }
            Wait::Stream(stream) => {
                let tails = self.tails(stream);
                for &id in &tails {
                    self.run_to_end_of(id, |_| false, effects);
                }
                tails.iter().map(|&id| self.operations[id].end_ns).max()
            }
            Wait::All | Wait::Device(_) => {
                let mut last = 0;
                for device in 0..DEVICES {
                    if DEVICES == 1 || wait == Wait::All || wait == Wait::Device(device) {
                        self.run_device_to_idle(device, effects);
                        last = last.max(self.last_end_ns[at(device)]);
                    }
                }
                Some(last)
            }
            Wait::None | Wait::ThreadEnd(_) | Wait::Message(_) | Wait::Capacity(_) => None,
        }
    }

    /// Works off everything that is queued.
    pub fn run_to_idle(&mut self, effects: &mut impl Effects) {
        for device in 0..DEVICES {
            self.run_device_to_idle(device, effects);
        }
    }

    fn run_device_to_idle(&mut self, device: u32, effects: &mut impl Effects) {
        self.work_off_ends(effects);
        while self.unfinished[at(device)] > 0 {
            self.next_event(effects);
        }
    }

    /// Whether the stream has room for another operation.
    pub(super) fn has_room(&self, stream: StreamId) -> bool {
        self.streams[stream].waiting < self.profile.chip.queue_depth.value.max(1)
    }

    /// When the stream has room for another operation, from `asked` on. Works off events until
    /// then.
    fn room_in(&mut self, stream: StreamId, asked: u64, effects: &mut impl Effects) -> u64 {
        let mut room = asked;
        while !self.has_room(stream) {
            self.next_event(effects);
            room = self.now;
        }
        room.max(asked)
    }

    /// The last operations that a wait for `stream` covers: its own, and for the legacy default
    /// stream those of the blocking streams too, because its work comes after theirs.
    pub(super) fn tails(&self, stream: StreamId) -> Vec<OperationId> {
        let legacy = stream.is_legacy();
        let counts = |other: StreamId, it: &Stream| {
            other == stream || (legacy && it.blocking && other.legacy() == stream)
        };
        let streams = self.streams.iter().filter(|&(other, it)| counts(other, it));
        streams.filter_map(|(_, it)| it.tail).collect()
    }

    pub(super) fn has_ended(&self, id: OperationId) -> bool {
        self.operations[id].has_ended()
    }
}

// Work left is counted in ns times FULL_SPEED in 64 bits: five hours at most for one operation.
const _: () = assert!(u64::MAX / FULL_SPEED > 5 * 3600 * 1_000_000_000);
