//! The report as Markdown: what people read, made from what is kept.

use std::fmt::Write as _;

use super::order::Agreement;
use super::{
    CLOSE_GOAL, CallCost, EFFICIENCY_GOAL, Ends, Fidelity, LONG_NS, MAKESPAN_GOAL, Overhead, Row,
    Sum, TRACING_GOAL, Verdict, Visit, median, sorted,
};
use crate::draw::duration;

impl Fidelity {
    /// The report.
    pub fn markdown(&self) -> String {
        let rows = self.rows();
        let mut text = format!(
            "# {}: predicted and measured\n\nMade by `checker dev measure`; nothing here is typed. The \
             simulated device has the profile `{}`, whose figures come from micro-benchmarks alone.\n\n",
            self.device, self.profile
        );
        text.push_str(
            "| exercise | program | predicted | measured | off by | efficiency, predicted and measured | \
             order on one engine, between two | verdict |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | \
             --- |\n",
        );
        for row in &rows {
            _ = writeln!(text, "{}", line(row));
        }
        text.push_str(&legend(&rows));
        text.push_str(&misses(&rows));
        text.push_str(&overhead(&self.visits));
        text.push_str("\n## Visits\n\n");
        if self.visits.is_empty() {
            text.push_str("None yet.\n");
        }
        for visit in &self.visits {
            let Visit { date, host, cores, command, .. } = visit;
            let host = match host.as_str() {
                "" => "a host that was not noted".to_owned(),
                host => format!("{host} ({cores} threads)"),
            };
            let programs = visit.programs.len();
            _ = writeln!(
                text,
                "- {date}: {}, {host}, {programs} programs: `{command}`",
                driver(visit)
            );
            for measured in &visit.programs {
                if let Some(failure) = &measured.failure {
                    let (exercise, program) = (&measured.exercise, &measured.program);
                    _ = writeln!(text, "  - `{exercise}` {program}: {failure}");
                }
            }
        }
        text
    }
}

impl Visit {
    /// Driver and CUDA version, in words.
    pub fn release(&self) -> String {
        driver(self)
    }
}

fn driver(visit: &Visit) -> String {
    let (major, minor) = (visit.cuda / 1000, visit.cuda % 1000 / 10);
    match visit.driver.as_str() {
        "" => format!("CUDA {major}.{minor}"),
        release => format!("driver {release} (CUDA {major}.{minor})"),
    }
}

fn line(row: &Row<'_>) -> String {
    let predicted = row.predicted;
    let efficiency =
        |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{:.1} %", it * 100.0));
    let simulated = duration(predicted.makespan_ns);
    let (measured, off, efficiencies, order) = match &row.measured {
        None => ("–".to_owned(), "–".to_owned(), efficiency(row.efficiency), "–".to_owned()),
        Some(seen) => {
            let range = match seen.runs {
                1 => String::new(),
                runs => format!(
                    " ({} to {}, {runs} runs)",
                    duration(seen.least_ns),
                    duration(seen.most_ns)
                ),
            };
            (
                format!("{}{range}", duration(seen.makespan_ns)),
                row.error().map_or("–".to_owned(), |error| format!("{:+.1} %", error * 100.0)),
                format!("{}, {}", efficiency(row.efficiency), efficiency(seen.efficiency)),
                seen.order.map_or("–".to_owned(), |order| {
                    format!("{}, {}", agreement(order.engine), agreement(order.across))
                }),
            )
        }
    };
    let mark = if predicted.ends == Ends::Program { "*" } else { "" };
    let (exercise, program) = (&predicted.exercise, &predicted.program);
    format!(
        "| `{exercise}` | {program} | {simulated} | {measured} | {off} | {efficiencies}{mark} | {order} | {} |",
        verdict(row)
    )
}

fn agreement(agreement: Agreement) -> String {
    // Rounded down, so that only all is shown as all.
    let down = |share: f64| format!("{:.1} %", (share * 1000.0).floor() / 10.0);
    agreement.share().map_or("–".to_owned(), down)
}

/// A verdict in words.
pub fn verdict(row: &Row<'_>) -> &'static str {
    match (row.verdict(), row.predicted.misses.is_some()) {
        (Verdict::Unmeasured, _) => "not measured",
        (Verdict::Met, _) => "met",
        (Verdict::Makespan, true) => "missed: makespan (known)",
        (Verdict::Makespan, false) => "missed: makespan",
        (Verdict::Efficiency, true) => "missed: efficiency (known)",
        (Verdict::Efficiency, false) => "missed: efficiency",
    }
}

fn legend(rows: &[Row<'_>]) -> String {
    let sum = Sum::of(rows);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let of = sum.measured;
    let thirds = if sum.close_enough() { "met" } else { "missed" };
    format!(
        "\n| goal | programs |\n| --- | --- |\n\
         | makespan off by at most {}, or the GPU's own spread | {} of {of} |\n\
         | overlap efficiency off by at most {} of the scale, or the GPU's own spread | {} of {of} |\n\
         | both | {} of {of} |\n\
         | makespan off by at most {}, for two thirds of the programs | {} of {of}: {thirds} |\n\n\
         *Measured* is the median of untraced runs. *The GPU's own spread* is the largest distance of a run \
         from it, where of each visit a tenth of its runs is left out at either end. *Order* is the share of pairs of operations that ran in \
         the same order on both, among those that were in order on both. \\* Such a program has no task: the \
         ends of its scale are what the copies of each direction and the kernels that it asks for take alone, \
         simulated and measured.\n",
        percent(MAKESPAN_GOAL),
        sum.makespan,
        percent(EFFICIENCY_GOAL),
        sum.efficiency,
        sum.met,
        percent(CLOSE_GOAL),
        sum.close,
    )
}

fn misses(rows: &[Row<'_>]) -> String {
    let known: Vec<_> =
        rows.iter().filter_map(|row| Some((row, row.predicted.misses.as_ref()?))).collect();
    if known.is_empty() {
        return String::new();
    }
    let mut text = "\n## Known misses\n\n".to_owned();
    for (row, why) in known {
        let (exercise, program) = (&row.predicted.exercise, &row.predicted.program);
        _ = writeln!(text, "- `{exercise}` {program}: {why}");
    }
    text
}

/// The cost of the library between program and driver, over all visits that measured it.
fn overhead(visits: &[Visit]) -> String {
    let of_visits: Vec<(&Visit, &Overhead)> =
        visits.iter().filter_map(|visit| Some((visit, visit.overhead.as_ref()?))).collect();
    let measured_calls = of_visits.iter().filter(|(_, overhead)| !overhead.calls.is_empty());
    let Some((newest, _)) = of_visits.last() else { return String::new() };
    let mut text = format!(
        "\n## What the library costs\n\nBetween a program and the driver, in {} visits up to {} ({}): \
         the middle one, and in brackets the least and the most.\n\n\
         | call | the driver's own | added | added on average |\n| --- | ---: | ---: | ---: |\n",
        measured_calls.count(),
        newest.date,
        driver(newest)
    );
    let mut names: Vec<&str> = Vec::new();
    for cost in of_visits.iter().flat_map(|(_, overhead)| &overhead.calls) {
        if !names.contains(&cost.call.as_str()) {
            names.push(&cost.call);
        }
    }
    for name in names {
        let costs = of_visits.iter().flat_map(|(_, overhead)| &overhead.calls);
        let costs: Vec<&CallCost> = costs.filter(|cost| cost.call == name).collect();
        let range = |of: fn(&CallCost) -> f64| {
            middle_and_ends(costs.iter().map(|cost| of(cost)).collect(), |ns| format!("{ns:+.0}"))
        };
        let own = median(&costs.iter().map(|cost| cost.direct_ns).collect::<Vec<_>>());
        _ = writeln!(
            text,
            "| {name} | {:.0} ns | {} ns | {} ns |",
            own.unwrap_or(0.0),
            range(|cost| cost.through_ns - cost.direct_ns),
            range(|cost| cost.mean_added_ns),
        );
    }
    let traced = |(_, overhead): &(&Visit, &Overhead)| {
        let (without, with) = (median(&overhead.untraced_ns)?, median(&overhead.traced_ns)?);
        Some((with as f64 / without as f64 - 1.0) * 100.0)
    };
    let shares: Vec<f64> = of_visits.iter().filter_map(traced).collect();
    if !shares.is_empty() {
        let shortest = of_visits.iter().map(|(_, overhead)| overhead.shortest_ns).min();
        _ = writeln!(
            text,
            "\nCUPTI adds, in {} visits, {} % to a pipeline whose shortest operation lasts {}. The goal is \
             {:.0} % where operations last {} or more.",
            shares.len(),
            middle_and_ends(shares, |share| format!("{share:+.1}")),
            duration(shortest.unwrap_or(0)),
            TRACING_GOAL * 100.0,
            duration(LONG_NS)
        );
    }
    text
}

/// The middle one of some values, and the least and the most if there are several.
fn middle_and_ends(values: Vec<f64>, show: impl Fn(f64) -> String) -> String {
    let values = sorted(&values);
    match (values.first(), median(&values), values.last()) {
        (Some(least), Some(middle), Some(most)) if values.len() > 1 => {
            format!("{} ({} to {})", show(middle), show(*least), show(*most))
        }
        (_, Some(middle), _) => show(middle),
        _ => "–".to_owned(),
    }
}
