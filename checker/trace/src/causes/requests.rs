//! Waits of requests, which the host answers while the device has other work.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::program::{Call, StreamId};

use super::region::{Op, Shortest, View};
use super::{Code, Found};

/// How a request comes to wait for other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Behind {
    /// Both are in one stream.
    InItsStream,
    /// Both are in streams of one priority, or the request's is lower.
    InTurn,
    /// The request's stream goes first, and what runs is not interrupted.
    WhatRuns,
}

/// Requests that are looked at, from the first on: each takes time in proportion to the program's
/// length, and with so many a line is found.
const MOST_REQUESTS: usize = 256;

/// Looks at a program that answers requests. What counts there is how long each of them waits: no
/// other finding about the calls that belong to a request is of any use.
pub(super) fn look(view: &View<'_>, found: &mut Found) {
    let mut own: HashSet<u32> = HashSet::new();
    let shortest = Shortest::of(view);
    let mut left = MOST_REQUESTS;
    let mut open: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for (step, call) in view.calls() {
        let thread = view.program.steps[step as usize].thread;
        match *call {
            Call::Arrival { request, at_ns } if left > 0 => {
                left -= 1;
                open.insert(thread, (request, step));
                come_late(view, found, step, view.region.start_ns.saturating_add(at_ns));
            }
            Call::Answer { request } => {
                if let Some((of, arrival)) = open.remove(&thread)
                    && of == request
                {
                    let its = |step: &u32| view.program.steps[*step as usize].thread == thread;
                    let steps: HashSet<u32> = (arrival..step).filter(its).collect();
                    wait(view, found, &shortest, &steps);
                    own.extend(steps);
                }
            }
            _ => {}
        }
    }
    if own.is_empty() {
        return;
    }
    found.groups.retain(|(code, _), group| {
        let is_about_requests = matches!(code, Code::WaitingRequest | Code::HostSynchronisation);
        is_about_requests || !group.steps.iter().all(|step| own.contains(step))
    });
}

/// The host comes late to a request, since a wait for the whole device blocked it when the request
/// arrived.
fn come_late(view: &View<'_>, found: &mut Found, arrival: u32, at_ns: u64) {
    let thread = view.program.steps[arrival as usize].thread;
    let before = view.calls().take_while(|(step, _)| *step < arrival);
    let last = before
        .filter(|(step, call)| {
            **call == Call::ContextSynchronize
                && view.program.steps[*step as usize].thread == thread
        })
        .last();
    let Some((step, _)) = last else { return };
    let Some(span) = view.host(step) else { return };
    let late_ns = span.end_ns.saturating_sub(at_ns.max(span.blocked().start_ns));
    if late_ns > 0 {
        found.charge(view, Code::HostSynchronisation, step, late_ns);
    }
}

/// Finds the waits of a request's operations, which are those of these steps. A kernel that takes
/// longer than it does elsewhere has to wait while it runs: the instructions of older blocks go
/// first. A request that waits for less than it takes itself is answered in time.
fn wait(view: &View<'_>, found: &mut Found, shortest: &Shortest, steps: &HashSet<u32>) {
    let own = || view.ops.iter().filter(|op| steps.contains(&op.step));
    let alone_ns = |op: &Op| shortest.launch(view, op).unwrap_or(op.takes_ns());
    let mut waits = Vec::new();
    let mut done_ns = 0; // when the operation before it had ended
    for op in own() {
        let since_ns = op.issued_ns.max(done_ns);
        let slowed_ns = op.takes_ns() - alone_ns(op);
        waits.push((op, since_ns, op.start_ns.saturating_sub(since_ns) + slowed_ns));
        done_ns = op.end_ns;
    }
    let takes_ns: u64 = own().map(alone_ns).sum();
    if waits.iter().map(|(.., ns)| ns).sum::<u64>() <= takes_ns {
        return;
    }
    for (op, since_ns, waited_ns) in waits {
        // What ran then, or was to run before it in its stream.
        let runs = |other: &&Op| {
            let is_before = other.step < op.step && !steps.contains(&other.step);
            is_before && other.end_ns > since_ns && other.start_ns < op.start_ns
        };
        let nearest = |it: &&Op| (it.stream != op.stream, it.start_ns.abs_diff(since_ns));
        let Some(other) = view.ops.iter().filter(runs).min_by_key(nearest) else { continue };
        let group = found.charge(view, Code::WaitingRequest, op.step, waited_ns);
        group.other = Some(other.step);
        group.behind = Some(match other.stream == op.stream {
            true => Behind::InItsStream,
            false if priority(view, op.stream) < priority(view, other.stream) => Behind::WhatRuns,
            false => Behind::InTurn,
        });
    }
}

/// The priority of a stream: the lower the number, the earlier its turn.
fn priority(view: &View<'_>, stream: StreamId) -> i32 {
    let created = view.program.steps.iter().rev().find_map(|step| match step.call {
        Call::StreamCreate { stream: it, priority, .. } if it == stream => Some(priority),
        _ => None,
    });
    created.unwrap_or(0)
}
