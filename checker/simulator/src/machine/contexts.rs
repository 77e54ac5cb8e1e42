//! Contexts: the wait for all of a device, and what one device may use of the other.

use serde::{Deserialize, Serialize};
use trace::program::Call;

use super::family::Family;
use super::handles::Handles;
use super::library::Library;
use super::reply::{Failure, Reply, code};
use super::{Host, Machine};

/// `cuCtx…`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ContextCommand {
    /// `cuCtxSynchronize`.
    Synchronize,
    /// `cuCtxEnablePeerAccess`, `cuCtxDisablePeerAccess`, or `cuMemPoolSetAccess` of a default
    /// pool: a device may use the other one's memory, or what its pool gave, from now on, or may
    /// not.
    PeerAccess {
        /// The device that uses it.
        by: u32,
        /// The pool's memory, and no other.
        pool: bool,
        /// Whether it may.
        enabled: bool,
    },
}

impl Family for ContextCommand {
    fn reply(&self, machine: &mut Machine, _: &mut dyn Host) -> Result<Reply, Failure> {
        // To do what is done already is refused.
        if let Self::PeerAccess { by, pool: false, enabled } = *self
            && machine.device.has_access(by) == enabled
        {
            return Err(Failure::bare(match enabled {
                true => code::PEER_ACCESS_ALREADY_ENABLED,
                false => code::PEER_ACCESS_NOT_ENABLED,
            }));
        }
        Ok(Reply::Done)
    }

    fn call(&self, _: &mut Handles, _: &Reply, _: &dyn Library) -> Result<Option<Call>, Failure> {
        Ok(Some(match *self {
            Self::Synchronize => Call::ContextSynchronize,
            Self::PeerAccess { by, pool, enabled } => Call::PeerAccess { by, pool, enabled },
        }))
    }
}
