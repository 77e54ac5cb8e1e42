//! A program's row in the report.

use super::{
    CLOSE_GOAL, CLOSE_SHARE, EFFICIENCY_GOAL, Ends, Fidelity, LONG_NS, MAKESPAN_GOAL, Measured,
    Order, Predicted, median, sorted,
};

/// Predicted against measured, for one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// The prediction.
    pub predicted: &'a Predicted,
    /// The predicted overlap efficiency; none where there is nothing to overlap.
    pub efficiency: Option<f64>,
    /// The measurement; none where there is none.
    pub measured: Option<Seen>,
    /// Why a visit gave nothing.
    pub failures: Vec<&'a str>,
}

/// All runs on the GPU together.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Runs without tracing.
    pub runs: usize,
    /// Visits that they come from.
    pub visits: usize,
    /// The median makespan, in ns.
    pub makespan_ns: u64,
    /// The shortest, in ns.
    pub least_ns: u64,
    /// The longest, in ns.
    pub most_ns: u64,
    /// The GPU's own spread, in ns.
    pub spread_ns: u64,
    /// The median overlap efficiency.
    pub efficiency: Option<f64>,
    /// The GPU's own spread in it.
    pub efficiency_spread: Option<f64>,
    /// Agreement of the order of operations, in the last visit that saw them.
    pub order: Option<Order>,
    /// The cost of tracing, as a share of the makespan, in the last visit that saw the operations.
    /// Only where all of them are long.
    pub tracing: Option<f64>,
}

/// Whether the goals are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both.
    Met,
    /// The makespan is too far off.
    Makespan,
    /// The makespan is not, but the overlap efficiency is.
    Efficiency,
    /// It was not measured.
    Unmeasured,
}

/// All rows together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Programs that were measured.
    pub measured: usize,
    /// Those whose makespan is off by no more than the goal.
    pub makespan: usize,
    /// Those whose overlap efficiency is.
    pub efficiency: usize,
    /// Those that meet both goals.
    pub met: usize,
    /// Those whose makespan is close.
    pub close: usize,
}

impl Sum {
    /// Counts rows.
    pub fn of(rows: &[Row<'_>]) -> Self {
        let mut sum = Self::default();
        for row in rows.iter().filter(|row| row.measured.is_some()) {
            sum.measured += 1;
            sum.makespan += usize::from(row.makespan_holds() == Some(true));
            sum.efficiency += usize::from(row.efficiency_holds() != Some(false));
            sum.met += usize::from(row.verdict() == Verdict::Met);
            sum.close += usize::from(row.is_close() == Some(true));
        }
        sum
    }

    /// Whether enough makespans are close.
    pub fn close_enough(self) -> bool {
        self.close as f64 >= CLOSE_SHARE * self.measured as f64
    }
}

impl<'a> Row<'a> {
    pub(super) fn new(kept: &'a Fidelity, predicted: &'a Predicted) -> Self {
        // Where the task is about requests, how much of its work overlaps is no matter.
        let overlaps = predicted.bounds.request_ns == 0;
        let efficiency = predicted.bounds.overlap_efficiency(predicted.makespan_ns);
        let efficiency = efficiency.filter(|_| overlaps);
        let of = || kept.measured(&predicted.exercise, &predicted.program);
        let failures = of().filter_map(|(_, measured)| measured.failure.as_deref()).collect();
        let (mut makespans, mut efficiencies, mut tracing) = (Vec::new(), Vec::new(), Vec::new());
        let (mut visits, mut order) = (0, None::<Order>);
        for (visit, measured) in of() {
            visits += usize::from(!measured.makespans_ns.is_empty());
            makespans.push(measured.makespans_ns.iter().map(|ns| *ns as f64).collect::<Vec<_>>());
            let bounds = match predicted.ends {
                // A task has one scale, whichever program does it: that of the program that defines
                // 0.
                Ends::Task => {
                    let baseline = |it: &&Measured| {
                        it.exercise == predicted.exercise && it.program == "baseline"
                    };
                    visit.programs.iter().find(baseline).unwrap_or(measured).bounds
                }
                Ends::Program => measured.bounds.or(Some(predicted.bounds)),
            };
            let efficiency = |ns: &u64| bounds.filter(|_| overlaps)?.overlap_efficiency(*ns);
            efficiencies
                .push(measured.makespans_ns.iter().filter_map(efficiency).collect::<Vec<_>>());
            if let Some(more) = measured.order {
                let order = order.get_or_insert_default();
                order.engine.pairs += more.engine.pairs;
                order.engine.same += more.engine.same;
                order.across.pairs += more.across.pairs;
                order.across.same += more.across.same;
            }
            let shortest = measured.operations.as_ref().and_then(|it| it.shortest_ns());
            if shortest.is_some_and(|ns| ns >= LONG_NS)
                && let (Some(with), Some(without)) =
                    (median(&measured.traced_ns), median(&measured.makespans_ns))
            {
                tracing.push(with as f64 / without as f64 - 1.0);
            }
        }
        let all = sorted(&makespans.concat());
        let efficiency_seen = median(&efficiencies.concat());
        let measured = median(&all).map(|makespan_ns| Seen {
            runs: all.len(),
            visits,
            makespan_ns: makespan_ns as u64,
            least_ns: all.first().map_or(0, |ns| *ns as u64),
            most_ns: all.last().map_or(0, |ns| *ns as u64),
            spread_ns: spread(&makespans) as u64,
            efficiency: efficiency_seen,
            efficiency_spread: efficiency_seen.map(|_| spread(&efficiencies)),
            order,
            tracing: median(&tracing),
        });
        Self { predicted, efficiency, measured, failures }
    }

    /// The predicted makespan less the measured one, as a share of that.
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured.as_ref()?.makespan_ns as f64;
        Some(self.predicted.makespan_ns as f64 / measured - 1.0)
    }

    /// Whether the makespan is off by no more than the goal.
    pub fn makespan_holds(&self) -> Option<bool> {
        let seen = self.measured.as_ref()?;
        let measured = seen.makespan_ns as f64;
        let off = (self.predicted.makespan_ns as f64 - measured).abs();
        Some(off <= (MAKESPAN_GOAL * measured).max(seen.spread_ns as f64))
    }

    /// Whether the makespan is close.
    pub fn is_close(&self) -> Option<bool> {
        self.error().map(|error| error.abs() <= CLOSE_GOAL)
    }

    /// Whether the overlap efficiency is off by no more than the goal.
    pub fn efficiency_holds(&self) -> Option<bool> {
        let seen = self.measured.as_ref()?;
        let off = (self.efficiency? - seen.efficiency?).abs();
        Some(off <= EFFICIENCY_GOAL.max(seen.efficiency_spread?))
    }

    /// Whether the goals are met.
    pub fn verdict(&self) -> Verdict {
        match (self.makespan_holds(), self.efficiency_holds()) {
            (None, _) => Verdict::Unmeasured,
            (Some(false), _) => Verdict::Makespan,
            (Some(true), Some(false)) => Verdict::Efficiency,
            (Some(true), _) => Verdict::Met,
        }
    }
}

/// The largest distance from the middle of all values. Of each visit a tenth of its values at
/// either end is left out, one at the least from five values on: a run that was disturbed is no
/// spread, another machine is.
fn spread(visits: &[Vec<f64>]) -> f64 {
    let Some(middle) = median(&visits.concat()) else { return 0.0 };
    let distance = |values: &Vec<f64>| {
        let sorted = sorted(values);
        let left_out = if sorted.len() >= 5 { sorted.len().div_ceil(10) } else { 0 };
        let kept = &sorted[left_out..sorted.len() - left_out];
        let (first, last) = (kept.first()?, kept.last()?);
        Some((middle - first).max(last - middle))
    };
    visits.iter().filter_map(distance).fold(0.0, f64::max)
}
