//! The report as text.

use std::fmt::Write as _;

use trace::draw::{self, Findings, Lanes, Layout, Panel, duration, size};

use crate::exercise::Metric;
use crate::grade::score::{MARGIN, REACH, RULE, shown};
use crate::grade::{Gate, Verdict};
use crate::print::Style;
use crate::report::{Chart, Presentation, Report, Role, Where, cause, change, hazard};

/// The report and what belongs to it, as lines of at most `columns` columns where the width is ours
/// to choose.
pub fn text(report: &Report, presentation: &Presentation, columns: usize, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&headline(report)));
    text.push_str(&printed(presentation));
    if !presentation.charts.is_empty() {
        let style = match style {
            Style::Plain => draw::Style::Plain,
            Style::Colour => draw::Style::Colour,
        };
        text.push('\n');
        text.push_str(&draw::terminal(&layout(&presentation.charts), columns, style));
    }
    text + &words(report, presentation, style)
}

/// The same as a page that stands alone.
pub fn page(report: &Report, presentation: &Presentation) -> String {
    let layout = (!presentation.charts.is_empty()).then(|| layout(&presentation.charts));
    let words = printed(presentation) + &words(report, presentation, Style::Plain);
    viewer::alone::run(&headline(report), layout.as_ref(), &words)
}

/// The output of the program.
fn printed(presentation: &Presentation) -> String {
    let mut text = String::new();
    if !presentation.output.is_empty() {
        text.push_str("\nthe program printed:\n");
        for line in presentation.output.lines() {
            _ = writeln!(text, "{}", format!("  {line}").trim_end());
        }
    }
    text
}

/// All that is said below the drawing.
fn words(report: &Report, presentation: &Presentation, style: Style) -> String {
    let mut text = String::new();
    let numbers = numbers(report);
    if !numbers.is_empty() {
        text.push('\n');
        for (name, value) in numbers {
            _ = writeln!(text, "{name:<NAME$}{value}");
        }
    }
    if presentation.explains_score {
        text.push_str("\nhow the score comes about:\n");
        formula(report).iter().for_each(|line| _ = writeln!(text, "  {line}"));
    }
    // A student who had a witness played knows how.
    let play = presentation.play.as_deref().filter(|_| report.witness.is_none());
    text.push_str(&hazard::text(
        &report.hazards,
        &presentation.names,
        &presentation.sources,
        play,
        style,
    ));
    if let Some(witness) = &report.witness {
        text.push_str(&hazard::witness(witness, style));
    }
    let elsewhere = match &report.device {
        Some(Where::Gpu { .. }) => report.advised_on.as_deref(),
        _ => None,
    };
    if let Some(feedback) = presentation.feedback {
        text.push_str(&cause::text(
            &report.advised,
            feedback,
            elsewhere,
            &presentation.sources,
            style,
        ));
    }
    for note in &report.notes {
        _ = writeln!(text, "\nnote: {note}");
    }
    _ = writeln!(text, "\n{}", verdict(report, style));
    if let Some(next) = &presentation.next {
        _ = writeln!(text, "\nnext: {next}");
    }
    text
}

/// Columns of the numbers' names.
const NAME: usize = 21;

/// Rows that one chart may have before streams are more than anyone can follow.
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
    let mut layout = Layout::with_findings(&panels, Lanes::Engines, &findings);
    let is_by_stream = |index: &usize| charts[*index].lanes == Lanes::Streams;
    let mut wanted = (0..charts.len()).filter(is_by_stream).map(|index| &by_stream.charts[index]);
    if wanted.all(|drawn| drawn.lanes.len() <= MOST_STREAMS + host) {
        for (index, chart) in by_stream.charts.into_iter().enumerate() {
            if is_by_stream(&index) {
                layout.charts[index] = chart;
            }
        }
    }
    layout
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

/// The lower bound, beside a makespan that may be shorter where work was left out or was not yet
/// done.
fn bound(floor_ns: u64, makespan_ns: Option<u64>) -> String {
    let all = match makespan_ns {
        Some(makespan_ns) if makespan_ns < floor_ns => " that does all the work",
        _ => "",
    };
    format!("{}: no schedule{all} is shorter", duration(floor_ns))
}

fn numbers(report: &Report) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(makespan_ns) = report.makespan_ns {
        lines.push(("makespan", duration(makespan_ns)));
    }
    if let (Some(latency), Some(bounds)) = (report.latency, report.bounds) {
        let [mean, longest, alone] =
            [latency.mean_ns, latency.longest_ns, bounds.request_ns].map(duration);
        let requests = latency.answers;
        let said = format!(
            "{mean} on average of {requests} requests, {longest} at the longest; {alone} on an idle device"
        );
        lines.push(("latency", said));
    }
    if let Some(prediction) = &report.prediction {
        lines.push(("your prediction", prediction.to_string()));
    }
    if let Some(bounds) = report.bounds {
        lines.push(("lower bound", bound(bounds.floor_ns, report.makespan_ns)));
    }
    if let Some(hidden) = report.hidden_fraction {
        lines.push((
            "hidden copies",
            format!("{:.0} % of the copying, beside a kernel", 100.0 * hidden),
        ));
    }
    if let Some(memory) = report.memory {
        let peak = size(memory.peak.bytes);
        // A puzzle's program may have the task's work in other parts.
        let said = match report.role {
            Some(Role::Puzzle(_)) => format!("{peak} at its most"),
            _ => format!("{peak} at its most; the task allows {}", size(memory.budget_bytes)),
        };
        lines.push(("device memory", said));
    }
    // A region that ended before its work did has a makespan that says nothing about overlap.
    let is_whole = report.gate != Some(Gate::Idle);
    let overlaps = is_whole && report.metric != Some(Metric::LatencyRatio);
    if let (true, Some(value), Some(bounds)) =
        (overlaps, report.overlap_efficiency(), report.bounds)
    {
        let serial = format!("one engine after the other, {}", duration(bounds.serial_ns));
        let said = match value < 0.0 {
            true => format!("none: slower than {serial}"),
            false => format!("{}; 0 % is {serial}", percent(value)),
        };
        lines.push(("overlap efficiency", said));
    }
    if let (true, Some(value), Some(bounds)) = (is_whole, report.host_freedom(), report.bounds) {
        let own = duration(bounds.host_ns);
        lines.push((
            "host freedom",
            format!("{} of the makespan is the host's own work, {own}", percent(value)),
        ));
    }
    if let Some(value) = report.latency_ratio() {
        lines.push(("latency ratio", format!("{}: an idle device has 100 %", percent(value))));
    }
    lines.extend(change::lines(report));
    if !report.plan.is_empty() {
        let left = report.plan.iter().filter(|it| it.is_left).count();
        let of = report.plan.len();
        lines.push(("plan", format!("{} of {of} changes made", of - left)));
        let left = report.plan.iter().filter(|it| it.is_left);
        lines.extend(left.map(|it| ("", format!("left: {} (`{}`)", it.text, it.chapter))));
    }
    if let (Some(score), None) = (report.score, report.gate) {
        let interval = report
            .measured
            .map(|m| format!(", between {} and {}", shown(m.low), shown(m.high)))
            .unwrap_or_default();
        lines.push((
            "score",
            format!("{} of 100{interval}{}", shown(score), way(score, report.pass_score)),
        ));
    }
    lines
}

/// Cells of the way from 0 to 100 points.
const WAY: usize = 25;

/// The score on its way to 100, with the place where it passes.
fn way(score: f64, pass_score: Option<f64>) -> String {
    let Some(enough) = pass_score else { return String::new() };
    let cell = |points: f64| (points / 100.0 * WAY as f64).floor() as usize;
    let (reached, passes) = (cell(score), cell(enough));
    let way: String = (0..WAY).map(|at| if at < reached { '#' } else { '.' }).collect();
    let (before, after) = way.split_at(passes.min(WAY));
    format!("  [{before}|{after}]  {enough} passes")
}

/// A part of one, in percent: as the score's points are counted to 100.
fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// How the score comes about, for one who wants to know.
fn formula(report: &Report) -> Vec<String> {
    let (Some(value), Some(standard), Some(bounds)) =
        (report.metric_value, report.standard, report.bounds)
    else {
        return vec!["there is no score to explain: the verdict says why".to_owned()];
    };
    let serial = duration(bounds.serial_ns);
    let mut lines = match report.metric {
        Some(Metric::HostFreedom) => {
            vec![format!("host freedom = host work / makespan = {}", percent(value))]
        }
        Some(Metric::LatencyRatio) => {
            let value = percent(value);
            vec![format!("latency ratio = latency on an idle device / mean latency = {value}")]
        }
        _ => vec![
            format!("serial = {serial}, each engine's work alone, added up"),
            format!(
                "overlap efficiency = (serial - makespan) / (serial - lower bound) = {}",
                percent(value)
            ),
        ],
    };
    let [value, base, delta] = [value, standard.baseline(), standard.delta()].map(percent);
    let reference = percent(standard.reference());
    lines.push(format!("the baseline comes to {base}, the reference to {reference}"));
    let formula =
        format!("score = 100 x ({value} - {base} - {MARGIN} x {delta}) / ({REACH} x {delta})");
    lines.push(format!("{}, kept within 0 and 100", formula.replace("- -", "+ ")));
    lines.push(format!("This is rule {RULE}: the first {MARGIN} of the way from the baseline count nothing, and the last {MARGIN} too."));
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
