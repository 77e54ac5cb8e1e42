//! Which calls blocked the host, and for how long.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::observed::{Holding, Observed};
use crate::timeline::Interval;

/// Calls of one name at one line of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocked<'a> {
    /// Why such calls hold the host.
    pub why: Holding,
    /// The function that was called.
    pub call: &'a str,
    /// From where, as far as it is known.
    pub line: Option<&'a str>,
    /// How many there are.
    pub calls: u64,
    /// How long they took together, in ns.
    pub ns: u64,
    /// How long the longest took, in ns.
    pub longest_ns: u64,
}

/// Calls that hold the host and take up any time of `window`, the longest first.
pub fn blocked<'a>(observed: &Observed<'a>, window: Interval) -> Vec<Blocked<'a>> {
    let mut found: BTreeMap<_, Blocked<'a>> = BTreeMap::new();
    for span in &observed.timeline.host {
        let Some(call) = observed.call(span.step) else { continue };
        let why = match call.holding {
            Some(why) => why,
            None if span.blocked_ns > 0 => Holding::Other,
            None => continue,
        };
        let time = Interval::new(span.start_ns, span.end_ns);
        if time.clip(window).ns() == 0 {
            continue;
        }
        let call = found.entry((why, call.name, call.line)).or_insert(Blocked {
            why,
            call: call.name,
            line: call.line,
            calls: 0,
            ns: 0,
            longest_ns: 0,
        });
        call.calls += 1;
        call.ns = call.ns.saturating_add(time.ns());
        call.longest_ns = call.longest_ns.max(time.ns());
    }
    let mut found: Vec<Blocked<'a>> = found.into_values().collect();
    found.sort_by_key(|call| std::cmp::Reverse(call.ns));
    found
}
