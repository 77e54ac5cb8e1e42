//! The rows.
//!
//! | module | what is asked |
//! | --- | --- |
//! | [`between`] | what a call does between two kernels: the measured table |
//! | [`legacy`] | the default stream and its barrier |
//! | [`events`] | records, waits, queries |
//! | [`copies`] | copy engines, pageable memory, when data moves |
//! | [`kernels`] | residency, priorities, launches that wait |
//! | [`work_queues`] | who delays whom, by kernels and by copies |
//! | [`memory`] | stream-ordered and other allocation |
//! | [`graphs`] | capture and graphs |
//! | [`peers`] | two devices |
//! | [`threads`] | capture, by several host threads |
//! | [`codes`] | what misuse comes back with |
//! | [`gone`] | what handles come back with that are gone, or that nobody gave |

mod between;
mod codes;
mod copies;
mod events;
mod gone;
mod graphs;
mod kernels;
mod legacy;
mod memory;
mod peers;
mod threads;
mod work_queues;

use crate::row::Row;

/// All rows, in order.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(between::rows());
    rows.extend(legacy::rows());
    rows.extend(events::rows());
    rows.extend(copies::rows());
    rows.extend(kernels::rows());
    rows.extend(work_queues::rows());
    rows.extend(memory::rows());
    rows.extend(graphs::rows());
    rows.extend(threads::rows());
    rows.extend(codes::rows());
    rows.extend(gone::rows());
    rows.extend(peers::rows());
    let names: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names.len(), rows.len(), "two rows have the same name");
    rows
}
