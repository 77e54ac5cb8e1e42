//! Operations that wait for an engine, in the order in which it will take them.

use super::OperationId;

/// Key of the order: the priority (lower goes first), since when it is ready, and its number.
pub(super) type Turn = (i32, u64, OperationId);

/// Few at a time, so a sorted list will do; a tree would be more code than all of this module.
#[derive(Default)]
pub(super) struct Waiting(Vec<Turn>);

impl Waiting {
    pub(super) fn insert(&mut self, turn: Turn) {
        let place = self.0.partition_point(|other| *other < turn);
        self.0.insert(place, turn);
    }

    pub(super) fn first(&self) -> Option<Turn> {
        self.0.first().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Turn> {
        self.0.iter().copied()
    }

    /// Takes out the one with this number.
    pub(super) fn remove(&mut self, id: OperationId) {
        self.0.retain(|turn| turn.2 != id);
    }
}
