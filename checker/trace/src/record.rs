//! One run of one program, as the driver writes it down for the process that started the run.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::metrics::{Bounds, Latency, memory::Peak};
use crate::{Program, Timeline};

/// Version of the JSON form of [`Record`]; a reader refuses any other.
pub const VERSION: u32 = 1;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// [`VERSION`] of the form this was written in.
    pub version: u32,
    /// The calls of the host.
    pub program: Program,
    /// The timeline.
    pub timeline: Timeline,
    /// The measured regions that came to their end, one for each trial, in order.
    pub trials: Vec<Trial>,
    /// Samples of memory that two operations use, where the run was to take them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// Something that the one who started the run should know, such as why a measurement fell back
    /// to a lesser method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A run as it is kept: without what lies elsewhere, and without what follows from the rest. The
/// program of a baseline or a solution lies with its exercise, and what a simulated device did
/// follows from the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// [`VERSION`] of the form this was written in.
    pub version: u32,
    /// The calls of the host, where they do not lie elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// The timeline, where it does not follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// [`Record::trials`].
    pub trials: Vec<Trial>,
    /// [`Record::notes`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Kept {
    /// A run on the simulated device, as it is kept.
    pub fn simulated(record: Record) -> Self {
        let Record { version, program, timeline: _, trials, watched: _, notes } = record;
        Self { version, program: Some(program), timeline: None, trials, notes }
    }

    /// The whole run again: with `program` where it lies elsewhere, and `replay`ed where it was
    /// simulated.
    pub fn whole(
        self,
        program: Option<Program>,
        replay: impl FnOnce(&Program) -> Timeline,
    ) -> Option<Record> {
        let Self { version, program: own, timeline, trials, notes } = self;
        let program = own.or(program)?;
        let timeline = timeline.unwrap_or_else(|| replay(&program));
        Some(Record { version, program, timeline, trials, watched: None, notes })
    }
}

/// Samples of memory that two operations use, before and after each: words of 32 bits, from the
/// first byte that both use. A sample that was never taken is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Watched {
    /// Whether the use that the host issued later was over before the other began.
    pub is_reversed: bool,
    /// When the first one began.
    pub first: Option<Vec<u32>>,
    /// When the second one began.
    pub second: Option<Vec<u32>>,
    /// When both were over.
    pub left: Option<Vec<u32>>,
}

/// One pass through the measured region. It also travels in a form that has no names, so no field
/// is ever left out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Name of the region, where a program has regions of several kinds; empty otherwise.
    #[serde(default)]
    pub name: String,
    /// From the host's entry into the region to its exit, in ns.
    pub makespan_ns: u64,
    /// Times of the workload's own work alone, where the device that ran it can tell: on the
    /// simulator from the profile. On a GPU it is measured by runs of their own.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// How the outputs compare with what the workload expects.
    pub output: Output,
    /// Whether the device had finished all its work when the host left the region.
    pub device: DeviceState,
    /// Work that the task needs and the program did not do, or did differently; empty when all is
    /// there.
    #[serde(default)]
    pub missing_work: Vec<Shortfall>,
    /// How much device memory there was at its most, where the task has a budget.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// The first kernel that was given data that does not belong together, where the task can tell.
    #[serde(default)]
    pub misled: Option<Box<Misled>>,
    /// How long the task's requests waited for their answers. It is left out where there were none.
    #[serde(default)]
    pub latency: Option<Latency>,
}

impl Serialize for Trial {
    /// Records from before there were requests read the same in text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            name,
            makespan_ns,
            bounds,
            output,
            device,
            missing_work,
            memory,
            misled,
            latency,
        } = self;
        let left_out = latency.is_none() && serializer.is_human_readable();
        let mut fields = serializer.serialize_struct("Trial", if left_out { 8 } else { 9 })?;
        fields.serialize_field("name", name)?;
        fields.serialize_field("makespan_ns", makespan_ns)?;
        fields.serialize_field("bounds", bounds)?;
        fields.serialize_field("output", output)?;
        fields.serialize_field("device", device)?;
        fields.serialize_field("missing_work", missing_work)?;
        fields.serialize_field("memory", memory)?;
        fields.serialize_field("misled", misled)?;
        match left_out {
            true => fields.skip_field("latency")?,
            false => fields.serialize_field("latency", latency)?,
        }
        fields.end()
    }
}

/// The device memory of a region, and what the task allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Memory {
    /// The most that was allocated at one time.
    pub peak: Peak,
    /// The most that there may be, in bytes.
    pub budget_bytes: u64,
}

impl Memory {
    /// Whether there was more than the task allows.
    pub fn is_exceeded(self) -> bool {
        self.peak.bytes > self.budget_bytes
    }
}

/// A kernel that was given other data than the task gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Misled {
    /// Index of its launch in [`Program::steps`].
    pub step: u32,
    /// The kernel.
    pub kernel: String,
    /// Data that it reads and that does not belong together, such as "labels of batch 3 with logits
    /// of batch 4".
    pub reads: String,
}

/// How the outputs of a region compare with what its workload expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// The region had no outputs that anyone checks.
    Unchecked,
    /// All as expected.
    Correct,
    /// Some are not.
    Wrong {
        /// Which output, as the workload numbers its blocks.
        block: u32,
        /// Index of the first wrong element.
        element: u64,
        /// The value that it should have.
        expected: u32,
        /// The value that it has.
        found: u32,
        /// How many elements are wrong, over all outputs.
        wrong: u64,
        /// How many there are, over all outputs.
        of: u64,
    },
    /// All are as expected, but some did not come about as the task wants them to.
    Unfounded {
        /// Which output, as the workload numbers its blocks.
        block: u32,
        /// Index of the first such element.
        element: u64,
        /// The origin that it has instead.
        origin: Origin,
        /// Index of the call in [`Program::steps`] by which it came about, where that says more.
        step: Option<u32>,
        /// How many there are of its kind or another, over all outputs.
        unfounded: u64,
        /// How many there are, over all outputs.
        of: u64,
    },
}

/// Where a value comes from that does not come from where it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// No copy and no kernel of the region that goes back to the task's input put it where it is.
    Host,
    /// A copy took something to the device that is not the task's input, or was not loaded yet.
    Upload,
    /// A kernel was launched that is not the one whose turn it was, or for more rounds than it has.
    Kernel,
    /// A kernel was launched as a grid of more blocks than it has in this task.
    Grid,
    /// The task's kernels have not all been launched on it.
    Unfinished,
    /// It is another element's.
    Elsewhere,
    /// Memory was used in more pieces than anyone keeps account of.
    Untold,
}

/// Whether the device was still at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceState {
    /// It had finished.
    Idle,
    /// It had not.
    Busy,
}

/// A part of the task's work that was not done in the region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shortfall {
    /// What: `host to device bytes`, `device to host bytes`, `ns of host work`, or the name of a
    /// kernel for its units.
    pub what: String,
    /// How much the task needs.
    pub needed: u64,
    /// How much there was.
    pub found: u64,
}
