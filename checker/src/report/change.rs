//! Changes against earlier runs of the same file.

use trace::causes::Code;
use trace::draw::duration;

use crate::progress::{EarlierRuns, PastRun};
use crate::report::Report;

/// The lines about earlier runs, by their names. None where nothing has changed.
pub(super) fn lines(report: &Report) -> Vec<(&'static str, String)> {
    let Some(now) = report.past() else { return Vec::new() };
    let EarlierRuns { last, best } = &report.before;
    let mut lines = Vec::new();
    let Some(last) = last.as_ref().filter(|last| **last != now) else { return lines };
    let words = words(last, &now);
    let span = match last.ns == now.ns {
        true => format!("{}, as before", duration(now.ns)),
        false => format!("{} to {}", duration(last.ns), duration(now.ns)),
    };
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join("; ")) };
    lines.push(("since your last run", format!("{span}{words}")));
    if let Some(best) = best {
        let best = match now.ns < best.ns {
            true => "this run".to_owned(),
            false => duration(best.ns).to_string(),
        };
        lines.push(("your best", best));
    }
    lines
}

/// Words for what was put right, what is left, and what is new.
fn words(last: &PastRun, now: &PastRun) -> Vec<String> {
    let code = |name: &String| Code::ALL.into_iter().find(|code| code.as_str() == name);
    let gone = last.codes.iter().filter(|code| !now.codes.contains(code)).filter_map(code);
    let left = now.codes.iter().filter(|code| last.codes.contains(code)).filter_map(code);
    let new = now.codes.iter().filter(|code| !last.codes.contains(code)).filter_map(code);
    let mut words: Vec<String> = gone.map(|code| effect(code).0.to_owned()).collect();
    words.extend(left.map(|code| format!("still, {}", effect(code).1)));
    words.extend(new.map(|code| format!("now {}", effect(code).1)));
    words
}

/// Words for when a cause has gone, and for as long as it is there.
fn effect(code: Code) -> (&'static str, &'static str) {
    match code {
        Code::PageableCopy => ("copies no longer block the host", "copies block the host"),
        Code::DefaultStreamBarrier => {
            ("the default stream stops no other", "the default stream stops the others")
        }
        Code::SharedStream => {
            ("independent work no longer shares a stream", "independent work shares a stream")
        }
        Code::HostSynchronisation => {
            ("the host no longer waits in the middle", "the host waits in the middle")
        }
        Code::DeviceWideWait => {
            ("no call waits for the whole device", "a call waits for the whole device")
        }
        Code::IssueOrder => {
            ("the order of the calls delays no engine", "the order of the calls delays an engine")
        }
        Code::TooFewChunks => ("there are enough chunks", "there are too few chunks"),
        Code::TooManyChunks => ("the chunks are large enough", "the chunks are too small"),
        Code::FullDevice => ("no kernel fills the device", "kernels fill the device"),
        Code::LaunchBound => ("the launches keep up", "the launches take longer than the kernels"),
        Code::NeedlessWait => ("no stream waits without need", "a stream waits without need"),
        Code::LateEvent => {
            ("no event stands for more than is needed", "an event stands for more than is needed")
        }
        Code::SynchronousCall => {
            ("no synchronous call is left", "a synchronous call blocks the host")
        }
        Code::FullQueue => ("no stream is full", "a stream is full and blocks the host"),
        Code::AllocationInRegion => {
            ("nothing is allocated in the region", "memory is allocated in the region")
        }
        Code::IdleHostWork => (
            "the device has work while the host is busy",
            "the device runs out of work while the host is busy",
        ),
        Code::TakenQueue => (
            "work that waits takes no queue from other work",
            "work that waits takes all work queues",
        ),
        Code::WaitingRequest => {
            ("requests wait no longer than they have to", "requests wait for other work")
        }
        Code::RebuiltGraph => ("each graph is built once", "a graph is built again and again"),
        Code::StagedPeerCopy => {
            ("copies between devices take the link", "copies between devices go through the host")
        }
    }
}
