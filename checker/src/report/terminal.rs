//! The report as text.

use std::fmt::Write as _;

use trace::draw::{self, Findings, Lanes, Layout, Panel, duration};

use crate::grade::score::{MARGIN, REACH, RULE, shown};
use crate::grade::{Gate, Verdict};
use crate::print::Style;
use crate::report::{Chart, Exhibit, Report, Where, cause, hazard};

/// The report and what belongs to it, as lines of at most `columns` columns where the width is ours
/// to choose.
pub fn text(report: &Report, exhibit: &Exhibit, columns: usize, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&headline(report)));
    if !exhibit.output.is_empty() {
        text.push_str("\nthe program printed:\n");
        for line in exhibit.output.lines() {
            _ = writeln!(text, "{}", format!("  {line}").trim_end());
        }
    }
    if !exhibit.charts.is_empty() {
        let style = match style {
            Style::Plain => draw::Style::Plain,
            Style::Colour => draw::Style::Colour,
        };
        text.push('\n');
        text.push_str(&draw::terminal(&layout(&exhibit.charts), columns, style));
    }
    let numbers = numbers(report);
    if !numbers.is_empty() {
        text.push('\n');
        for (name, value) in numbers {
            _ = writeln!(text, "{name:<NAME$}{value}");
        }
    }
    // Whoever has asked for a witness knows how.
    let play = exhibit.play.as_deref().filter(|_| report.witness.is_none());
    text.push_str(&hazard::text(&report.hazards, &exhibit.names, &exhibit.sources, play, style));
    if let Some(witness) = &report.witness {
        text.push_str(&hazard::witness(witness, style));
    }
    let elsewhere = match &report.device {
        Some(Where::Gpu { .. }) => report.advised_on.as_deref(),
        _ => None,
    };
    if let Some(feedback) = exhibit.feedback {
        text.push_str(&cause::text(&report.advised, feedback, elsewhere, &exhibit.sources, style));
    }
    for note in &report.notes {
        _ = writeln!(text, "\nnote: {note}");
    }
    _ = writeln!(text, "\n{}", verdict(report, style));
    if let Some(next) = &exhibit.next {
        _ = writeln!(text, "\nnext: {next}");
    }
    text
}

/// Columns of the numbers' names.
const NAME: usize = 19;

/// Lanes that one chart may have before streams are more than anyone can follow.
const MOST_STREAMS: usize = 8;

/// The drawing of `charts`, one below the other on one axis.
pub fn layout(charts: &[Chart]) -> Layout {
    let panels: Vec<Panel<'_>> = charts
        .iter()
        .map(|chart| Panel {
            title: &chart.title,
            timeline: &chart.timeline,
            program: Some(&chart.program),
        })
        .collect();
    let findings: Vec<Findings<'_>> = charts
        .iter()
        .map(|chart| Findings { hazards: &chart.hazards, causes: &chart.causes })
        .collect();
    let by_stream = Layout::with_findings(&panels, Lanes::Streams, &findings);
    let host = 1;
    if by_stream.charts.iter().all(|chart| chart.lanes.len() <= MOST_STREAMS + host) {
        return by_stream;
    }
    Layout::with_findings(&panels, Lanes::Engines, &findings)
}

fn headline(report: &Report) -> String {
    let mut parts = Vec::new();
    parts.extend(report.exercise.clone());
    parts.extend(report.role.as_ref().map(ToString::to_string));
    parts.extend(report.device.as_ref().map(|device| match device {
        Where::Simulated { profile, schedule: None } => format!("simulated {profile}"),
        Where::Simulated { profile, schedule: Some(schedule) } => {
            format!("simulated {profile}, schedule {schedule}")
        }
        Where::Gpu { name } => name.clone().unwrap_or_else(|| "GPU".to_owned()),
    }));
    parts.join(" · ")
}

/// The floor, beside a makespan that may lie below it where work was left out or was not yet done.
fn floor(floor_ns: u64, makespan_ns: Option<u64>) -> String {
    let all = match makespan_ns {
        Some(makespan_ns) if makespan_ns < floor_ns => " that does all the work",
        _ => "",
    };
    format!("{}, no schedule{all} is shorter", duration(floor_ns))
}

fn numbers(report: &Report) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(makespan_ns) = report.makespan_ns {
        lines.push(("makespan", duration(makespan_ns)));
    }
    if let Some(prediction) = &report.prediction {
        lines.push(("your prediction", prediction.to_string()));
    }
    if let Some(bounds) = report.bounds {
        lines.push(("floor", floor(bounds.floor_ns, report.makespan_ns)));
        lines.push((
            "serial",
            format!("{}, each engine's work alone, added up", duration(bounds.serial_ns)),
        ));
    }
    if let Some(hidden) = report.hidden_fraction {
        lines.push(("hidden copies", format!("{:.0} %", 100.0 * hidden)));
    }
    // A region that ended before its work did has a makespan that says nothing about overlap.
    let is_whole = report.gate != Some(Gate::Idle);
    if let (true, Some(value), Some(_)) = (is_whole, report.overlap_efficiency(), report.bounds) {
        let formula = "(serial - makespan) / (serial - floor)";
        lines.push(("overlap efficiency", format!("{value:.3} = {formula}")));
    }
    if let (true, Some(value), Some(bounds)) = (is_whole, report.host_freedom(), report.bounds) {
        lines.push(("host work", format!("{}, the host's own", duration(bounds.host_ns))));
        lines.push(("host freedom", format!("{value:.3} = host work / makespan")));
    }
    if let (Some(score), Some(value), Some(standard)) =
        (report.score.filter(|_| report.gate.is_none()), report.metric_value, report.standard)
    {
        let interval = report
            .measured
            .map(|m| format!(", between {} and {}", shown(m.low), shown(m.high)))
            .unwrap_or_default();
        let points =
            format!("{} of 100{interval} (rule {RULE}, kept within 0 and 100)", shown(score));
        lines.push(("score", points));
        let (base, delta) = (standard.baseline(), standard.delta());
        let formula = format!(
            "100 x ({value:.3} - {base:.3} - {MARGIN} x {delta:.3}) / ({REACH} x {delta:.3})"
        );
        lines.push(("", format!("= {}", formula.replace("- -", "+ "))));
        let ends = format!("baseline {base:.3}, reference {:.3}", standard.reference());
        lines.push(("", ends));
    }
    lines
}

fn verdict(report: &Report, style: Style) -> String {
    let Some(verdict) = report.verdict else { return report.message.clone() };
    let word = match verdict {
        Verdict::Passed => style.good("passed"),
        Verdict::Failed | Verdict::Rejected => style.bad(&verdict.to_string()),
        Verdict::Inconclusive | Verdict::Error => style.unsure(&verdict.to_string()),
    };
    let gate = report.gate.map(|gate| format!("gate `{gate}`: ")).unwrap_or_default();
    format!("{word}: {gate}{}", report.message)
}
