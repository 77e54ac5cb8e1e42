//! One device: what `peers.rs` has for two.

use trace::program::{Place, Range, StreamId};

use super::wait::Queued;
use super::{Device, OperationId, Unit, Work};
use crate::profile::Profile;

#[derive(Clone, Copy, Default)]
pub(super) struct Access;

pub(super) fn sender(_: &Work) -> Option<u8> {
    None
}

pub(super) fn is_between(_: &Work) -> bool {
    false
}

pub(super) fn units(profile: &Profile) -> [Unit; 1] {
    [Unit::new(profile)]
}

pub(crate) fn over_link_ns(_: &Profile, _: u64) -> u64 {
    0
}

pub(super) fn heard_ns(_: &Profile, _: u32) -> u64 {
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

    pub(super) fn submit_peer_copy(
        &mut self,
        step: u32,
        stream: StreamId,
        work: Work,
        visible_ns: u64,
    ) -> OperationId {
        self.submit(step, stream, work, visible_ns, None)
    }

    pub(super) fn start_half(&mut self, _: OperationId) {}
}
