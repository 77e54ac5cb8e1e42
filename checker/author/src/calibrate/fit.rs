//! From raw figures to a profile: what each parameter of the simulated device means, as a function
//! of what was measured.
//!
//! A figure is a median, the slope or the rest of a line through medians, or a sum of them. What is
//! at both ends of a row of operations is taken off by measuring two rows. Four things cannot be
//! told apart from the host: an operation's own time, the gap after it, the way of a call to the
//! device, and the way of its end back. A little more of one and as much less of the next look the
//! same. The first is taken from CUPTI, and a query that sees the end tells the last from the
//! third.

mod host;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use simulator::Profile;
use simulator::profile::{Chip, Copies, Figure, Gaps, Link, Pace, Peers, Rate};

use super::raw::Raw;
use super::spans::SMALL;
use super::theil_sen::Line;

const MIB: f64 = 1_048_576.0;

/// Nodes of the graph whose launch is the profile's: what is launched as one in exercises has tens.
const GRAPH_NODES: i64 = 20;

/// Blocks on each multiprocessor in the kernels that tell how blocks are handed out.
const BLOCKS: i64 = 8;
/// Warps of a block of the map.
const WARPS: u64 = 8;

/// Pieces of large pageable copies where no CUPTI tells, in bytes: seen on an H200.
const PIECE: u64 = 1 << 20;

/// The least size of staged copies through whose times a line is drawn: below, fixed costs are most
/// of it.
const STAGED_FROM: i64 = 64 << 10;
/// Pageable copies from here on take many pieces.
const LARGE_FROM: i64 = 2 << 20;

/// A copy that the host's cache has all of, in bytes.
const FRESH: i64 = 512 << 10;
/// Bytes of what the host wrote last that its cache still has, where that was not measured. Then
/// the time that a copy of each MiB of it takes longer, in ns. Both are those of an H200, driver
/// 580.159.04, 2026-11-29.
const FRESH_ON_H200: [f64; 2] = [808_494.0, 25_856.0];

/// Times by which a copy up is longer beside copies down, and a copy down beside copies up, where
/// that was not measured, in ns. Both are those of an H200, driver 580.159.04, 2026-12-01. Then the
/// number of copies of which they are known, and their size in bytes.
const DUPLEX_FIXED_ON_H200: [f64; 2] = [625.0, 1250.0];
const SMALL_PIECES: f64 = 200.0;
const SMALL_PIECE: f64 = 65_536.0;

/// The gap before an operation of another engine where it was not measured, in ns: that of an H200,
/// driver 580.159.04, 2026-12-01.
const CROSSING_ON_H200: f64 = 4428.0;

/// The room of the cache in bytes, and what it takes a map longer without, once and for each wait,
/// in ns, where that was not measured: those of an H200, driver 580.159.04, 2026-12-01.
const UNCACHED_ON_H200: [f64; 3] = [31_457_280.0, 407.0, 182.0];
/// The rate of `dense_input_gradient` on that H200: multiply-adds per µs of a warp and of a
/// multiprocessor, and ns of a kernel and of each block.
const INPUT_GRADIENT_ON_H200: [f64; 4] = [17_107.0, 86_296.0, 2258.0, 112.0];

/// The profile that `raw` comes to.
pub(crate) fn profile(raw: &Raw, name: &str) -> Result<Profile> {
    let machine = &raw.machine;
    let from = From { raw, stamp: raw.stamp(&machine.date) };
    let parts = Parts::of(&from)?;
    let chip = chip(&from)?;
    let copies = copies(&from, &parts)?;
    let rates = rates(&from, &parts, &chip)?;
    Ok(Profile {
        name: name.to_owned(),
        device: machine.device.clone(),
        chip,
        copies,
        rates,
        gaps: gaps(&from, &parts)?,
        host: host::host(&from, &parts)?,
        first_calls: host::first_calls(&from)?,
        peers: Peers::default(),
    })
}

/// The raw figures that a profile is made of.
struct From<'a> {
    raw: &'a Raw,
    /// When, on what, by which driver.
    stamp: String,
}

impl From<'_> {
    fn median(&self, key: &str) -> Result<f64> {
        self.raw.median(key).map(|value| value as f64)
    }

    fn mean(&self, keys: &[&str]) -> Result<f64> {
        let values: Result<Vec<f64>> = keys.iter().map(|key| self.median(key)).collect();
        Ok(values?.iter().sum::<f64>() / keys.len() as f64)
    }

    /// The line through those points of a curve whose argument is wanted.
    fn line(&self, prefix: &str, wanted: impl Fn(i64) -> bool) -> Result<Line> {
        let curve = self.raw.curve(prefix)?;
        let points: Vec<(f64, f64)> = curve
            .into_iter()
            .filter(|&(x, _)| wanted(x))
            .map(|(x, y)| (x as f64, y as f64))
            .collect();
        Line::through(&points).with_context(|| format!("`{prefix}` has too few points for a line"))
    }

    fn figure(&self, how: &str, value: f64, what: &str) -> Figure {
        // A difference of two figures of nothing may fall below nothing.
        let value = value.round().max(0.0) as u64;
        Figure { value, source: format!("{how}, {}, {what}", self.stamp) }
    }

    fn measured(&self, value: f64, what: &str) -> Figure {
        self.figure("measured", value, what)
    }

    /// A figure with the date of the key that `what` begins with: it may have been measured later
    /// than others.
    fn measured_then(&self, value: f64, what: &str) -> Figure {
        let key = what.split(['/', ':', ',', ' ']).next().unwrap_or_default();
        let stamp = self.raw.stamp(self.raw.date(key));
        Figure { source: format!("measured, {stamp}, {what}"), ..self.measured(value, what) }
    }

    /// The median of one key.
    fn as_measured(&self, key: &str) -> Result<Figure> {
        Ok(self.measured(self.median(key)?, key))
    }

    /// The same of a key that may have been measured later than others.
    fn as_measured_then(&self, key: &str) -> Result<Figure> {
        Ok(self.measured_then(self.median(key)?, key))
    }

    /// As the device states it.
    fn stated(&self, key: &str) -> Result<Figure> {
        let value = self.median(key)?;
        Ok(self.figure("measured", value, &format!("{key} as the driver states it")))
    }
}

/// Parts that several figures share, in ns.
struct Parts {
    /// An operation's own time.
    kernel: f64,
    up: f64,
    down: f64,
    memset: f64,
    /// How those were told from the gaps.
    told_by: &'static str,
    /// From the call's return to the start.
    submit: f64,
    wake: f64,
}

impl Parts {
    fn of(from: &From<'_>) -> Result<Self> {
        let own = |span: &str, period: &str| -> Result<(f64, bool)> {
            Ok(match from.median(span) {
                Ok(ns) => (ns, true),
                Err(_) => (from.median(period)? / 2.0, false),
            })
        };
        let (kernel, told) = own("span_kernel_ns", "kernel_period_ns")?;
        let (up, _) = own("span_h2d_ns", "h2d_period_ns")?;
        let (down, _) = own("span_d2h_ns", "d2h_period_ns")?;
        let (memset, _) = own("span_memset_ns", "memset_4KiB_period_ns")?;
        let told_by = if told {
            "the operations' own time by CUPTI"
        } else {
            "no CUPTI: periods split evenly"
        };

        // The end falls between two queries: on average half a query passes before the one that
        // sees it.
        let query = from.median("query_ns")?;
        let (mut wakes, mut submits) = (0.0, 0.0);
        for (name, call, own) in [
            ("kernel", "call_launch_idle_ns", kernel),
            ("h2d", "call_h2d_idle_ns", up),
            ("d2h", "call_d2h_idle_ns", down),
        ] {
            let waited = from.median(&format!("{name}_to_synchronize_ns"))?;
            let asked = from.median(&format!("{name}_to_query_ns"))? - 1.5 * query;
            wakes += waited - asked;
            submits += asked - from.median(call)? - own;
        }
        let (submit, wake) = ((submits / 3.0).max(0.0), (wakes / 3.0).max(0.0));
        Ok(Self { kernel, up, down, memset, told_by, submit, wake })
    }
}

fn chip(from: &From<'_>) -> Result<Chip> {
    let best = from.raw.curve("memory_map_ns")?.into_values().min();
    let best = best.context("`memory_map_ns` was not measured")? as f64;
    // Each byte is read and written.
    let memory = 2.0 * from.median("memory_slope_bytes")? * 1000.0 / best.max(1.0);
    let [cache_bytes, uncached_ns, uncached_wait_ns] = uncached(from);
    Ok(Chip {
        compute_capability_major: from.stated("compute_capability_major")?,
        compute_capability_minor: from.stated("compute_capability_minor")?,
        multiprocessors: from.stated("multiprocessors")?,
        threads_per_multiprocessor: from.stated("threads_per_multiprocessor")?,
        blocks_per_multiprocessor: from.stated("blocks_per_multiprocessor")?,
        registers_per_multiprocessor: from.stated("registers_per_multiprocessor")?,
        shared_bytes_per_multiprocessor: from.stated("shared_bytes_per_multiprocessor")?,
        resident_grids: from.measured(
            from.median("resident_grids")?,
            "resident_grids: the most kernels of one block that end together, each on its stream",
        ),
        queue_depth: from.measured(
            from.median("queue_depth")?,
            "queue_depth: launches behind a running kernel before one blocks; that copies, memsets \
             and host functions count as launches do, and events and waits do not, is assumed",
        ),
        memory_bytes: from.stated("memory_bytes")?,
        pool_chunk_bytes: from.measured_then(
            from.median("pool_chunk_bytes")?,
            "pool_chunk_bytes: what the pool has for the first byte",
        ),
        memory_bytes_per_us: from.measured(
            memory,
            "memory_map_ns: a map of no rounds, 256 MiB less 128 MiB, the best of five grids",
        ),
        async_engines: from.stated("async_engines")?,
        copy_engines: from.measured(
            if one_engine(from)? { 1.0 } else { 2.0 },
            "duplex_h2d_everything_ns: whether both directions take as long as one after the other",
        ),
        highest_priority: from.stated("highest_priority")?,
        turn_blocks: from.measured(
            turn_blocks(from)?,
            "map_longer_period_ns: the first so many of 8 blocks on each multiprocessor have one element \
             more; how many of them come to one multiprocessor",
        ),
        cache_bytes,
        uncached_ns,
        uncached_wait_ns,
    })
}

/// The room of the cache for one kernel after another, in bytes. Then what it takes a map longer
/// where it does not have the elements, in ns: once, and for each wait.
fn uncached(from: &From<'_>) -> [Figure; 3] {
    let measured = || -> Result<[Figure; 3]> {
        let each = from.line("map_uncached_waits_period_ns", |_| true)?.slope
            - from.line("map_waits_period_ns", |_| true)?.slope;
        let first = from.median("map_blocks_period_ns/1")? - from.median("map_cached_period_ns")?;
        Ok([
            from.measured_then(
                from.median("l2_bytes")? / 2.0,
                "l2_bytes as the driver states it: a half of it, since each half of the device caches \
                 for itself",
            ),
            from.measured_then(
                first - each,
                "map_cached_period_ns, which map_blocks_period_ns/1 is less one wait: one block on each \
                 multiprocessor, with elements that the cache holds and that it does not",
            ),
            from.measured_then(
                each,
                "map_uncached_waits_period_ns less map_waits_period_ns: the slopes of their lines",
            ),
        ])
    };
    let what = "as on an H200: it was not measured here";
    measured().unwrap_or_else(|_| UNCACHED_ON_H200.map(|it| from.figure("assumed", it, what)))
}

/// How many of the first blocks of a grid bring one more to the multiprocessor that gets most of
/// them. A kernel whose first blocks have an element more than the others takes as many elements
/// longer as of these blocks come there.
fn turn_blocks(from: &From<'_>) -> Result<f64> {
    let multiprocessors = from.median("multiprocessors")?;
    let all = from.median("map_units_whole_device")? / from.median("map_whole_device_ns")?.max(1.0);
    let element_ns = from.median("map_units_of_element")? * multiprocessors / all.max(1e-9);
    let even = from.median(&format!("map_blocks_period_ns/{BLOCKS}"))?;
    let mut turn = 0.0_f64;
    for (sixteenths, ns) in from.raw.curve("map_longer_period_ns")? {
        let longer = multiprocessors * BLOCKS as f64 * sixteenths as f64 / 16.0;
        let on_fullest = ((ns as f64 - even) / element_ns).round();
        if (1.0..BLOCKS as f64).contains(&on_fullest) {
            turn = turn.max((longer / on_fullest).ceil());
        }
    }
    Ok(if turn > 0.0 { turn.min(multiprocessors) } else { multiprocessors })
}

/// Whether the directions take turns: 8 pieces one way and 12 the other take 2.5 times as long as 8
/// alone if they do, and little more than 1.5 times as long if they do not.
fn one_engine(from: &From<'_>) -> Result<bool> {
    Ok(from.median("duplex_h2d_everything_ns")? > 2.0 * from.median("duplex_h2d_alone_ns")?)
}

fn copies(from: &From<'_>, parts: &Parts) -> Result<Copies> {
    let staged = from.median("staged_bytes")?;
    let up = link(from, "h2d", parts, parts.up)?;
    let down = link(from, "d2h", parts, parts.down)?;
    let small = SMALL as f64;
    // What is left of the smallest download when all else has been taken off.
    let pageable_call = from.median(&format!("pageable_d2h_call_ns/{SMALL}"))?
        - parts.submit
        - parts.wake
        - (down.pinned_fixed_ns.value as f64)
        - small * 1000.0 / down.pinned_bytes_per_us.value as f64
        - small * 1000.0 / down.pageable_bytes_per_us.value as f64;
    let chunk = match from.median("pageable_h2d_lead_ns") {
        Ok(lead) => from.measured(
            (lead - parts.submit) * up.pageable_bytes_per_us.value as f64 / 1000.0,
            "pageable_h2d_lead_ns: CUPTI's start of a pageable upload after its call, at the rate of \
             its copy",
        ),
        Err(_) => from.figure("assumed", PIECE as f64, "as seen on an H200: there was no CUPTI"),
    };
    let staging = staging(from, staged)?;
    let slope_bytes = from.median("memory_slope_bytes")?;
    let per_us = |ns: f64| slope_bytes * 1000.0 / ns.max(1.0);
    let memset = per_us(from.median("memset_ns")?);
    let [fresh_bytes, fresh_ns_per_mib] = fresh(from);
    Ok(Copies {
        host_to_device: up,
        device_to_host: down,
        staged_bytes: from.as_measured("staged_bytes")?,
        staging_bytes_per_us: from.measured(
            1000.0 / staging.slope,
            "pageable_h2d_call_ns: slope of the calls from 64 KiB to staged_bytes",
        ),
        staging_chunk_bytes: chunk,
        pageable_call_ns: from.measured(
            pageable_call,
            "pageable_d2h_call_ns of 4 KiB, less the ways there and back and the copies",
        ),
        device_bytes_per_us: from.measured(
            per_us(from.median("memory_copy_ns")?),
            "memory_copy_ns: 256 MiB less 128 MiB",
        ),
        memset_bytes_per_us: from.measured(memset, "memset_ns: 256 MiB less 128 MiB"),
        device_fixed_ns: from.measured(
            parts.memset - small * 1000.0 / memset,
            &format!("span_memset_ns: a memset of 4 KiB less its bytes; {}", parts.told_by),
        ),
        fresh_bytes,
        fresh_ns_per_mib,
    })
}

/// Of what the host has just written: how much its cache still has, in bytes, and how much longer a
/// copy of a MiB of that takes, in ns.
fn fresh(from: &From<'_>) -> [Figure; 2] {
    let longer = |bytes: i64| -> Result<f64> {
        let left = from.median(&format!("left_h2d_ns/{bytes}"))?;
        Ok((from.median(&format!("fresh_h2d_ns/{bytes}"))? - left).max(0.0))
    };
    let measured = || -> Result<[Figure; 2]> {
        let per_mib = longer(FRESH)? * MIB / FRESH as f64;
        let larger =
            from.raw.curve("fresh_h2d_ns")?.into_iter().filter(|&(bytes, _)| bytes > FRESH);
        let mut more = larger.map(|(bytes, _)| longer(bytes)).collect::<Result<Vec<f64>>>()?;
        more.sort_by(f64::total_cmp);
        let middle = more.get(more.len() / 2).copied().unwrap_or_default();
        Ok([
            from.measured_then(
                middle * MIB / per_mib.max(1.0),
                "fresh_h2d_ns less left_h2d_ns: the middle one of 1 to 8 MiB, at the rate of 512 KiB",
            ),
            from.measured_then(per_mib, "fresh_h2d_ns less left_h2d_ns: of 512 KiB"),
        ])
    };
    let what = "as on an H200: it was not measured here";
    measured().unwrap_or_else(|_| FRESH_ON_H200.map(|value| from.figure("assumed", value, what)))
}

/// The calls of staged copies, which take the data and return.
fn staging(from: &From<'_>, staged: f64) -> Result<Line> {
    let fits = |x: i64| x as f64 <= staged;
    from.line("pageable_h2d_call_ns", |x| x >= STAGED_FROM && fits(x))
        .or_else(|_| from.line("pageable_h2d_call_ns", fits))
        // Where nothing is staged, the line of small copies says what taking them would cost.
        .or_else(|_| from.line("pageable_h2d_call_ns", |x| x <= LARGE_FROM))
}

fn link(from: &From<'_>, way: &str, parts: &Parts, own: f64) -> Result<Link> {
    let pinned = from.line(&format!("pinned_{way}_ns"), |x| x as f64 >= 16.0 * MIB)?;
    let staged = from.median("staged_bytes")?;
    let large = |x: i64| x > LARGE_FROM && (way == "d2h" || x as f64 > staged);
    // An upload's call returns when its last piece lies in the driver's buffer. What comes next in
    // its stream, the next such call too, waits until that piece is across.
    let of = if way == "h2d" { "total" } else { "call" };
    let pageable = from.line(&format!("pageable_{way}_{of}_ns"), large)?;
    let call = match way {
        // The rest of a download's call is told apart by the smallest one.
        "d2h" => {
            from.median(&format!("pageable_d2h_call_ns/{SMALL}"))?
                - own
                - SMALL as f64 * pageable.slope
        }
        _ => parts.submit + parts.wake + from.median("call_synchronize_idle_ns")?,
    };
    let duplex = match one_engine(from)? {
        true => from.figure("derived", 1000.0, "one engine never works both ways"),
        false => from.measured(
            1000.0 * from.median(&format!("duplex_{way}_alone_ns"))?
                / from.median(&format!("duplex_{way}_both_ways_ns"))?,
            &format!("duplex_{way}_alone_ns, duplex_{way}_both_ways_ns: 8 copies of 64 MiB"),
        ),
    };
    Ok(Link {
        duplex_fixed_ns: duplex_fixed(
            from,
            way,
            own + (SMALL_PIECE - SMALL as f64) * pinned.slope,
            duplex.value,
        ),
        pinned_bytes_per_us: from
            .measured(1000.0 / pinned.slope, &format!("pinned_{way}_ns: slope from 16 to 256 MiB")),
        pinned_fixed_ns: from.measured(
            own - SMALL as f64 * pinned.slope,
            &format!("span_{way}_ns: a copy of 4 KiB less its bytes; {}", parts.told_by),
        ),
        pageable_bytes_per_us: from.measured(
            1000.0 / pageable.slope,
            &format!("pageable_{way}_{of}_ns: slope of what is not staged, up to 64 MiB"),
        ),
        pageable_fixed_ns: from.measured(
            pageable.intercept - call,
            &format!("pageable_{way}_{of}_ns: the rest of that line, less what every call takes"),
        ),
        duplex_permille: duplex,
    })
}

/// How much longer a copy takes beside those of the other direction, whatever its size, in ns: the
/// small one that was measured takes `own_ns` alone, and `permille` of the speed are left then.
fn duplex_fixed(from: &From<'_>, way: &str, own_ns: f64, permille: u64) -> Figure {
    let [alone, both] =
        ["alone", "both_ways"].map(|how| from.median(&format!("duplex_{way}_small_{how}_ns")));
    let (Ok(alone), Ok(both)) = (alone, both) else {
        let [up, down] = DUPLEX_FIXED_ON_H200;
        let value = if way == "h2d" { up } else { down };
        return from.figure("assumed", value, "as on an H200: it was not measured here");
    };
    from.measured_then(
        (both - alone) / SMALL_PIECES - own_ns * (1000.0 / permille.max(1) as f64 - 1.0),
        &format!(
            "duplex_{way}_small_both_ways_ns less duplex_{way}_small_alone_ns, and less what duplex_permille makes of \
             it: 200 copies of 64 KiB"
        ),
    )
}

fn rates(from: &From<'_>, parts: &Parts, chip: &Chip) -> Result<BTreeMap<String, Rate>> {
    let multiprocessors = from.median("multiprocessors")?;
    let per_us = |units: &str, ns: &str| -> Result<f64> {
        Ok(from.median(units)? * 1000.0 / from.median(ns)?.max(1.0))
    };
    let gap = from.median("kernel_period_ns")? - parts.kernel;
    let throughput = per_us("map_units_whole_device", "map_whole_device_ns")? / multiprocessors;
    let warp = per_us("map_units_alone", "map_alone_ns")? / from.median("map_warps_alone")?;
    // Without waiting.
    let pace = Pace {
        units_per_us_warp: warp as u64,
        units_per_us_multiprocessor: throughput as u64,
        fixed_ns: 0,
        block_ns: 0,
        wait_ns: 0,
    };
    let waits = from.line("map_waits_period_ns", |_| true)?;
    let between = from.median("map_units_of_wait")? * 1000.0 / pace.units_per_us(WARPS) as f64;
    let wait = waits.slope - between;
    let on_each = from.line("map_blocks_period_ns", |_| true)?;
    let work = from.median("map_units_of_block")? * 1000.0 / throughput.max(1.0);
    let uncached = chip.uncached_ns.value + chip.uncached_wait_ns.value;
    let fixed = on_each.intercept - gap - wait - uncached as f64;
    let block = on_each.slope - work;
    let map = Rate {
        units_per_us_warp: from.measured(
            warp,
            "map_alone_ns: one block of 128 threads, twice as many rounds less once as many",
        ),
        units_per_us_multiprocessor: from.measured(
            throughput,
            "map_whole_device_ns: 8 blocks of 256 threads on each multiprocessor, twice as many \
             rounds less once as many",
        ),
        fixed_ns: from.measured(
            fixed,
            &format!(
                "map_blocks_period_ns: 1 to 8 blocks on each multiprocessor, with elements that are in \
                 no cache: the rest of their line, less the gap, wait_ns, uncached_ns and uncached_wait_ns; {}",
                parts.told_by
            ),
        ),
        block_ns: from.measured(
            block,
            "map_blocks_period_ns: the slope of that line less a block's work at the rate of all",
        ),
        wait_ns: from.measured(
            wait,
            "map_waits_period_ns: one block of 256 threads on each multiprocessor, with elements that the \
             cache holds: what 16 more waits take, each less the work in between at the rate of 8 warps",
        ),
    };

    // The product's work is fixed, so that what is fixed in it is an empty kernel's.
    let product = from.median("matmul_period_ns")? - from.median("kernel_period_ns")?;
    let blocks = from.median("matmul_blocks")?;
    let on_fullest = (blocks / multiprocessors).ceil();
    let rate = on_fullest * from.median("matmul_units")? / blocks * 1000.0 / product.max(1.0);
    let warps = on_fullest * from.median("matmul_warps_per_block")?;
    let how = "matmul_period_ns less kernel_period_ns";
    let matmul = Rate {
        units_per_us_warp: from.measured(
            rate / warps,
            &format!("{how}: each warp of the fullest multiprocessor, at least"),
        ),
        units_per_us_multiprocessor: from
            .measured(rate, &format!("{how}: the blocks on the fullest multiprocessor, at least")),
        fixed_ns: from
            .measured(parts.kernel, &format!("span_kernel_ns: an empty kernel; {}", parts.told_by)),
        block_ns: from.figure("derived", 0.0, "it is contained in the rate"),
        wait_ns: from.figure("derived", 0.0, "it is contained in the rate"),
    };
    let mut rates: BTreeMap<_, _> = [("map".to_owned(), map), ("matmul".to_owned(), matmul)].into();
    let of_images = ["crop", "resize", "flip", "blur", "normalise"];
    let of_layers = ["dense", "weight_gradient", "loss", "step"];
    let of_pipes = ["fma", "chain", "stream"];
    for name in of_images.into_iter().chain(of_layers).chain(of_pipes) {
        rates.insert(name.to_owned(), layer(from, name, gap)?);
    }
    rates.insert("input_gradient".to_owned(), input_gradient(from, gap));
    // A device without tensor cores of this kind has a profile too.
    if from.raw.median("tensor_full_blocks").is_ok() {
        rates.insert("tensor".to_owned(), layer(from, "tensor", gap)?);
    }
    Ok(rates)
}

/// The rate of `dense_input_gradient`.
fn input_gradient(from: &From<'_>, gap: f64) -> Rate {
    layer(from, "input_gradient", gap).unwrap_or_else(|_| {
        let what = "as on an H200: it was not measured here";
        let [units_per_us_warp, units_per_us_multiprocessor, fixed_ns, block_ns] =
            INPUT_GRADIENT_ON_H200.map(|it| from.figure("assumed", it, what));
        let wait_ns = from.figure("derived", 0.0, "it is contained in the rate");
        Rate { units_per_us_warp, units_per_us_multiprocessor, fixed_ns, block_ns, wait_ns }
    })
}

/// The rate of a kernel of a network: from grids of one block on each multiprocessor, and of as
/// many as it holds, whose blocks do less and more. `gap` is that between kernels.
fn layer(from: &From<'_>, name: &str, gap: f64) -> Result<Rate> {
    /// Of a block of these kernels: one for each scheduler of a multiprocessor.
    const WARPS: f64 = 4.0;
    let alone = from.line(&format!("{name}_alone_period_ns"), |_| true)?;
    let full = from.line(&format!("{name}_full_period_ns"), |_| true)?;
    let blocks = from.median(&format!("{name}_full_blocks"))?;
    let throughput = blocks * 1000.0 / full.slope;
    // What blocks take beside their work, and what a kernel takes however many it has.
    let block = ((full.intercept - alone.intercept) / (blocks - 1.0)).max(0.0);
    let fixed = alone.intercept - gap - block;
    let full_key = format!("{name}_full_period_ns");
    let alone_key = format!("{name}_alone_period_ns");
    Ok(Rate {
        units_per_us_warp: from.measured_then(
            (1000.0 / alone.slope).min(throughput) / WARPS,
            &format!("{alone_key}: the slope of one block of 4 warps on each multiprocessor"),
        ),
        units_per_us_multiprocessor: from.measured_then(
            throughput,
            &format!("{full_key}: the slope of {blocks} blocks on each multiprocessor"),
        ),
        fixed_ns: from.measured_then(
            fixed,
            &format!("{alone_key}: the rest of that line, less the gap and block_ns"),
        ),
        block_ns: from.measured_then(
            block,
            &format!(
                "{full_key}, {alone_key}: what the rest of the line is longer with each block"
            ),
        ),
        wait_ns: from.figure("derived", 0.0, "it is contained in the rate"),
    })
}

fn gaps(from: &From<'_>, parts: &Parts) -> Result<Gaps> {
    let Parts { kernel, up, down, told_by, .. } = *parts;
    let less = |what: &str| format!("{what}; {told_by}");
    let copy = from.mean(&["h2d_period_ns", "d2h_period_ns"])? - f64::midpoint(up, down);
    let runs = from.line("graph_run_ns", |nodes| nodes >= GRAPH_NODES)?;
    let crossing = || -> Result<Figure> {
        let copies = from.median("large_h2d_period_ns")? + from.median("large_d2h_period_ns")?;
        Ok(from.measured_then(
            (from.median("large_h2d_kernel_d2h_period_ns")? - (copies - 2.0 * copy) - kernel) / 3.0,
            &less("large_h2d_kernel_d2h_period_ns: up, kernel, down in a row, copies of 2 MiB, a third"),
        ))
    };
    let crossing_ns = crossing().unwrap_or_else(|_| {
        from.figure("assumed", CROSSING_ON_H200, "as on an H200: it was not measured here")
    });
    let crossing = crossing_ns.value as f64;
    Ok(Gaps {
        kernel_ns: from.measured(
            from.median("kernel_period_ns")? - kernel,
            &less("kernel_period_ns: from one empty kernel to the next"),
        ),
        graph_kernel_ns: from.measured(
            runs.slope - kernel,
            &less("graph_run_ns: each kernel more in a graph of 20 to 200 in a row"),
        ),
        graph_saved_ns: from.measured(
            kernel - runs.slope,
            &less("graph_run_ns: what each kernel more in a graph takes less than an empty kernel's own time"),
        ),
        copy_ns: from.measured(
            copy,
            &less("h2d_period_ns, d2h_period_ns: copies of 4 KiB in a row, the mean"),
        ),
        crossing_ns,
        release_ns: from.measured_then(
            from.median("freed_kernel_period_ns")? - from.median("kernel_period_ns")?,
            "freed_kernel_period_ns less kernel_period_ns: kernels in a row, with memory allocated before each and \
             freed after it, both in the stream",
        ),
        function_wake_ns: from.measured_then(
            from.median("function_after_kernel_period_ns")?
                - from.median("long_kernel_period_ns")?
                - (2.0 * crossing - (from.median("kernel_period_ns")? - kernel))
                - (from.median("host_function_period_ns")? - copy),
            "function_after_kernel_period_ns less long_kernel_period_ns, the crossings and its own time: a host \
             function after each of several kernels of 40 µs",
        ),
        submit_ns: from.measured(
            parts.submit,
            &less(
                "kernel_to_query_ns and those of 4 KiB up and down, the mean, less call, own time \
                 and query",
            ),
        ),
    })
}
