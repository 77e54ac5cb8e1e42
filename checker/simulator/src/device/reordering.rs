//! Delays one operation until another has ended that the host issued later.

use trace::program::{Call, Direction, Mode, Place};

use super::{At, Device, Effects, OperationId, Schedule};

/// How far it has come.
#[derive(Default)]
pub(super) struct Reordering {
    /// The first and the second of [`Schedule::Reversed`].
    pair: Option<(At, At)>,
    /// The first is ready, and waits here.
    held: Option<OperationId>,
    /// Nothing holds the first back any more.
    is_open: bool,
    has_started: bool,
    second_is_over: bool,
    /// The second was over before the first started.
    is_played: bool,
}

impl Reordering {
    pub(super) fn of(schedule: Schedule) -> Self {
        let pair = match schedule {
            Schedule::Reversed { first, second } => Some((first, second)),
            _ => None,
        };
        Self { pair, ..Self::default() }
    }

    fn pair(&self) -> Option<(At, At)> {
        if cfg!(feature = "schedules") { self.pair } else { None }
    }

    /// Whether nothing but a documented order counts.
    pub(super) fn is_on(&self) -> bool {
        self.pair().is_some()
    }
}

impl Device {
    /// Whether the two operations of [`Schedule::Reversed`] came in the order that it wants.
    pub fn is_reversed(&self) -> bool {
        self.reordering.is_played
    }

    /// Whether an operation that is ready has to wait for one that the host issues later.
    pub(super) fn is_held_back(&mut self, id: OperationId) -> bool {
        let Some((first, _)) = self.reordering.pair() else { return false };
        let operation = &self.operations[id];
        if self.reordering.is_open || (operation.step, operation.node) != (first.step, first.node) {
            return false;
        }
        self.reordering.held = Some(id);
        true
    }

    pub(super) fn starts_now(&mut self, step: u32, node: u32) {
        if let Some((first, _)) = self.reordering.pair()
            && (step, node) == (first.step, first.node)
        {
            self.reordering.has_started = true;
            self.reordering.is_played = self.reordering.second_is_over;
        }
    }

    /// An operation is over, or what a call did without one: the other one may start.
    pub(super) fn is_over_now(&mut self, step: u32, node: u32) {
        let Some((first, second)) = self.reordering.pair() else { return };
        if (step, node) == (second.step, second.node) {
            self.reordering.second_is_over = true;
            self.reordering.is_open = true;
            self.give_way();
        }
        // What takes no time does not start.
        if (step, node) == (first.step, first.node) && !self.reordering.has_started {
            self.reordering.is_played = self.reordering.second_is_over;
        }
    }

    /// Starts the delayed operation after all, because nothing else can happen. Whether there was
    /// one.
    pub(super) fn give_way(&mut self) -> bool {
        if !cfg!(feature = "schedules") {
            return false;
        }
        let Some(id) = self.reordering.held.take() else { return false };
        self.reordering.is_open = true;
        self.release(id);
        true
    }

    /// Whether a call may return before the delayed operation that it waits for: an upload from
    /// pageable memory has read its data when the call is made. The documentation does not promise
    /// that the call waits.
    pub(super) fn goes_on(&self, call: &Call, id: OperationId) -> bool {
        if !cfg!(feature = "schedules") {
            return false;
        }
        let is_upload = matches!(
            call,
            Call::Copy {
                source: Place::Pageable,
                mode: Mode::Asynchronous | Mode::Synchronous,
                ..
            }
        ) && call.direction() == Some(Direction::HostToDevice);
        is_upload && self.reordering.held == Some(id)
    }

    /// Whether each operation is over before the next begins.
    pub(super) fn is_in_order(&self) -> bool {
        cfg!(feature = "schedules") && self.schedule == Schedule::InOrder
    }

    /// In [`Schedule::InOrder`], the work of a call is over before the next.
    pub(super) fn finish_in_order(&mut self, effects: &mut impl Effects) {
        if self.is_in_order() {
            self.run_to_idle(effects);
        }
    }
}
