//! The demand on a run's measured region, made by the process that starts the run.
//!
//! The program that runs says what its region is. Where it is graded, that has to be the exercise's
//! task, and all of it: no easier one, no other seed, no half of the outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use trace::lab_protocol::{Buffer, Pass, Region};
use trace::program::WorkQueues;

use super::command::Command;
use super::library::{Part, Role, Side, Task};
use super::{Host, Machine};

/// A demand on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The task of its region.
    pub task: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Nominal bytes to a byte.
    pub scale: u32,
    /// The number of work queues that it has, whatever its environment sets.
    pub connections: Connections,
}

/// How many work queues a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// So many.
    Exactly(WorkQueues),
    /// As many as its environment sets.
    Any,
}

/// As one process tells it another.
impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, seed, scale, connections } = self;
        write!(f, "{task},{seed},{scale},")?;
        match connections {
            Connections::Exactly(WorkQueues { kernels, copies }) => write!(f, "{kernels}/{copies}"),
            Connections::Any => f.write_str("any"),
        }
    }
}

impl FromStr for Demand {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no demand: it is `TASK,SEED,SCALE,QUEUES`");
        let words: Vec<&str> = text.split(',').collect();
        let &[task, seed, scale, connections] = words.as_slice() else { return Err(wrong()) };
        Ok(Self {
            task: task.to_owned(),
            seed: seed.parse().map_err(|_| wrong())?,
            scale: scale.parse().map_err(|_| wrong())?,
            connections: match connections {
                "any" => Connections::Any,
                queues => {
                    let (kernels, copies) = queues.split_once('/').ok_or_else(wrong)?;
                    let number = |text: &str| text.parse().map_err(|_| wrong());
                    let (kernels, copies) = (number(kernels)?, number(copies)?);
                    Connections::Exactly(WorkQueues { kernels, copies })
                }
            },
        })
    }
}

impl Machine {
    /// From now on regions have to be what is demanded. Refused if there is no such task.
    pub fn demand(&mut self, demand: Demand) -> Result<(), String> {
        if self.library.task(&demand.task, &self.speeds(), demand.scale).is_none() {
            return Err(format!(
                "there is no task `{}`\nhint: `task` in `exercise.toml` names the one of the exercise",
                demand.task
            ));
        }
        // From the first command on: what is captured before the lab sets its scale is played
        // later.
        self.handles.scale = demand.scale;
        self.program.scale = demand.scale;
        self.demand = Some(demand);
        Ok(())
    }

    /// A run that is to have other work queues than the default has them from its first call on.
    pub(super) fn settle_connections(&mut self, command: &Command, host: &mut dyn Host) {
        let is_about_itself =
            matches!(command, Command::DeviceFacts | Command::PinnedBase { .. } | Command::Site(_));
        if let Some(Demand { connections: Connections::Exactly(queues), .. }) = self.demand
            && self.program.steps.is_empty()
            && !is_about_itself
            && let Some(call) = queues.call()
        {
            self.make(call, None, host);
        }
    }

    /// Why a region is not what is demanded; none if it is, or nothing is.
    pub(super) fn not_demanded(&self, region: &Region, task: Option<&dyn Task>) -> Option<String> {
        let demand = self.demand.as_ref()?;
        // A trial of the student's: nothing is filled, nothing is looked at, nothing counts.
        if region.task.is_empty() && region.pass == Pass::WarmUp {
            return None;
        }
        if region.task != demand.task {
            let found = match region.task.as_str() {
                "" => "none".to_owned(),
                other => format!("`{other}`"),
            };
            return Some(format!("its task is `{}`, and the region has {found}", demand.task));
        }
        if region.pass != Pass::Counts {
            return Some("every pass through its region counts".to_owned());
        }
        if !self.device.is_idle() {
            return Some("the device is idle when its region begins".to_owned());
        }
        self.not_whole(region, task?)
    }

    /// Parts of a task's data that a region does not have, or has twice.
    fn not_whole(&self, region: &Region, task: &dyn Task) -> Option<String> {
        let mut wanted: BTreeMap<(Role, u32, Side), Vec<(u64, u64)>> = BTreeMap::new();
        for Part { array, role, side, first, elements } in task.parts() {
            wanted.entry((role, array, side)).or_default().push((first, first + elements));
        }
        let mut found: BTreeMap<(Role, u32, Side), Vec<(u64, u64)>> = BTreeMap::new();
        let roles = [(Role::Input, &region.inputs), (Role::Output, &region.outputs)];
        for (role, Buffer { array, first, address, bytes }) in
            roles.into_iter().flat_map(|(role, buffers)| buffers.iter().map(move |it| (role, it)))
        {
            if bytes % 4 != 0 {
                return Some(format!("{bytes} bytes are no whole elements"));
            }
            let side = if self.handles.is_device(*address) { Side::Device } else { Side::Host };
            let span = (*first, first.saturating_add(bytes / 4));
            found.entry((role, *array, side)).or_default().push(span);
        }
        let keys: BTreeSet<_> = wanted.keys().chain(found.keys()).copied().collect();
        keys.into_iter().find_map(|key| {
            let (role, array, side) = key;
            let joined = |of: &BTreeMap<_, Vec<_>>| join(of.get(&key).cloned().unwrap_or_default());
            let role = if role == Role::Input { "input" } else { "output" };
            let side = if side == Side::Host { "host" } else { "device" };
            match (joined(&wanted), joined(&found)) {
                (wanted, Some(found)) if wanted.as_ref() == Some(&found) => None,
                (_, None) => Some(format!("elements of {role} {array} on the {side} are in it twice")),
                (wanted, Some(found)) => {
                    let wanted = wanted.unwrap_or_default();
                    let count = |of: &[(u64, u64)]| of.iter().map(|it| it.1 - it.0).sum::<u64>();
                    let (wanted, found) = (count(&wanted), count(&found));
                    Some(format!(
                        "of {role} {array} on the {side} it has {wanted} elements, and the region has \
                         {found} or others"
                    ))
                }
            }
        })
    }
}

/// Spans in order, those that touch as one; none if two overlap.
fn join(mut spans: Vec<(u64, u64)>) -> Option<Vec<(u64, u64)>> {
    spans.retain(|(first, end)| first < end);
    spans.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (first, end) in spans {
        match joined.last_mut() {
            Some(last) if first < last.1 => return None,
            Some(last) if first == last.1 => last.1 = end,
            _ => joined.push((first, end)),
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_is_read_as_it_is_written() {
        for connections in
            [Connections::Exactly(WorkQueues { kernels: 1, copies: 32 }), Connections::Any]
        {
            let demand =
                Demand { task: "events".to_owned(), seed: u64::MAX, scale: 32, connections };
            assert_eq!(demand.to_string().parse(), Ok(demand));
        }
        for wrong in ["", "events", "events,1,32", "events,x,32,any", "events,1,32,8", "a,1,2,any,"]
        {
            assert!(wrong.parse::<Demand>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_that_touch_are_one_and_those_that_overlap_are_none() {
        assert_eq!(join(vec![(4, 8), (0, 4), (9, 9)]), Some(vec![(0, 8)]));
        assert_eq!(join(vec![(4, 8), (0, 3)]), Some(vec![(0, 3), (4, 8)]));
        assert_eq!(join(vec![(4, 8), (0, 5)]), None);
    }
}
