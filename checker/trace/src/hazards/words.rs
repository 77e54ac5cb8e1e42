//! The words of a hazard.
//!
//! Everything can be said with or without the names that streams have in the source: a program
//! knows them by number alone, and a caller with the source at hand may know more.

use std::collections::BTreeMap;

use crate::program::{Call, Direction, KernelId, Site, StreamId};

use crate::words::{counted, times};

use super::model::{AccessAt, CallAt, Code, Edge, Hazard, NearMiss, Slip, Turn, Usage, Waiter};

const UNRECORDED: &str = "a wait for an event that is not recorded yet does nothing";

/// A call, as the subject of a sentence.
pub(super) fn what(call: &Call, kernels: &BTreeMap<KernelId, &str>) -> String {
    let fixed = match call {
        Call::Launch(launch) => {
            return match kernels.get(&launch.kernel) {
                Some(name) => format!("kernel `{name}`"),
                None => format!("kernel {}", launch.kernel.0),
            };
        }
        Call::Copy { .. } => match call.direction() {
            Some(Direction::HostToDevice) => "the copy to the device",
            Some(Direction::DeviceToHost) => "the copy to the host",
            Some(Direction::DeviceToDevice) => "the copy inside the device",
            #[cfg(not(target_arch = "wasm32"))] // a page has one device
            Some(Direction::PeerToPeer) => "the copy between devices",
            _ => "the copy inside the host",
        },
        Call::Memset { .. } => "the memset",
        Call::AllocAsync { .. } => "the stream-ordered allocation",
        Call::FreeAsync { .. } => "the stream-ordered free",
        Call::Free { .. } => "`cuMemFree`",
        Call::FreeHost { .. } => "`cuMemFreeHost`",
        Call::ModuleLoad => "the module load",
        Call::ModuleUnload => "the module unload",
        Call::StreamSynchronize { .. } => "`cuStreamSynchronize`",
        Call::ContextSynchronize => "`cuCtxSynchronize`",
        Call::EventSynchronize { .. } => "`cuEventSynchronize`",
        Call::StreamWait { .. } => "`cuStreamWaitEvent`",
        Call::EventRecord { .. } => "`cuEventRecord`",
        Call::Alloc { .. } => "`cuMemAlloc`",
        Call::AllocHost { .. } => "`cuMemHostAlloc`",
        Call::HostFunction { .. } => "the host function",
        Call::GraphLaunch { .. } => "the graph launch",
        Call::HostWork { .. } => "the host's own work",
        Call::Arrival { .. } => "the wait for a request",
        Call::Answer { .. } => "the answer to a request",
        Call::HostAccess { .. } => "the host",
        _ => "the call",
    };
    fixed.to_owned()
}

/// A stream, inside a sentence.
pub(crate) fn named(stream: StreamId) -> String {
    let article = if stream.number() < StreamId::FIRST_CREATED { "the " } else { "" };
    format!("{article}{stream}")
}

/// Names of streams in the source, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamNames(BTreeMap<StreamId, String>);

impl StreamNames {
    /// The name of a stream: that of a variable, for most.
    pub fn of(&self, stream: StreamId) -> Option<&str> {
        self.0.get(&stream).map(String::as_str)
    }

    /// The stream inside a sentence: "stream 1 (`copy_in`)".
    fn stream(&self, stream: StreamId) -> String {
        match self.of(stream) {
            Some(name) => format!("{} (`{name}`)", named(stream)),
            None => named(stream),
        }
    }

    fn waiter(&self, waiter: Waiter) -> String {
        match waiter {
            Waiter::Host => "the host".to_owned(),
            Waiter::Stream(stream) => self.stream(stream),
        }
    }

    /// The stream in few words: by its name where it has one.
    fn short(&self, stream: StreamId) -> String {
        self.of(stream).map_or_else(|| named(stream), |name| format!("`{name}`"))
    }

    /// The stream that a call has to do with, in few words.
    fn short_of(&self, stream: StreamId, call: &CallAt) -> String {
        match call.thread {
            Some(thread) => format!("{} of host thread {thread}", self.short(stream)),
            None => self.short(stream),
        }
    }
}

impl FromIterator<(StreamId, String)> for StreamNames {
    fn from_iter<T: IntoIterator<Item = (StreamId, String)>>(names: T) -> Self {
        let mut map = BTreeMap::new();
        names.into_iter().for_each(|(stream, name)| _ = map.insert(stream, name));
        Self(map)
    }
}

/// All that is said about a hazard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The headline, in one line that names no place.
    pub headline: String,
    /// Labels below lines of the source: the second use, the first, and what comes close to
    /// ordering them.
    pub places: Vec<(CallAt, String)>,
    /// The rule that was broken, and why it goes well where it does.
    pub notes: Vec<String>,
    /// The smallest change that puts it right.
    pub help: String,
}

impl CallAt {
    /// `src/lib.rs:12`, or the step where no line is known.
    pub fn place(&self) -> String {
        match &self.site {
            Some(site) => site.to_string(),
            None => format!("step {}", self.step),
        }
    }

    /// `line 12` where that is enough to find it.
    fn near(&self, other: &CallAt) -> String {
        match (&self.site, &other.site) {
            (Some(own), Some(other)) if own.file == other.file => format!("line {}", own.line),
            _ => self.place(),
        }
    }
}

impl AccessAt {
    /// The operation and its stream.
    fn subject(&self, names: &StreamNames) -> String {
        match self.stream_in(names) {
            Some(stream) => format!("{} in {stream}", self.call.what),
            None => self.call.what.clone(),
        }
    }

    /// Its stream, and whose that is.
    pub fn stream_in(&self, names: &StreamNames) -> Option<String> {
        let stream = names.stream(self.stream?);
        Some(match self.call.thread {
            Some(thread) => format!("{stream} of host thread {thread}"),
            None => stream,
        })
    }

    /// The verb for its use of the memory.
    pub fn verb(&self) -> &'static str {
        match self.usage {
            Usage::Read => "reads",
            Usage::Write => "writes",
            Usage::Allocate => "makes",
            Usage::Free => "frees",
        }
    }
}

impl Hazard {
    /// All that is said about it, with the names of streams that are known.
    pub fn tell(&self, names: &StreamNames) -> Told {
        let mut places = Vec::from(self.uses());
        if let Some(near) = &self.near {
            let labels = self.labels_near(near, names);
            places.extend(labels.into_iter().map(|(call, label)| (call.clone(), label)));
        }
        Told {
            headline: self.headline_with(names),
            places,
            notes: self.notes(),
            help: self.help_with(names),
        }
    }

    /// The labels below the lines of the two uses, the second one first.
    pub fn uses(&self) -> [(CallAt, String); 2] {
        [
            (self.second.call.clone(), self.second_label()),
            (self.first.call.clone(), self.first_label()),
        ]
    }

    /// The headline, in one line that names no place.
    pub fn headline(&self) -> String {
        self.headline_with(&StreamNames::default())
    }

    /// The smallest change that puts it right.
    pub fn help(&self) -> String {
        self.help_with(&StreamNames::default())
    }

    /// The same with the names of streams that are known.
    pub fn headline_with(&self, names: &StreamNames) -> String {
        let (first, second) = (self.first.subject(names), self.second.subject(names));
        let (did, does) = (self.first.verb(), self.second.verb());
        if self.first.usage == Usage::Free {
            return format!("{second} {does} memory that {first} has freed");
        }
        let order = match self.code {
            Code::UnspecifiedBlocking => "in an order that nothing promises",
            _ => "and nothing orders the two",
        };
        format!("{second} {does} memory that {first} {did}, {order}")
    }

    fn first_label(&self) -> String {
        let (subject, verb) = (self.first.subject(&StreamNames::default()), self.first.verb());
        format!("{subject} {verb} here{}", self.when_launched(&self.first))
    }

    /// Which launch of a graph is meant, where the two uses are of two launches.
    fn when_launched(&self, access: &AccessAt) -> String {
        let launch = self.launched(access);
        launch.map_or(String::new(), |site| format!(", in the graph that {site} launches"))
    }

    fn second_label(&self) -> String {
        let again = match (self.turn, self.second.call.node) {
            (Turn::Same, _) => String::new(),
            (Turn::Later, 0) if self.laps > 1 => format!(", {} laps of the loop later", self.laps),
            (Turn::Later, 0) => ", when this line is run again".to_owned(),
            (Turn::Later, _) if self.is_at_one_launch() => {
                ", when its graph is launched again".to_owned()
            }
            (Turn::Later, _) => String::new(),
        };
        let (subject, verb) = (self.second.subject(&StreamNames::default()), self.second.verb());
        format!("{subject} {verb} here{}{again}", self.when_launched(&self.second))
    }

    /// The label of the synchronisation that comes close, where it stands.
    fn labels_near<'a>(
        &'a self,
        near: &'a NearMiss,
        names: &StreamNames,
    ) -> Vec<(&'a CallAt, String)> {
        let (first, second) = (&self.first.call.what, &self.second.call.what);
        let who = match near.waiter {
            Waiter::Host => "the host".to_owned(),
            Waiter::Stream(stream) => names.short(stream),
        };
        let waits = format!("{who} waits for it here");
        let stands = format!("the event that stands for {first} is recorded here");
        match &near.slip {
            Slip::RecordedTooEarly { record, wait } => vec![
                (record, format!("the event is recorded here: before {first} is queued")),
                (wait, waits),
            ],
            Slip::NotRecordedAgain { record, wait, .. } => vec![
                (
                    record,
                    format!(
                        "the event is recorded here: before {first} is run again, and not after that"
                    ),
                ),
                (wait, waits),
            ],
            Slip::WaitsForAnotherEvent { wait, stale, record } => {
                let event = match stale.as_ref() {
                    Some(stale) if stale.step < wait.step => {
                        let line = stale.near(&self.second.call);
                        let event = match stale.site == record.site {
                            true => "the event of an earlier lap",
                            false => "the event",
                        };
                        format!("{event} that {line} recorded: before {first} was queued")
                    }
                    Some(stale) if stale.site == record.site => {
                        let line = stale.near(&self.second.call);
                        format!("an event that {line} records only in a later lap")
                    }
                    _ => "another event, which is not recorded yet".to_owned(),
                };
                vec![(wait, format!("{who} waits here for {event}")), (record, stands)]
            }
            Slip::RecordedElsewhere { record, stream, wait } => {
                let there = names.short_of(*stream, record);
                let here = self.first_stream(names);
                vec![
                    (record, format!("the event is recorded in {there}, and {first} is in {here}")),
                    (wait, waits),
                ]
            }
            Slip::NotRecorded { wait, record } => {
                let mut labels =
                    vec![(wait, format!("{who} waits here for an event that is not recorded yet"))];
                labels.extend(record.iter().map(|it| (it, "it is recorded only here".to_owned())));
                labels
            }
            Slip::WaitsTooLate { record, wait } => {
                let done = match near.waiter {
                    Waiter::Stream(_) => format!("after {second} is queued"),
                    Waiter::Host => format!("after it {} the memory", self.second.verb()),
                };
                let mut labels = vec![(wait, format!("{who} waits only here: {done}"))];
                labels.extend(record.iter().map(|it| (it, stands.clone())));
                labels
            }
            Slip::AnotherWaits { wait, stream, record } => vec![
                (
                    wait,
                    format!(
                        "{} waits for it here, and {who} does not",
                        names.short_of(*stream, wait)
                    ),
                ),
                (record, stands),
            ],
            Slip::NobodyWaits { record, wait } => {
                let mut labels =
                    vec![(record, format!("{stands}, and {who} does not wait for it"))];
                labels.extend(
                    wait.iter()
                        .map(|it| (it, format!("this wait holds another stream, not {who}"))),
                );
                labels
            }
            Slip::HostWaitsForAnother { wait, stream } => {
                let (there, here) = (names.short_of(*stream, wait), self.first_stream(names));
                vec![(wait, format!("the host waits here for {there}, and {first} is in {here}"))]
            }
            Slip::HostWaitsTooEarly { wait } => {
                vec![(wait, format!("the host waits here: before {first} is queued"))]
            }
            Slip::ByTurns { .. } => Vec::new(),
        }
    }

    fn first_stream(&self, names: &StreamNames) -> String {
        self.first.stream.map_or_else(|| "none".to_owned(), |stream| names.short(stream))
    }

    /// The rule that was broken, and why it goes well where it does.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.rule().into_iter().collect();
        if let Some(through) = &self.through {
            notes.push(format!(
                "{} at {} was seen to wait for the device, but no documentation promises that it does",
                through.what,
                through.place()
            ));
        }
        if let Some(again) = &self.overwritten {
            let uses = if self.first.usage == Usage::Read { "reads" } else { "writes" };
            notes.push(format!(
                "cudarc's event tracking has one event for all {uses} of an allocation: {} recorded it again, and \
                 {} waits for that use alone",
                again.near(&self.second.call),
                self.second_place(),
            ));
        }
        notes
    }

    fn rule(&self) -> Option<String> {
        let first = &self.first.call.what;
        if let Some(NearMiss { waiter, slip }) = &self.near {
            return Some(match slip {
                Slip::WaitsForAnotherEvent { wait, stale, .. }
                    if stale.as_ref().is_none_or(|stale| stale.step > wait.step) =>
                {
                    UNRECORDED.to_owned()
                }
                Slip::RecordedTooEarly { .. }
                | Slip::NotRecordedAgain { .. }
                | Slip::WaitsForAnotherEvent { .. } => {
                    "an event stands for what its stream holds when it is recorded, and for nothing \
                     that is queued later"
                        .to_owned()
                }
                Slip::RecordedElsewhere { .. } => {
                    "an event stands for what the stream holds that it is recorded in".to_owned()
                }
                Slip::NotRecorded { .. } => UNRECORDED.to_owned(),
                Slip::WaitsTooLate { .. } if *waiter == Waiter::Host => {
                    format!("the call only queues {first}, and the host goes on at once")
                }
                Slip::WaitsTooLate { .. } => {
                    "a wait holds what its stream gets later, and nothing that it has got already"
                        .to_owned()
                }
                Slip::AnotherWaits { .. } | Slip::NobodyWaits { .. } => match waiter {
                    Waiter::Host => {
                        format!("the call only queues {first}, and the host goes on at once")
                    }
                    Waiter::Stream(_) => {
                        "a wait holds the stream that it is called on, and no other".to_owned()
                    }
                },
                Slip::HostWaitsForAnother { .. } => {
                    "to synchronise a stream is to wait for what it holds, and for no other".to_owned()
                }
                Slip::HostWaitsTooEarly { .. } => {
                    "to synchronise is to wait for what has been queued, and for nothing that comes \
                     later"
                        .to_owned()
                }
                Slip::ByTurns { first: one, second: other } => {
                    let (first, second) = (self.first_place(), self.second_place());
                    format!(
                        "{first} is run in {}, {second} in {}: where both use the \
                         memory in the same stream they are in order, and here they do not",
                        counted(*one as usize, "stream"),
                        counted(*other as usize, "stream")
                    )
                }
            });
        }
        match self.missing {
            Edge::Wait { .. } => Some(
                "streams run side by side: which call came first orders nothing between them"
                    .to_owned(),
            ),
            Edge::Handover { .. } if self.first.stream.is_some() => Some(
                "which of two host threads makes its call first is open, unless a message, a start or a join \
                 decides it: in the same stream, too"
                    .to_owned(),
            ),
            Edge::Synchronise { .. } if self.first.stream.is_some() => {
                Some(format!("the call only queues {first}, and the host goes on at once"))
            }
            _ => None,
        }
    }

    fn first_place(&self) -> String {
        let (first, second) = self.changed();
        first.near(&second)
    }

    fn second_place(&self) -> String {
        let (first, second) = self.changed();
        second.near(&first)
    }

    /// Whether both uses are of graphs that one line launches, again and again.
    fn is_at_one_launch(&self) -> bool {
        self.first.call.launched == self.second.call.launched
    }

    /// The calls between which something is missing: the launches of graphs, not what was captured
    /// for them, but where both uses are of one launch.
    pub fn changed(&self) -> (CallAt, CallAt) {
        let changed = |access: &AccessAt| match self.launched(access) {
            Some(launch) => CallAt { site: Some(launch.clone()), ..access.call.clone() },
            None => access.call.clone(),
        };
        (changed(&self.first), changed(&self.second))
    }

    /// The place of the second use, as the moment before which something is to be done.
    fn second_run(&self) -> String {
        let again = match (self.turn, self.second.call.node) {
            (Turn::Same, _) => String::new(),
            (Turn::Later, 0) if self.laps > 1 => {
                format!(" uses this memory again, {} laps later", self.laps)
            }
            (Turn::Later, 0) => " is run again".to_owned(),
            (Turn::Later, _) if self.is_at_one_launch() => " is run again".to_owned(),
            (Turn::Later, _) => String::new(),
        };
        format!("{}{again}", self.second_place())
    }

    /// Advice about an event that is recorded in each iteration, where iterations lie between the
    /// uses.
    fn one_each(&self) -> String {
        match (self.missing, self.laps) {
            (Edge::Wait { .. }, 2..) => format!(
                "; keep an event for each of the {}: the one that was recorded last is that of a later lap",
                self.laps
            ),
            _ => String::new(),
        }
    }

    /// The same with the names of streams that are known.
    pub fn help_with(&self, names: &StreamNames) -> String {
        match &self.near {
            Some(near) => self.help_near(near, names),
            None => self.help_afresh(names),
        }
    }

    /// The change to the synchronisation that comes close.
    fn help_near(&self, near: &NearMiss, names: &StreamNames) -> String {
        let (first, second) = (self.first_place(), self.second_run());
        let what = &self.first.call.what;
        let line = |call: &CallAt| call.near(&self.second.call);
        let who = names.waiter(near.waiter);
        match &near.slip {
            Slip::RecordedTooEarly { record, .. } => {
                format!("record the event after {first}, not at {}", line(record))
            }
            Slip::NotRecordedAgain { record, records, uses, .. } => {
                format!(
                    "record the event each time that {first} is run: {} was run {}, {first} {}",
                    line(record),
                    times(u64::from(*records)),
                    times(u64::from(*uses))
                )
            }
            Slip::WaitsForAnotherEvent { wait, stale: Some(stale), record }
                if stale.site == record.site =>
            {
                let when = if stale.step < wait.step { "an earlier lap" } else { "another lap" };
                format!(
                    "at {}, wait for the event that {} recorded after {what}, not for that of {when}",
                    line(wait),
                    line(record)
                )
            }
            Slip::WaitsForAnotherEvent { wait, record, .. } => {
                format!("at {}, wait for the event that {} records", line(wait), line(record))
            }
            Slip::RecordedElsewhere { record, .. } => {
                let stream = self.first_stream(names);
                format!("at {}, record the event in {stream}", line(record))
            }
            Slip::NotRecorded { wait, .. } => {
                let stream = self.first_stream(names);
                format!("record the event in {stream} after {first} and before {}", line(wait))
            }
            Slip::WaitsTooLate { wait, record: Some(_) } => {
                format!("let {who} wait before {second}, not at {}", line(wait))
            }
            Slip::WaitsTooLate { wait, record: None } => match near.waiter {
                Waiter::Host => format!("let the host wait before {second}, not at {}", line(wait)),
                Waiter::Stream(_) => format!(
                    "record the event and let {who} wait for it before {second}, not at {}",
                    line(wait)
                ),
            },
            Slip::AnotherWaits { wait, .. } => format!("at {}, let {who} wait", line(wait)),
            Slip::NobodyWaits { record, .. } => {
                let each = self.one_each();
                format!("let {who} wait for the event of {} before {second}{each}", line(record))
            }
            Slip::HostWaitsForAnother { wait, .. } => {
                format!("at {}, synchronise with {}", line(wait), self.first_stream(names))
            }
            Slip::HostWaitsTooEarly { .. } => {
                let stream = self.first_stream(names);
                format!("synchronise with {stream} after {first} and before {second}")
            }
            Slip::ByTurns { .. } => {
                let afresh = self.help_afresh(names);
                format!(
                    "queue {} of {} in the stream that {what} of {first} is in, or {afresh}",
                    self.second.call.what,
                    self.second_place()
                )
            }
        }
    }

    /// The call to add where there is nothing.
    fn help_afresh(&self, names: &StreamNames) -> String {
        let (first, second) = (self.first_place(), self.second_place());
        let before = self.second_run();
        match self.missing {
            Edge::Wait { record_in, wait_in, .. } => {
                let record_in =
                    self.first.stream_in(names).unwrap_or_else(|| names.stream(record_in));
                let wait_in = self.second.stream_in(names).unwrap_or_else(|| names.stream(wait_in));
                format!(
                    "record an event in {record_in} after {first}, and let {wait_in} wait for it \
                     before {before}{}",
                    self.one_each()
                )
            }
            Edge::Synchronise { stream, .. } => {
                let stream = self.first.stream_in(names).unwrap_or_else(|| names.stream(stream));
                format!("synchronise the host with {stream} after {first} and before {before}")
            }
            Edge::Handover { .. } => format!(
                "let the host thread of {second} wait for the one of {first}, with a message or by \
                 joining it, before {second}"
            ),
            Edge::FreeLater { .. } if self.second.usage == Usage::Free => {
                format!("free the memory once, at {first} or at {second}")
            }
            Edge::FreeLater { .. } => {
                format!("free the memory at {first} only after {second}")
            }
        }
    }

    /// The places of the two uses: `src/lib.rs:12 and src/lib.rs:14`. Of graphs, those of the
    /// launches too.
    pub fn places(&self) -> String {
        format!("{} and {}", self.whole_place(&self.first), self.whole_place(&self.second))
    }

    /// The place of a use, and of the launch that it is of, where the two uses are of two launches.
    pub fn whole_place(&self, access: &AccessAt) -> String {
        let place = access.call.place();
        match self.launched(access) {
            Some(launch) => format!("{place} launched at {launch}"),
            None => place,
        }
    }

    fn launched<'a>(&self, access: &'a AccessAt) -> Option<&'a Site> {
        let is_inside = self.first.call.step == self.second.call.step;
        access.call.launched.as_ref().filter(|_| !is_inside)
    }

    /// All of it, for one who sees no source: what is wrong, all places, and what to do.
    pub fn message(&self) -> String {
        let names = StreamNames::default();
        let places = self.places();
        let near = self.near.iter().flat_map(|near| self.labels_near(near, &names));
        let near: String = near
            .map(|(call, label)| format!("; {}: {label}", call.near(&self.second.call)))
            .collect();
        let through = self.through.as_ref().and_then(|_| self.notes().pop());
        let through = through.map(|note| format!("; {note}")).unwrap_or_default();
        format!("{} ({places}){near}{through}; {}", self.headline(), self.help())
    }
}
