//! The report as Markdown: what people read, made from what is kept.

use std::fmt::Write as _;

use super::order::Agreement;
use super::{
    CLOSE_GOAL, EFFICIENCY_GOAL, Ends, Fidelity, LONG_NS, MAKESPAN_GOAL, Overhead, Row, Sum,
    TRACING_GOAL, Verdict, Visit, median,
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
        for visit in self.visits.iter().filter(|visit| visit.overhead.is_some()) {
            text.push_str(&overhead(visit));
        }
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
    let efficiency = |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{it:.3}"));
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
         | overlap efficiency off by at most {EFFICIENCY_GOAL}, or the GPU's own spread | {} of {of} |\n\
         | both | {} of {of} |\n\
         | makespan off by at most {}, for two thirds of the programs | {} of {of}: {thirds} |\n\n\
         *Measured* is the median of untraced runs. *Order* is the share of pairs of operations that ran in \
         the same order on both, among those that were in order on both. \\* Such a program has no task: the \
         ends of its scale are what the copies of each direction and the kernels that it asks for take alone, \
         simulated and measured.\n",
        percent(MAKESPAN_GOAL),
        sum.makespan,
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

fn overhead(visit: &Visit) -> String {
    let Some(Overhead { calls, untraced_ns, traced_ns, shortest_ns }) = &visit.overhead else {
        return String::new();
    };
    let mut text = format!(
        "\n## What the library costs ({}, {})\n\n| call | the driver's own | through the library | added \
         | on average |\n| --- | ---: | ---: | ---: | ---: |\n",
        visit.date,
        driver(visit)
    );
    for cost in calls {
        _ = writeln!(
            text,
            "| {} | {:.0} ns | {:.0} ns | {:+.0} ns | {:+.0} ns |",
            cost.call,
            cost.direct_ns,
            cost.through_ns,
            cost.through_ns - cost.direct_ns,
            cost.mean_added_ns
        );
    }
    if let (Some(without), Some(with)) = (median(untraced_ns), median(traced_ns)) {
        let share = with as f64 / without as f64 - 1.0;
        _ = writeln!(
            text,
            "\nA pipeline whose shortest operation lasts {} takes {} without tracing and {} with CUPTI: \
             {:+.1} %. The goal is {:.0} % where operations last {} or more.",
            duration(*shortest_ns),
            duration(without),
            duration(with),
            share * 100.0,
            TRACING_GOAL * 100.0,
            duration(LONG_NS)
        );
    }
    text
}
