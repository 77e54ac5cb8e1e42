//! A student's page: what came of each exercise, how the score comes about, what happened when, and
//! as much about it as the instructor allows.
//!
//! A page does not tell what a person has to look at, only that one does: it may be about others.

use trace::draw::duration;

use super::html::{Html, Width, points, signs};
use super::plain::name;
use super::points::{Points, RULE};
use super::roll::{Student, concerns};
use super::{Context, csv, feedback, roll};
use crate::record::{Finding, Row};
use checker::exercise::Metric;
use checker::grade::score::{self, MARGIN, REACH};

/// The drawings of a row, as SVG. Where one has both on the same axis, it is
/// the student's. The ids in them differ from exercise to exercise, since all are on one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timelines {
    pub(crate) student: Option<String>,
    pub(crate) reference: Option<String>,
}

/// The page of the student whose rows these are.
pub(super) fn text(rows: &[Row], context: &Context<'_>) -> String {
    let roll = roll(rows, context);
    let Some(student) = roll.students.first() else { return String::new() };
    let called = name(context.name(student.name));
    let mut page = Html::new(&format!("{called}: {}", name(context.title)), Width::Text);
    page.put("<header>\n").element("p", &[("class", "course")], &name(context.title));
    page.element("h1", &[], &called);
    if called != name(student.name) {
        page.element("p", &[("class", "handle")], student.name);
    }
    page.put("</header>\n");
    overview(&mut page, student, context);
    for (number, row) in (1..).zip(student.rows()) {
        exercise(&mut page, number, row, context);
    }
    page.put("<footer><p>")
        .text(&capital(RULE))
        .put(". “–” is not graded, which is no zero.</p></footer>\n");
    page.finish()
}

fn overview(page: &mut Html, student: &Student<'_>, context: &Context<'_>) {
    let full = Points::full(student.rows.len());
    page.put("<div class=\"total\"><p>");
    match student.total() {
        Some(total) => {
            page.element("strong", &[], &total.to_string()).text(&format!(" of {full} points"));
        }
        None => {
            page.put("<strong>No total yet</strong>: an exercise is not graded, which is no zero");
        }
    }
    page.put("</p><p>");
    page.text(&format!("{} of {} exercises passed", student.passed(), student.rows.len()));
    page.put("</p></div>\n");
    if student.rows.len() < 2 {
        return;
    }
    page.put("<table class=\"overview\">\n<caption>Exercises</caption>\n<thead><tr>");
    page.put("<th scope=\"col\">Exercise</th><th scope=\"col\">Verdict</th>");
    page.put("<th scope=\"col\" class=\"number\">Points</th><td class=\"graph\"></td></tr></thead>\n<tbody>\n");
    for (number, row) in (1..).zip(student.rows()) {
        let anchor = format!("#exercise-{number}");
        page.put("<tr><th scope=\"row\">").open("a", &[("href", &anchor)]);
        page.text(&name(context.title(&row.exercise))).put("</a></th><td>");
        page.verdict(row.verdict).put("</td><td class=\"number\">");
        page.text(&points(Some(row))).put("</td><td class=\"graph\">");
        page.bar(Points::of(row).unwrap_or_default().share(super::points::FULL));
        page.put("</td></tr>\n");
    }
    page.put("</tbody></table>\n");
}

fn exercise(page: &mut Html, number: usize, row: &Row, context: &Context<'_>) {
    let id = format!("exercise-{number}");
    page.open("section", &[("id", &id)]).put("\n");
    page.element("h2", &[], &name(context.title(&row.exercise))).put("\n");
    let class = format!("result {}", signs(row.verdict).0);
    page.open("div", &[("class", &class)]).put("<p class=\"grade\">").verdict(row.verdict);
    match Points::of(row) {
        Some(points) => {
            page.put(" <span class=\"points\">").element("strong", &[], &points.to_string());
            page.put(" of 100 points</span>");
        }
        None => {
            page.put(" <span class=\"points\">not graded, which is no zero</span>");
        }
    }
    page.put("</p>\n<p>").text(&capital(&row.message)).put("</p>\n");
    for change in feedback::changes(row) {
        page.put("<p>").text(&capital(&change)).put("</p>\n");
    }
    if !concerns(row).is_empty() {
        page.put("<p>Somebody looks at this before the grade counts.</p>\n");
    }
    page.put("</div>\n");
    timelines(page, &(context.timelines)(row));
    formula(page, row);
    if let Some(on_gpu) = feedback::on_gpu(row) {
        page.put("<h3>On a GPU, beside the grade</h3>\n<p>").text(&on_gpu).put("</p>\n");
    }
    let told = feedback::shown_causes(row, context.feedback);
    let causes: Vec<&Finding> = told.causes.iter().map(AsRef::as_ref).collect();
    let hazards: Vec<&Finding> = row.hazards.iter().collect();
    let advice: Vec<&Finding> = told.advice.iter().collect();
    findings(page, "Hazards", &hazards);
    findings(page, "Where overlap was lost", &causes);
    findings(page, "What to do, each step on top of the one before", &advice);
    if !row.notes.is_empty() {
        page.put("<h3>Notes</h3>\n<ul>\n");
        for note in &row.notes {
            page.put("<li>").text(note).put("</li>\n");
        }
        page.put("</ul>\n");
    }
    said(page, "What the compiler said", &row.compiler);
    said(page, "What the program printed", &row.output);
    stamp(page, row);
    page.put("</section>\n");
}

fn timelines(page: &mut Html, timelines: &Timelines) {
    let drawings = [&timelines.student, &timelines.reference].into_iter().flatten();
    let drawings: Vec<&String> = drawings.collect();
    if drawings.is_empty() {
        return;
    }
    page.put("<h3>What ran when</h3>\n");
    for drawing in drawings {
        page.put("<figure class=\"timeline\">").scroll("Timeline").drawing(drawing);
        page.put("</div></figure>\n");
    }
}

/// The score with its formula and the numbers of this row.
fn formula(page: &mut Html, row: &Row) {
    let (Some(metric), Some(baseline), Some(reference), Some(score)) = (
        row.metric_value,
        row.baseline_value,
        row.reference_value,
        row.score.and_then(Points::from),
    ) else {
        return;
    };
    page.put("<h3>How the score comes about</h3>\n");
    if let Some(gate) = row.gate {
        page.put("<p>Points are given where all gates are clear. The gate <strong>");
        page.text(&gate.to_string()).put("</strong> is not, so the score is <strong>");
        page.text(&score.to_string()).put("</strong>, whatever the overlap.</p>\n");
        return;
    }
    page.put("<dl class=\"formula\">\n");
    let called = match row.metric {
        Metric::OverlapEfficiency => "overlap efficiency",
        Metric::HostFreedom => "host freedom",
        Metric::LatencyRatio => "latency ratio",
    };
    let mut line = |what: &str, formula: &str, numbers: &str, value: &str| {
        page.put("<div>").element("dt", &[], what).put("<dd>");
        page.put("<span>= ");
        if !formula.is_empty() {
            page.text(formula).put("</span> <span>= ");
        }
        if !numbers.is_empty() {
            page.text(numbers).put(" = ");
        }
        page.element("strong", &[], value).put("</span></dd></div>\n");
    };
    let times = (row.makespan_ns, row.serial_ns, row.floor_ns, row.host_work_ns);
    match (row.metric, times) {
        (Metric::OverlapEfficiency, (Some(makespan), Some(serial), Some(floor), _)) => {
            let [makespan, serial, floor] = [makespan, serial, floor].map(duration);
            let numbers = format!("({serial} − {makespan}) / ({serial} − {floor})");
            line(called, "(serial − makespan) / (serial − floor)", &numbers, &percent(metric));
        }
        (Metric::HostFreedom, (Some(makespan), _, _, Some(host))) => {
            let numbers = format!("{} / {}", duration(host), duration(makespan));
            line(called, "the host's own work / makespan", &numbers, &percent(metric));
        }
        (Metric::LatencyRatio, _) => {
            let formula = "latency of a request on an idle device / mean latency of the requests";
            line(called, formula, "", &percent(metric));
        }
        _ => line(called, "", "", &percent(metric)),
    }
    if row.score_rule == score::RULE {
        let delta = reference - baseline;
        line(
            "Δ",
            "reference − baseline",
            &format!("{} − {}", percent(reference), percent(baseline)),
            &percent(delta),
        );
        let numbers = format!(
            "100 × ({} − {} − {}) / {}",
            percent(metric),
            percent(baseline),
            percent(MARGIN * delta),
            percent(REACH * delta)
        );
        let formula = format!(
            "100 × ({called} − baseline − {MARGIN} Δ) / ({REACH} Δ), at least 0 and at most 100"
        );
        line("score", &formula, &numbers, &score.to_string());
    } else {
        line("score", "", "", &score.to_string());
    }
    let counts = Points::of(row).map_or("–".to_owned(), |points| points.to_string());
    if let Some(replaced) = &row.replaced {
        line("points that count", &format!("given by {}", replaced.by), "", &counts);
    } else if let Some(lost) = row.late.as_ref().and_then(|late| Points::from(late.points)) {
        line("points that count", "score − late", &format!("{score} − {lost}"), &counts);
    }
    page.put("</dl>\n<p class=\"small\">");
    if row.score_rule == score::RULE {
        page.put(
            "The baseline is a correct program without overlap and scores 0, the reference scores 100. ",
        );
    }
    if let Some(pass) = Points::from(row.pass_score) {
        page.text(&format!("{pass} points pass. "));
    }
    page.text(&format!("Rule {}.", row.score_rule)).put("</p>\n");
}

/// A part of one in percent, with two decimals, which is more than a tenth of a point needs.
fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part).replace('-', "−")
}

fn findings(page: &mut Html, title: &'static str, findings: &[&Finding]) {
    if findings.is_empty() {
        return;
    }
    page.put("<h3>").text(title).put("</h3>\n<ol class=\"findings\">\n");
    for finding in findings {
        let class = match finding.severity.as_str() {
            "error" => "finding error",
            "warning" => "finding warning",
            _ => "finding",
        };
        page.open("li", &[("class", class)]).put("<p class=\"code\"><strong>");
        page.text(&finding.code).put("</strong> ").text(&finding.name);
        if let Some(place) = feedback::place(finding) {
            page.put(" <code>").text(&place).put("</code>");
        }
        if let Some(count) = finding.count.filter(|count| *count > 1) {
            page.text(&format!(" × {count}"));
        }
        if let Some(nanoseconds) = finding.nanoseconds {
            page.put(" <span class=\"cost\">").text(&duration(nanoseconds)).put("</span>");
        }
        page.put("</p>\n<p>").text(&finding.message).put("</p>");
        if let Some(help) = &finding.help {
            page.put("\n<p class=\"help\"><span>help:</span> ").text(help).put("</p>");
        }
        page.put("</li>\n");
    }
    page.put("</ol>\n");
}

fn said(page: &mut Html, title: &'static str, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    page.put("<h3>").text(title).put("</h3>\n");
    page.open("pre", &[("role", "region"), ("tabindex", "0"), ("aria-label", title)]);
    page.lines(text).put("</pre>\n");
}

/// Writes what was graded, with what, and within which walls.
fn stamp(page: &mut Html, row: &Row) {
    let with = &row.with;
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(file) = &row.file {
        facts.push((
            "file",
            format!("{}, {} bytes, SHA-256 {}", file.path, file.bytes, file.sha256),
        ));
        if !file.ignored.is_empty() {
            facts.push(("not looked at", file.ignored.join(", ")));
        }
    }
    facts.push(("graded with", format!("checker {}, {}", with.checker, with.rustc)));
    facts.push(("device", format!("simulated, profile {}", with.profile)));
    facts.push(("exercise", format!("SHA-256 {}", with.exercise_sha256)));
    let mut sandbox = vec![csv::word(&with.sandbox.level)];
    sandbox.extend(with.sandbox.guards.iter().cloned());
    facts.push(("sandbox", sandbox.join("; ")));
    if !with.sandbox.missing.is_empty() {
        facts.push(("not guarded", with.sandbox.missing.join("; ")));
    }
    page.put("<dl class=\"stamp\">\n");
    for (what, fact) in facts {
        page.put("<div>").element("dt", &[], what).element("dd", &[], &fact).put("</div>\n");
    }
    page.put("</dl>\n");
}

/// `text` with a capital in front.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
