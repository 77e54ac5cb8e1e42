//! One device: what `peers.rs` has for two.

use trace::program::{Place, Range, StreamId};

use super::calls::Queued;
use super::{Device, OperationId, Unit, Work};
use crate::profile::Profile;

#[derive(Clone, Copy, Default)]
pub(super) struct Access;

pub(super) fn sender(_: &Work) -> Option<u32> {
    None
}

pub(super) fn units(profile: &Profile) -> [Unit; 1] {
    [Unit::new(profile)]
}

pub(super) fn heard_ns(_: &Profile, _: (u8, u32), _: StreamId) -> u64 {
    0
}

impl Device {
    pub(super) fn set_access(&mut self, _: u32, _: bool, _: bool) {}

    pub(crate) fn has_access(&self, _: u32) -> bool {
        false
    }

    pub(crate) fn may_use(&self, _: u32, _: &Range) -> bool {
        true
    }

    pub(super) fn peer_copy(&self, _: StreamId, _: (&Place, &Place), _: u64) -> Queued {
        Queued::free(Work::Marker, 0)
    }

    pub(super) fn met_by(&self, _: &Work, _: StreamId) -> Option<StreamId> {
        None
    }

    pub(super) fn complete_peer_copy(
        &mut self,
        _: u32,
        _: StreamId,
        id: OperationId,
        _: u64,
    ) -> OperationId {
        id
    }

    pub(super) fn start_half(&mut self, _: OperationId) {}
}
