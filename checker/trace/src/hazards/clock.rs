//! Vector clocks.

/// How much of each stream an owner knows to have ended: by slot, the number of operations.
///
/// Slots beyond the end count as 0, so a clock is no wider than what its owner has heard of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    /// How many operations of the stream in `slot` are known to have ended.
    pub(super) fn of(&self, slot: u32) -> u32 {
        self.0.get(slot as usize).copied().unwrap_or(0)
    }

    /// At least `count` operations of the stream in `slot` are known to have ended.
    pub(super) fn raise(&mut self, slot: u32, count: u32) {
        let slot = slot as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, 0);
        }
        self.0[slot] = self.0[slot].max(count);
    }

    /// How many slots it has heard of, at most.
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// Whether both know the same of all slots but one.
    pub(super) fn is_same_beside(&self, slot: u32, other: &Clock) -> bool {
        let slot = slot as usize;
        let [mine, theirs] = [self, other].map(|clock| clock.0.split_at(slot.min(clock.0.len())));
        mine.0 == theirs.0
            && mine.1.get(1..).unwrap_or_default() == theirs.1.get(1..).unwrap_or_default()
    }

    /// Whatever `other` knows is known here too.
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whatever `other` does not know is not known here any more.
    pub(super) fn meet(&mut self, other: &Clock) {
        self.0.truncate(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).min(*theirs);
        }
    }

    /// No more than `count` operations of the stream in `slot` are known to have ended.
    pub(super) fn lower(&mut self, slot: u32, count: u32) {
        if let Some(known) = self.0.get_mut(slot as usize) {
            *known = (*known).min(count);
        }
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
