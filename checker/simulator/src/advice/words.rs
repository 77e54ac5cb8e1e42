//! The words of a piece of advice.

use trace::draw::duration;

use super::chunk::Streams;
use super::{Advice, Change, MOST_STEPS, Refused};

impl Change {
    /// The change, as the subject of "takes … to …".
    fn subject(self, calls: u32, edges: u32) -> String {
        match self {
            Self::Pin => "pinned memory here".to_owned(),
            Self::OwnStream => "a stream of its own here".to_owned(),
            Self::NonBlocking => "making the blocking streams non-blocking ones".to_owned(),
            Self::StreamForEachEngine => "a stream for each engine".to_owned(),
            Self::StreamForEachBranch => "a stream for each independent branch".to_owned(),
            Self::Streams { now, before } => format!("{now} streams instead of {before}"),
            Self::WaitAtTheEnd => "waiting at the end instead of here".to_owned(),
            Self::FreeAfterwards => "freeing after the work instead of here".to_owned(),
            Self::PrepareEarlier => "doing this before the work begins".to_owned(),
            Self::ChunkByChunk => "asking chunk by chunk".to_owned(),
            Self::Chunks { now, before, streams } => {
                let cut = match before {
                    1 => format!("cutting the work into {now} chunks"),
                    _ => format!("{now} chunks instead of {before}"),
                };
                match streams {
                    Streams::Same => cut,
                    Streams::OneForEachEngine => format!("{cut}, with a stream for each engine,"),
                }
            }
            Self::Graph => format!("capturing these {calls} launches in graphs"),
            Self::KeepGraph => "building each graph once".to_owned(),
            Self::DropWait if edges == 0 => "dropping this wait".to_owned(),
            Self::DropWait => "waiting for exactly what is needed".to_owned(),
            Self::Asynchronous => "the call with `Async`, in a stream of its own,".to_owned(),
            Self::OwnStreamFirst => "launching it first, in a stream of its own,".to_owned(),
            Self::LeaveRoom { now, before } => {
                format!(
                    "launching {now} blocks instead of {before} of the kernel that leaves too little room"
                )
            }
            Self::ShortStreamsFirst => "asking for the other streams' work first".to_owned(),
            Self::WorkBeforeTheWait => "doing this work before the wait".to_owned(),
            Self::AllowAccess => "access of the devices to each other's memory".to_owned(),
        }
    }
}

impl Advice {
    /// The gain in words: "line 42: pinned memory here takes 47.0 ms to 6.60 ms".
    pub fn message(&self) -> String {
        let subject = self.change.subject(self.count, self.edges);
        let subject = match &self.at.site {
            // It is another line that changes.
            _ if self.change == Change::NonBlocking => subject,
            _ if self.is_fixed => format!("{}: {subject}", self.at.what),
            Some(site) => format!("line {}: {subject}", site.line),
            None => format!("{}: {subject}", self.at.place()),
        };
        let (before, after) = (duration(self.before_ns), duration(self.after_ns));
        let events = match self.edges {
            0 => String::new(),
            1 => ", with one event where data is handed over".to_owned(),
            n => format!(", with {n} events where data is handed over"),
        };
        // What the host uses after a wait is not seen, since nothing is in flight there.
        let proviso = match self.change {
            Change::WorkBeforeTheWait => {
                ", if it uses nothing that is waited for; if it does, wait for that alone, by an event"
            }
            _ => "",
        };
        if self.after_ns >= self.before_ns || before == after {
            return format!("{subject} gains nothing alone, but opens the way{events}");
        }
        format!("{subject} takes {before} to {after}{events}{proviso}")
    }
}

impl Refused {
    /// Why there is no advice.
    pub fn message(&self) -> String {
        match self {
            Self::Query(at) => format!(
                "the program asks whether work is done ({}) and may go another way on another \
                 answer, so what a change would give cannot be simulated",
                at.place()
            ),
            Self::Hazard => "what a change would give is said once the hazards are gone".to_owned(),
            Self::Long => format!(
                "the program makes more than {MOST_STEPS} calls, too many to simulate it again for each change"
            ),
            Self::Invalid => {
                "the program uses something that it does not create, so it cannot be simulated again"
                    .to_owned()
            }
        }
    }
}
