//! What is said about a hazard, in words.

use std::collections::BTreeMap;

use crate::program::{Call, Direction, KernelId, StreamId};

use super::{AccessAt, CallAt, Code, Edge, Hazard, Usage};

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
            _ => "the copy inside the host",
        },
        Call::Memset { .. } => "the memset",
        Call::AllocAsync { .. } => "the stream-ordered allocation",
        Call::FreeAsync { .. } => "the stream-ordered free",
        Call::Free { .. } => "`cuMemFree`",
        Call::FreeHost { .. } => "`cuMemFreeHost`",
        Call::ModuleLoad => "the module load",
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
        Call::HostAccess { .. } => "the host",
        _ => "the call",
    };
    fixed.to_owned()
}

/// A stream, inside a sentence.
pub(crate) fn named(stream: StreamId) -> String {
    let article = if stream.0 < StreamId::FIRST_CREATED { "the " } else { "" };
    format!("{article}{stream}")
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
    fn subject(&self) -> String {
        match self.stream {
            Some(stream) => format!("{} in {}", self.call.what, named(stream)),
            None => self.call.what.clone(),
        }
    }

    /// What it does to the memory.
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
    /// What is wrong, in one line that names no place.
    pub fn headline(&self) -> String {
        let (first, second) = (self.first.subject(), self.second.subject());
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

    /// What is wrong with each of the two, where it stands.
    pub fn labels(&self) -> (String, String) {
        let word = |access: &AccessAt| format!("{} {} here", access.subject(), access.verb());
        (word(&self.first), word(&self.second))
    }

    /// Why it goes well today, where it does.
    pub fn note(&self) -> Option<String> {
        let through = self.through.as_ref()?;
        Some(format!(
            "{} at {} was seen to wait for the device, but no documentation promises that it does",
            through.what,
            through.place()
        ))
    }

    /// The smallest change that puts it right.
    pub fn help(&self) -> String {
        let first = self.first.call.near(&self.second.call);
        let second = self.second.call.near(&self.first.call);
        match self.missing {
            Edge::Wait { record_in, wait_in, .. } => {
                let (record_in, wait_in) = (named(record_in), named(wait_in));
                format!(
                    "record an event in {record_in} after {first}, and let {wait_in} wait for it \
                     before {second}"
                )
            }
            Edge::Synchronise { stream, .. } => {
                let stream = named(stream);
                format!("synchronise the host with {stream} after {first} and before {second}")
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

    /// All of it, for one who sees no source: what is wrong, both places, and what to do.
    pub fn message(&self) -> String {
        let places = format!("{} and {}", self.first.call.place(), self.second.call.place());
        let note = self.note().map(|note| format!("; {note}")).unwrap_or_default();
        format!("{} ({places}){note}; {}", self.headline(), self.help())
    }
}
