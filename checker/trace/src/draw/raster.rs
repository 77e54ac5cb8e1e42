//! Many bars seen through few cells: what a cell of a terminal or half a pixel shows.

use std::collections::BTreeMap;

use crate::draw::Mark;
use crate::draw::layout::Bar;

/// Cells next to each other that show the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The mark that covers most of each of them.
    pub mark: Mark,
    /// First cell.
    pub first: usize,
    /// First cell after it.
    pub end: usize,
    /// How many bars of the mark begin in it.
    pub bars: u64,
    /// How long bars of the mark last in it, in ns.
    pub busy_ns: u64,
}

/// The bars of a row, seen through `cells` cells of equal width over an axis of `axis_ns`. A cell
/// shows the mark that covers most of it; one that is covered only in part still shows it. Cells
/// in no run are empty.
pub fn raster(bars: &[Bar], axis_ns: u64, cells: usize) -> Vec<Run> {
    // Lengths are counted in units of 1/cells ns, in which bars and cells both begin at integers.
    let (axis, width) = (u128::from(axis_ns.max(1)), cells as u128);
    let mut cover = vec![[0_u128; Mark::ALL.len()]; cells];
    let mut begun = vec![[0_u64; Mark::ALL.len()]; cells];
    for bar in bars {
        // A bar of no length is drawn as if it took one ns: it did happen.
        let start = u128::from(bar.start_ns).min(axis - 1) * width;
        let end = u128::from(bar.end_ns).min(axis) * width;
        let end = end.max(start + width);
        let mark = bar.mark as usize;
        begun[(start / axis) as usize][mark] += 1;
        for cell in start / axis..=(end - 1) / axis {
            let inside = end.min((cell + 1) * axis) - start.max(cell * axis);
            cover[cell as usize][mark] += inside;
        }
    }

    let mut runs: Vec<Run> = Vec::new();
    let mut run_cover = 0;
    for cell in 0..cells {
        let covers = &cover[cell];
        // The first of equals, so that the order of the bars does not matter.
        let Some(mark) = Mark::ALL
            .into_iter()
            .rev()
            .max_by_key(|&mark| covers[mark as usize])
            .filter(|&mark| covers[mark as usize] > 0)
        else {
            continue;
        };
        let (bars, inside) = (begun[cell][mark as usize], covers[mark as usize]);
        match runs.last_mut() {
            Some(run) if run.mark == mark && run.end == cell => {
                run.end += 1;
                run.bars += bars;
                run_cover += inside;
                run.busy_ns = (run_cover / width) as u64;
            }
            _ => {
                run_cover = inside;
                let busy_ns = (inside / width) as u64;
                runs.push(Run { mark, first: cell, end: cell + 1, bars, busy_ns });
            }
        }
    }
    runs
}

/// The same, with each run cut where what covers most of it comes from another place in the source.
pub fn raster_by_site(bars: &[Bar], axis_ns: u64, cells: usize) -> Vec<(Run, Option<u32>)> {
    let (axis, width) = (u128::from(axis_ns.max(1)), cells as u128);
    let mut cover: BTreeMap<(usize, Mark), BTreeMap<Option<u32>, u128>> = BTreeMap::new();
    let mut begun: BTreeMap<(usize, Mark, Option<u32>), u64> = BTreeMap::new();
    for bar in bars {
        let start = u128::from(bar.start_ns).min(axis - 1) * width;
        let end = (u128::from(bar.end_ns).min(axis) * width).max(start + width);
        *begun.entry(((start / axis) as usize, bar.mark, bar.site)).or_default() += 1;
        for cell in start / axis..=(end - 1) / axis {
            let inside = end.min((cell + 1) * axis) - start.max(cell * axis);
            let sites = cover.entry((cell as usize, bar.mark)).or_default();
            *sites.entry(bar.site).or_default() += inside;
        }
    }
    let mut cut: Vec<(Run, Option<u32>)> = Vec::new();
    let mut run_cover = 0;
    for run in raster(bars, axis_ns, cells) {
        for cell in run.first..run.end {
            let sites = cover.get(&(cell, run.mark)).into_iter().flatten();
            // The first of equals.
            let Some((&site, &inside)) = sites.rev().max_by_key(|&(_, &inside)| inside) else {
                continue;
            };
            let bars = begun.get(&(cell, run.mark, site)).copied().unwrap_or_default();
            match cut.last_mut() {
                Some((last, of)) if last.end == cell && cell > run.first && *of == site => {
                    run_cover += inside;
                    last.end += 1;
                    last.bars += bars;
                    last.busy_ns = (run_cover / width) as u64;
                }
                _ => {
                    run_cover = inside;
                    let busy_ns = (inside / width) as u64;
                    let run = Run { first: cell, end: cell + 1, bars, busy_ns, ..run };
                    cut.push((run, site));
                }
            }
        }
    }
    cut
}
