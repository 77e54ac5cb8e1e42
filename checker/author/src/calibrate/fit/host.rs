//! The time of the host in calls: of each again and again, and for the first time.

use anyhow::{Context, Result};
use simulator::profile::{Figure, FirstCalls, Host};

use super::{From, GRAPH_NODES, MIB, Parts, staging};

/// The smallest pinned block that was measured, in bytes: it shares what is mapped with no other.
const SMALLEST_PINNED: i64 = 2 << 20;

/// The calls of a group whose time was measured: three that give the device work, and two waits.
const GROUP_CALLS: f64 = 5.0;
/// The time between two calls where it was not measured, in ns: on the host of an H200, driver
/// 580.159.04, 2026-12-01.
const BETWEEN_ON_H200: f64 = 411.0;

/// The time of pinning memory, or of its end: for each MiB, and the rest, in ns.
struct PerMib {
    ns: f64,
    rest: f64,
}

impl PerMib {
    fn of(from: &From<'_>, key: &str) -> Result<Self> {
        let small = from.median(&format!("{key}/{SMALLEST_PINNED}"))?;
        let curve = from.raw.curve(key)?;
        let mut each: Vec<f64> = curve
            .into_iter()
            .filter(|&(bytes, _)| bytes > SMALLEST_PINNED)
            .map(|(bytes, ns)| (ns as f64 - small) * MIB / (bytes - SMALLEST_PINNED) as f64)
            .collect();
        each.sort_by(f64::total_cmp);
        let ns = each.get(each.len() / 2).copied();
        let ns = ns.with_context(|| format!("`{key}` was not measured for large blocks"))?;
        Ok(Self { ns, rest: small - ns * SMALLEST_PINNED as f64 / MIB })
    }
}

/// The time to unmap each MiB of device memory where it was not measured, in ns: that of an H200,
/// driver 580.159.04, 2026-11-29.
const UNMAP_NS_PER_MIB: f64 = 620.0;

/// Figures of calls that are made again and again.
pub(super) fn host(from: &From<'_>, parts: &Parts) -> Result<Host> {
    let mean = |keys: [&str; 2]| -> Result<Figure> {
        Ok(from.measured(from.mean(&keys)?, &format!("{}, {}, the mean", keys[0], keys[1])))
    };
    let staged = from.median("staged_bytes")?;
    let staging = staging(from, staged)?;
    let alloc_host = PerMib::of(from, "call_alloc_host_ns")?;
    let free_host = PerMib::of(from, "call_free_host_ns")?;
    let (free_per_mib, free_ns_per_mib) = match from.median("call_free_large_ns") {
        Ok(large) => {
            let ns = (large - from.median("call_free_ns")?) / (256.0 - 4.0);
            (ns, from.measured_then(ns, "call_free_large_ns: 256 MiB less 4 MiB"))
        }
        Err(_) => {
            let what = "as on an H200: it was not measured here";
            (UNMAP_NS_PER_MIB, from.figure("assumed", UNMAP_NS_PER_MIB, what))
        }
    };
    let capture = from.line("graph_capture_ns", |_| true)?;
    let instantiate = from.line("graph_instantiate_ns", |_| true)?;
    let grow = from.line("pool_grow_ns", |_| true)?;
    let give_back = from.line("pool_give_back_ns", |_| true)?;
    let copy_gap =
        from.mean(&["h2d_period_ns", "d2h_period_ns"])? - f64::midpoint(parts.up, parts.down);
    let rest = |key: &str| format!("{key}/{SMALLEST_PINNED} less its bytes");
    let per_mib = |key: &str| {
        format!("{key}: for each MiB more than 2 MiB, the middle one of 4, 16 and 64 MiB")
    };
    Ok(Host {
        launch_ns: from.as_measured("call_launch_busy_ns")?,
        copy_ns: mean(["call_h2d_busy_ns", "call_d2h_busy_ns"])?,
        pageable_copy_ns: from.measured(
            staging.intercept,
            "pageable_h2d_call_ns: the rest of the line of staging_bytes_per_us",
        ),
        memset_ns: from.as_measured("call_memset_busy_ns")?,
        event_record_ns: from.as_measured("call_event_record_busy_ns")?,
        event_record_timed_ns: from.as_measured("call_event_record_timed_busy_ns")?,
        stream_wait_ns: from.as_measured("call_stream_wait_busy_ns")?,
        query_ns: mean(["call_stream_query_busy_ns", "call_event_query_busy_ns"])?,
        synchronize_ns: from.as_measured("call_synchronize_idle_ns")?,
        wake_ns: from.measured(
            parts.wake,
            "kernel_to_synchronize_ns less kernel_to_query_ns, and those of 4 KiB up and down, the \
             mean",
        ),
        stream_create_ns: from.as_measured("call_stream_create_ns")?,
        stream_destroy_ns: from.as_measured("call_stream_destroy_ns")?,
        event_create_ns: from.as_measured("call_event_create_ns")?,
        event_destroy_ns: from.as_measured("call_event_destroy_ns")?,
        alloc_ns: from.as_measured("call_alloc_ns")?,
        alloc_shared_ns: from.as_measured_then("call_alloc_shared_ns")?,
        free_ns: from.measured(
            from.median("call_free_ns")? - 4.0 * free_per_mib,
            "call_free_ns of 4 MiB less its bytes",
        ),
        free_ns_per_mib,
        free_shared_ns: from.as_measured_then("call_free_shared_ns")?,
        alloc_async_ns: from.as_measured("call_alloc_async_ns")?,
        free_async_ns: from.as_measured("call_free_async_ns")?,
        pool_grow_ns: from.measured_then(
            grow.intercept - from.median("call_alloc_async_ns")?,
            "pool_grow_ns: the rest of the line from 1 to 16 chunks, less an allocation",
        ),
        pool_grow_chunk_ns: from
            .measured_then(grow.slope, "pool_grow_ns: each chunk more of 1 to 16"),
        pool_give_back_ns: from.measured_then(
            give_back.intercept - from.median("call_synchronize_idle_ns")?,
            "pool_give_back_ns: the rest of the line from 1 to 16 chunks, less a synchronisation",
        ),
        pool_give_back_chunk_ns: from
            .measured_then(give_back.slope, "pool_give_back_ns: each chunk more of 1 to 16"),
        alloc_host_ns: from.measured_then(alloc_host.rest, &rest("call_alloc_host_ns")),
        alloc_host_ns_per_mib: from.measured_then(alloc_host.ns, &per_mib("call_alloc_host_ns")),
        alloc_host_shared_ns: from.as_measured_then("call_alloc_host_shared_ns")?,
        free_host_ns: from.measured_then(free_host.rest, &rest("call_free_host_ns")),
        free_host_ns_per_mib: from.measured_then(free_host.ns, &per_mib("call_free_host_ns")),
        free_host_shared_ns: from.as_measured_then("call_free_host_shared_ns")?,
        module_load_ns: from.as_measured("call_module_load_ns")?,
        host_function_ns: from.as_measured("call_host_function_busy_ns")?,
        graph_launch_ns: from.measured(
            from.median(&format!("graph_launch_ns/{GRAPH_NODES}"))?,
            "graph_launch_ns: a graph of 20 kernels",
        ),
        graph_copy_ns: from.measured_then(
            from.line("graph_copies_launch_ns", |_| true)?.slope,
            "graph_copies_launch_ns: each upload of 4 KiB more in a graph of 1 to 32",
        ),
        graph_capture_node_ns: from
            .measured(capture.slope, "graph_capture_ns: each kernel more in a graph of 1 to 200"),
        graph_instantiate_ns: from.measured(
            instantiate.intercept,
            "graph_instantiate_ns: the rest of the line from 1 to 200 kernels",
        ),
        graph_instantiate_node_ns: from.measured(
            instantiate.slope,
            "graph_instantiate_ns: each kernel more in a graph of 1 to 200",
        ),
        graph_upload_node_ns: from.measured_then(
            from.line("graph_first_launch_ns", |_| true)?.slope,
            "graph_first_launch_ns: each kernel more in a graph of 1 to 200",
        ),
        host_function_run_ns: from.measured(
            from.median("host_function_period_ns")? - copy_gap,
            "host_function_period_ns, less the gap between copies",
        ),
        other_ns: from.as_measured("call_function_get_ns")?,
        between_ns: between(from),
    })
}

/// The time between two calls of a program, in ns.
fn between(from: &From<'_>) -> Figure {
    match (from.median("program_group_ns"), from.median("program_calls_ns")) {
        (Ok(group), Ok(calls)) => from.measured_then(
            (group - calls) / GROUP_CALLS,
            "program_group_ns less program_calls_ns, by call: an upload, a kernel and a download in one stream after \
             the other, with two waits",
        ),
        _ => from.figure("assumed", BETWEEN_ON_H200, "as on an H200: it was not measured here"),
    }
}

/// Figures of the first call of each kind: how much longer it takes.
pub(super) fn first_calls(from: &From<'_>) -> Result<FirstCalls> {
    let copy = from.mean(&["call_h2d_busy_ns", "call_d2h_busy_ns"])?;
    // What two calls that give the device work pay once between them.
    let work = from.mean(&["first_launch_ns", "first_copy_ns"])?
        - from.mean(&["first_launch_after_copy_ns", "first_copy_after_launch_ns"])?;
    let longer = |key: &str, usual: f64| -> Result<Figure> {
        Ok(from.measured_then(from.median(key)? - usual, &format!("{key}: less a later one")))
    };
    let longer_than = |key: &str, usual: &str| longer(key, from.median(usual)?);
    let capture = from.line("graph_capture_ns", |_| true)?;
    let launch = from.line("graph_first_launch_ns", |_| true)?;
    let usual = from.median(&format!("graph_launch_ns/{GRAPH_NODES}"))?;
    Ok(FirstCalls {
        work_ns: from.measured_then(
            work,
            "first_launch_ns, first_copy_ns: less first_launch_after_copy_ns and first_copy_after_launch_ns, the mean",
        ),
        launch_ns: longer_than("first_launch_after_copy_ns", "call_launch_busy_ns")?,
        copy_ns: longer("first_copy_after_launch_ns", copy)?,
        memset_ns: longer_than("first_memset_ns", "call_memset_busy_ns")?,
        host_function_ns: longer_than("first_host_function_ns", "call_host_function_busy_ns")?,
        event_record_ns: longer_than("first_event_record_ns", "call_event_record_busy_ns")?,
        stream_wait_ns: longer_than("first_stream_wait_ns", "call_stream_wait_busy_ns")?,
        stream_create_ns: longer_than("first_stream_create_ns", "call_stream_create_ns")?,
        stream_destroy_ns: longer_than("first_stream_destroy_ns", "call_stream_destroy_ns")?,
        event_create_ns: longer_than("first_event_create_ns", "call_event_create_ns")?,
        event_destroy_ns: longer_than("first_event_destroy_ns", "call_event_destroy_ns")?,
        alloc_ns: longer_than("first_alloc_ns", "call_alloc_ns")?,
        free_ns: longer_than("first_free_ns", "call_free_ns")?,
        alloc_async_ns: longer_than("first_alloc_async_ns", "call_alloc_async_ns")?,
        free_async_ns: longer_than("first_free_async_ns", "call_free_async_ns")?,
        graph_create_ns: from.measured_then(
            capture.intercept - from.median("call_function_get_ns")?,
            "graph_capture_ns: the rest of the line from 1 to 200 kernels, less call_function_get_ns",
        ),
        graph_launch_ns: from.measured_then(
            launch.intercept - usual - work,
            "graph_first_launch_ns: the rest of the line from 1 to 200 kernels, less a later launch and work_ns",
        ),
    })
}
