//! Families of driver calls. Each has a file with its commands, their replies, and the calls that
//! they are in a program.

use trace::program::Call;

use super::handles::Handles;
use super::library::Library;
use super::reply::{Failure, Reply};
use super::{Host, Machine};

/// The commands of one family.
pub(super) trait Family {
    /// Replies to a command that has passed all checks of the machine, and does what it needs of
    /// memory and handles. The call that it makes takes its time afterwards.
    fn reply(&self, machine: &mut Machine, host: &mut dyn Host) -> Result<Reply, Failure>;

    /// The call that a command makes, given the reply to it, which on a GPU is the real driver's.
    /// New handles and addresses get their numbers, old ones lose theirs. None for commands that
    /// neither take time nor order anything.
    fn call(
        &self,
        handles: &mut Handles,
        reply: &Reply,
        library: &dyn Library,
    ) -> Result<Option<Call>, Failure>;

    /// The stream that a command is about, by its handle.
    fn stream(&self) -> Option<u64> {
        None
    }
}
