//! Drawings of timelines: one [`Layout`], written as SVG or as text.
//!
//! A layout holds one chart for each [`Panel`], all on one time axis that starts where the measured
//! region does, so that lengths can be compared across charts. Both forms tell the kinds of work
//! apart twice, by colour and by pattern or letter, and both come with numbers: the makespan of
//! each chart and the busy share of each lane. The same layout gives the same bytes everywhere.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`flaws`] | what is wrong, and where it shows |
//! | [`layout`] | which bar goes into which row of which lane |
//! | [`raster`] | many bars seen through few cells |
//! | [`scale`] | durations and sizes in words, and the ticks of an axis |
//! | [`svg`](mod@svg) | the layout as a picture, and the colours that a page may set |
//! | [`terminal`](mod@terminal) | the layout as text of limited width |
//! | [`table`](mod@table) | what it shows, in rows of numbers |

pub mod flaws;
pub mod layout;
pub mod raster;
pub mod scale;
pub mod svg;
pub mod table;
pub mod terminal;

pub use flaws::Findings;
pub use layout::Layout;
pub use scale::{duration, size};
pub use svg::{Appearance, Drawn, sheet, svg, svg_and_bars, svg_of_page, theme};
pub use table::{Row, table};
pub use terminal::{Style, terminal};

use crate::timeline::SpanKind;
use crate::{Program, Timeline};

/// One timeline to draw.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// The title above it.
    pub title: &'a str,
    /// The timeline.
    pub timeline: &'a Timeline,
    /// The program, where it is at hand: it gives declared host work, the lines of the source and
    /// the arrows from an event to those that wait for it.
    pub program: Option<&'a Program>,
}

/// Kinds of lanes of a drawing. Above them is one for the host in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lanes {
    /// One for each stream, in the order of creation.
    Streams,
    /// One for each engine of the device: copies up, kernels, copies down, the rest.
    Engines,
}

/// Kinds of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A kernel.
    Kernel,
    /// A copy from host to device.
    HostToDevice,
    /// A copy from device to host.
    DeviceToHost,
    /// A copy inside the device.
    DeviceToDevice,
    /// A copy from one device to another.
    PeerToPeer,
    /// A copy inside host memory, in a stream.
    HostToHost,
    /// A memset.
    Memset,
    /// A host function in a stream.
    HostFunction,
    /// Work of the host that the program declared.
    HostWork,
    /// A call that the host is making.
    Call,
    /// The host blocked by a call, waiting for the device.
    Blocked,
}

impl Mark {
    /// Every mark, in the order of legends.
    pub const ALL: [Self; 11] = [
        Self::Kernel,
        Self::HostToDevice,
        Self::DeviceToHost,
        Self::DeviceToDevice,
        Self::PeerToPeer,
        Self::HostToHost,
        Self::Memset,
        Self::HostFunction,
        Self::HostWork,
        Self::Call,
        Self::Blocked,
    ];

    /// Its words in a legend.
    pub fn label(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::HostToDevice => "copy to device",
            Self::DeviceToHost => "copy to host",
            Self::DeviceToDevice => "copy inside device",
            Self::PeerToPeer => "copy between devices",
            Self::HostToHost => "copy inside host",
            Self::Memset => "memset",
            Self::HostFunction => "host function",
            Self::HostWork => "host work",
            Self::Call => "driver call",
            Self::Blocked => "host blocked",
        }
    }
}

impl From<SpanKind> for Mark {
    fn from(kind: SpanKind) -> Self {
        match kind {
            SpanKind::Kernel => Self::Kernel,
            SpanKind::HostToDevice => Self::HostToDevice,
            SpanKind::DeviceToHost => Self::DeviceToHost,
            SpanKind::DeviceToDevice => Self::DeviceToDevice,
            SpanKind::PeerToPeer => Self::PeerToPeer,
            SpanKind::HostToHost => Self::HostToHost,
            SpanKind::Memset => Self::Memset,
            SpanKind::HostFunction => Self::HostFunction,
        }
    }
}
