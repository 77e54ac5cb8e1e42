//! Facts about rows that stand in the names of their processes and threads.
//!
//! | who | process | thread | of the rows themselves |
//! | --- | --- | --- | --- |
//! | JAX | named `/device:GPU:0 NVIDIA H100` by a row of its own | so named `Stream #13(Compute)` | no category |
//! | nsys2json | `Device 0`, after a file's name where it has put several into one | `Stream 7` | category `cuda`, kernels alone |
//! | nsys2chrome | `Device 0` | `Stream 7`; calls: `CUDA API Thread 42` | `deviceId`, `streamId`, `correlationId`; kernels alone |
//! | tools that put several ranks into one file | `[rank1] 42` | a number | all that Kineto writes |

use super::names::{Name, Names};
use super::rows::{Category, Row, Rows, Thread};

/// Below all numbers that systems give: what has a name instead has its place from here on.
const NAMED: i64 = i64::MIN;

/// The number in the place of one, for a process or a thread that has none.
pub(super) fn number_of(name: Name) -> i64 {
    NAMED + name.index()
}

/// The name of a process or a thread that has no number.
pub(super) fn named(number: i64, names: &Names) -> Option<&str> {
    let index = u32::try_from(number.checked_sub(NAMED)?).ok()?;
    names.nth(index)
}

/// The rank in a name such as `[rank1] 42`, by which tools that put several files into one keep
/// them apart.
pub(super) fn rank_of(process: i64, names: &Names) -> Option<&str> {
    named(process, names)?.strip_prefix('[')?.split_once(']').map(|(rank, _)| rank)
}

/// The number after `what`, at the end of a name: `Stream 7`.
fn numbered(name: Option<&str>, what: &str) -> Option<i64> {
    let digits = name?.rsplit_once(what)?.1;
    digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse().ok())?
}

impl Rows {
    /// A process or a thread gets a name: `/device:GPU:0 NVIDIA H100`, `Stream #13(Compute)`.
    pub(super) fn call(&mut self, row: Row, what: Option<Name>, thread: Thread) {
        let (Some(what), Some(label)) = (what, row.label) else { return };
        let (what, label) = (self.names.text(what), self.names.text(label));
        let number = |prefix: &str| {
            let rest = label.strip_prefix(prefix)?;
            let digits = rest.len() - rest.trim_start_matches(|it: char| it.is_ascii_digit()).len();
            Some((rest[..digits].parse().ok()?, rest[digits..].trim().to_owned()))
        };
        match what {
            "process_name" => {
                if let Some((index, name)) = number("/device:GPU:") {
                    self.header.gpus.insert(thread.process, index);
                    if !name.is_empty() {
                        self.header.devices.insert(index, name);
                    }
                }
            }
            "thread_name" => {
                let stream = number("Stream #").map(|(stream, _)| stream);
                self.header.streams.extend(stream.map(|stream| (thread, stream)));
            }
            _ => {}
        }
    }

    /// The row with what its process and its thread say of it.
    pub(super) fn with_labels(&mut self, row: Row, name: Option<Name>, thread: Thread) -> Row {
        match row.category {
            Category::Unsaid => self.of_a_device(row, name, thread).unwrap_or(row),
            Category::Kernel | Category::Cuda => self.of_a_converter(row, thread).unwrap_or(row),
            _ => row,
        }
    }

    /// A kernel of a stream that has a name in the place of a number, as converters of Nsight
    /// Systems write it.
    fn of_a_converter(&mut self, row: Row, thread: Thread) -> Option<Row> {
        let stream = numbered(named(thread.thread, &self.names), "Stream ")?;
        let device = numbered(named(thread.process, &self.names), "Device ")?;
        self.header.is_converted = true;
        Some(Row {
            category: Category::Kernel,
            device: row.device.or(Some(device)),
            stream: row.stream.or(Some(stream)),
            ..row
        })
    }

    /// A row without a category that is one of a device, as JAX writes it.
    fn of_a_device(&self, row: Row, name: Option<Name>, thread: Thread) -> Option<Row> {
        let device = *self.header.gpus.get(&thread.process)?;
        let stream = *self.header.streams.get(&thread)?;
        let name = name.map_or("", |name| self.names.text(name));
        let category = match name {
            _ if name.starts_with("Memcpy") => Category::Copy,
            _ if name.starts_with("Memset") => Category::Memset,
            _ => Category::Kernel,
        };
        Some(Row { category, device: Some(device), stream: Some(stream), ..row })
    }
}
