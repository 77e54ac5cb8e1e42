//! The device that something is on. Its number says so, and nothing has to be looked up.

use super::{BlockId, Place, StreamId};

/// How many devices a program can use. (The playground's language has no second one, and each byte
/// counts there.)
pub const DEVICES: u32 = if crate::IS_PLAYGROUND { 1 } else { 2 };

/// Streams and blocks of memory of the second device are numbered from here. A run makes a million
/// steps at most, so no number of the first device is as high.
pub const SECOND: u32 = 1_000_000;

/// The device that something with this number is on. What others than the lab numbered may be
/// higher, and is on the first.
#[inline] // asked several times for each operation, from other packages
fn device_of(number: u32) -> u32 {
    u32::from(DEVICES > 1 && number.wrapping_sub(SECOND) < SECOND)
}

macro_rules! on_a_device {
    ($name:ident) => {
        impl $name {
            /// The thing with this number on a device.
            #[inline]
            pub fn on(device: u32, number: u32) -> Self {
                Self(device * SECOND + number)
            }

            /// The device that it is on, from 0; that of pinned memory is 0.
            #[inline]
            pub fn device(self) -> u32 {
                device_of(self.0)
            }

            /// Its number on its device.
            #[inline]
            pub fn number(self) -> u32 {
                self.0 - self.device() * SECOND
            }
        }
    };
}

on_a_device!(StreamId);
on_a_device!(BlockId);

/// Whether two places are in the memory of two devices.
pub(super) fn differ(one: &Place, other: &Place) -> bool {
    let on = |place: &Place| match place {
        Place::Device(range) => range.block.device(),
        Place::Pinned(_) | Place::Pageable => 0,
    };
    DEVICES > 1 && on(one) != on(other)
}
