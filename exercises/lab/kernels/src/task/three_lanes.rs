//! Three arrays that have nothing to do with one another: one is copied to the device, one is
//! copied from it, one is mapped where it is.

use super::{Array, Contents, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// On the host, to be uploaded …
pub const UPLOAD: u32 = 0;
/// … and where it goes.
pub const UPLOADED: u32 = 1;
/// On the device, to be downloaded …
pub const DOWNLOAD: u32 = 2;
/// … and where it goes.
pub const DOWNLOADED: u32 = 3;
/// On the device, to be mapped in place: what it is before …
pub const RESIDENT: u32 = 4;
/// … and after.
pub const MAPPED: u32 = 5;

/// The task.
pub static SPEC: Spec = Spec {
    name: "three_lanes",
    // As in `chunked_pipeline`: the engines take about as long as one another.
    copy_us: 4800,
    kernel_percent: 125,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Device, contents: Contents::Made { from: UPLOAD, stages: &[] } },
        Array { side: Side::Device, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: DOWNLOAD, stages: &[] } },
        Array { side: Side::Device, contents: Contents::Given },
        Array {
            side: Side::Device,
            contents: Contents::Made { from: RESIDENT, stages: &[Stage::A] },
        },
    ],
    ..Spec::NOTHING
};
