//! The page of the class: how the points are spread, what went wrong most, who needs a person, and
//! where each student's page is.

use std::collections::{BTreeMap, BTreeSet};
use trace::words::counted;

use super::html::{Html, Width, points, signs};
use super::plain::name;
use super::points::{Points, RULE};
use super::roll::{Roll, concerns};
use super::summary::median;
use super::{Context, roll};
use crate::name::slug;
use crate::record::{Finding, Row};
use checker::grade::Verdict;

/// The page.
pub(super) fn text(rows: &[Row], context: &Context<'_>) -> String {
    let roll = roll(rows, context);
    let mut page = Html::new(&name(context.title), Width::Tables);
    page.put("<header>\n").element("h1", &[], &name(context.title)).put("</header>\n");
    figures(&mut page, &roll);
    attention(&mut page, &roll, context);
    distribution(&mut page, &roll, context);
    common(&mut page, &roll, context, "Hazards", |row| &row.hazards);
    common(&mut page, &roll, context, "Where overlap was lost", |row| &row.causes);
    identical(&mut page, context);
    students(&mut page, &roll, context);
    page.put("<footer><p>").text(&format!("100.0 is a full exercise; {RULE}. "));
    page.put("“–” is not graded, which is no zero; no total leaves it out.</p>\n");
    with(&mut page, rows);
    page.put("</footer>\n");
    page.finish()
}

/// The class in four numbers.
fn figures(page: &mut Html, roll: &Roll<'_>) {
    let all = || roll.students.iter().flat_map(|student| student.rows());
    let passed = all().filter(|row| row.verdict == Verdict::Passed).count();
    let looked_at = all().filter(|row| !concerns(row).is_empty()).count();
    let facts = [
        (roll.students.len().to_string(), "students"),
        (roll.exercises.len().to_string(), "exercises"),
        (format!("{passed} of {}", all().count()), "passed"),
        (looked_at.to_string(), "need a person"),
    ];
    page.put("<ul class=\"figures\">\n");
    for (number, what) in facts {
        page.put("<li>").element("strong", &[], &number).put(" ").text(what).put("</li>\n");
    }
    page.put("</ul>\n");
}

fn attention(page: &mut Html, roll: &Roll<'_>, context: &Context<'_>) {
    let rows: Vec<&Row> = roll
        .students
        .iter()
        .flat_map(|student| student.rows())
        .filter(|row| !concerns(row).is_empty())
        .collect();
    page.put("<section>\n<h2>Needs a person</h2>\n");
    if rows.is_empty() {
        page.put("<p>Nothing does.</p>\n</section>\n");
        return;
    }
    page.scroll("Rows that need a person")
        .put("<table class=\"looked-at\">\n<thead><tr><th scope=\"col\">Student</th>");
    page.put("<th scope=\"col\">Exercise</th><th scope=\"col\">Verdict</th>");
    page.put("<th scope=\"col\">What to look at</th></tr></thead>\n<tbody>\n");
    for row in rows {
        page.put("<tr><th scope=\"row\">").text(&name(context.name(&row.student))).put("</th><td>");
        page.text(&name(context.title(&row.exercise))).put("</td><td>").verdict(row.verdict);
        page.put("</td><td>");
        for concern in concerns(row) {
            page.put("<p>").text(&concern).put("</p>");
        }
        page.put("</td></tr>\n");
    }
    page.put("</tbody></table></div>\n</section>\n");
}

/// Bars of a histogram.
const BINS: usize = 10;
/// Measures of a histogram, in px of its own scale.
const WIDTH: usize = 320;
const HEIGHT: usize = 150;
const TOP: usize = 22;
const BOTTOM: usize = 24;
const SIDE: usize = 15;

fn distribution(page: &mut Html, roll: &Roll<'_>, context: &Context<'_>) {
    page.put("<section>\n<h2>Points</h2>\n<div class=\"histograms\">\n");
    for (place, exercise) in roll.exercises.iter().enumerate() {
        let rows: Vec<&Row> = roll.of(place).collect();
        let title = name(context.title(exercise));
        page.put("<figure class=\"histogram\">").element("h3", &[], &title);
        histogram(page, &rows);
        let passed = rows.iter().filter(|row| row.verdict == Verdict::Passed).count();
        let ungraded = rows.iter().filter(|row| Points::of(row).is_none()).count();
        page.put("<figcaption>").text(&format!("{passed} of {} passed", rows.len()));
        if let Some(median) = median(rows.iter().copied()) {
            page.text(&format!(", median {median}"));
        }
        if ungraded > 0 {
            page.text(&format!(", {ungraded} not graded"));
        }
        page.put("</figcaption></figure>\n");
    }
    page.put("</div>\n</section>\n");
}

fn histogram(page: &mut Html, rows: &[&Row]) {
    let mut bins = [0_usize; BINS];
    for points in rows.iter().filter_map(|row| Points::of(row)) {
        // 100 belongs to the last.
        bins[(points.whole() as usize * BINS / 100).min(BINS - 1)] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    // Exercises ask for the same of everybody.
    let pass = rows.first().and_then(|row| Points::from(row.pass_score));
    let told: Vec<String> = (0..BINS)
        .filter(|&bin| bins[bin] > 0)
        .map(|bin| format!("{} to {}: {}", bin * 10, bin * 10 + 10, bins[bin]))
        .collect();
    let label = format!("Students by points. {}", told.join("; "));
    let view = format!("0 0 {WIDTH} {HEIGHT}");
    page.open("svg", &[("viewBox", &view), ("role", "img"), ("aria-label", &label)]).put("\n");
    let (step, room) = ((WIDTH - 2 * SIDE) / BINS, HEIGHT - TOP - BOTTOM);
    let ground = HEIGHT - BOTTOM;
    for (bin, &count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        // One student is to be seen among a thousand.
        let height = (count * room / most).max(2);
        let is_pass = pass.is_some_and(|pass| (bin * 100) as u32 >= pass.tenths());
        let class = if is_pass { "above" } else { "below" };
        let [x, y, width, height] =
            [SIDE + bin * step + 2, ground - height, step - 4, height].map(|it| it.to_string());
        page.open(
            "rect",
            &[("class", class), ("x", &x), ("y", &y), ("width", &width), ("height", &height)],
        );
        page.put("</rect>");
        let [x, y] = [SIDE + bin * step + step / 2, ground - count * room / most - 5]
            .map(|it| it.to_string());
        page.open("text", &[("x", &x), ("y", &y)]).text(&count.to_string()).put("</text>\n");
    }
    let axis = format!("M{SIDE} {ground}H{}", WIDTH - SIDE);
    page.open("path", &[("class", "axis"), ("d", &axis)]).put("</path>\n");
    if let Some(pass) = pass {
        let x = SIDE * 10 + pass.tenths() as usize * (WIDTH - 2 * SIDE) / 100;
        let line = format!("M{}.{} {}V{ground}", x / 10, x % 10, TOP - 14);
        page.open("path", &[("class", "pass"), ("d", &line)]).put("</path>\n");
    }
    for value in [0, 20, 40, 60, 80, 100] {
        let [x, y] = [SIDE + value * (WIDTH - 2 * SIDE) / 100, HEIGHT - 8].map(|it| it.to_string());
        page.open("text", &[("x", &x), ("y", &y)]).text(&value.to_string()).put("</text>\n");
    }
    page.put("</svg>");
}

/// Which findings how many students have, the most common first.
fn common(
    page: &mut Html,
    roll: &Roll<'_>,
    context: &Context<'_>,
    title: &'static str,
    of: fn(&Row) -> &[Finding],
) {
    #[derive(Default)]
    struct Found<'a> {
        name: &'a str,
        students: BTreeSet<&'a str>,
        exercises: BTreeSet<usize>,
    }
    let mut found: BTreeMap<&str, Found<'_>> = BTreeMap::new();
    for student in &roll.students {
        for (place, row) in student.rows.iter().enumerate() {
            for finding in row.iter().flat_map(|row| of(row)) {
                let found = found.entry(&finding.code).or_default();
                found.name = &finding.name;
                found.students.insert(student.name);
                found.exercises.insert(place);
            }
        }
    }
    if found.is_empty() {
        return;
    }
    let mut found: Vec<(&str, Found<'_>)> = found.into_iter().collect();
    found.sort_by_key(|(code, found)| (std::cmp::Reverse(found.students.len()), *code));
    page.put("<section>\n").element("h2", &[], title).put("\n");
    page.scroll(title).put("<table class=\"common\">\n<thead><tr><th scope=\"col\">What</th>");
    page.put("<th scope=\"col\" class=\"number\">Students</th><td class=\"graph\"></td>");
    page.put("<th scope=\"col\">In</th></tr></thead>\n<tbody>\n");
    for (code, found) in found {
        page.put("<tr><th scope=\"row\"><code>").text(code).put("</code> ").text(found.name);
        page.put("</th><td class=\"number\">").text(&found.students.len().to_string());
        page.put("</td><td class=\"graph\">");
        page.bar((found.students.len() * 10_000 / roll.students.len().max(1)) as u32);
        let exercises: Vec<String> = found
            .exercises
            .iter()
            .map(|&place| name(context.title(roll.exercises[place])))
            .collect();
        page.put("</td><td>").text(&exercises.join(", ")).put("</td></tr>\n");
    }
    page.put("</tbody></table></div>\n</section>\n");
}

fn identical(page: &mut Html, context: &Context<'_>) {
    if context.identical.is_empty() {
        return;
    }
    page.put("<section>\n<h2>The same file</h2>\n");
    page.put("<p>But for white space and comments these say the same. That may have a good reason.</p>\n");
    page.put("<ul>\n");
    for same in context.identical {
        let students: Vec<String> =
            same.students.iter().map(|student| name(context.name(student))).collect();
        page.put("<li><strong>").text(&name(context.title(&same.exercise))).put(":</strong> ");
        page.text(&students.join(", ")).put("</li>\n");
    }
    page.put("</ul>\n</section>\n");
}

fn students(page: &mut Html, roll: &Roll<'_>, context: &Context<'_>) {
    page.put("<section>\n<h2>Students</h2>\n").scroll("Students and their points");
    page.put("<table class=\"roll\">\n<thead><tr><th scope=\"col\">Student</th>");
    page.put("<th scope=\"col\" class=\"number\">Points</th><td class=\"graph\"></td>");
    page.put("<th scope=\"col\" class=\"number\">Passed</th>");
    for exercise in &roll.exercises {
        page.element(
            "th",
            &[("scope", "col"), ("class", "number")],
            &name(context.title(exercise)),
        );
    }
    page.put("</tr></thead>\n<tbody>\n");
    let full = Points::full(roll.exercises.len());
    for student in &roll.students {
        let href = format!("students/{}.html", slug(student.name));
        page.put("<tr><th scope=\"row\">").open("a", &[("href", &href)]);
        page.text(&name(context.name(student.name))).put("</a></th><td class=\"number\">");
        let total = student.total().map_or("–".to_owned(), |total| total.to_string());
        page.text(&total).put("</td><td class=\"graph\">");
        page.bar(student.rows().filter_map(Points::of).sum::<Points>().share(full));
        page.put("</td><td class=\"number\">").text(&student.passed().to_string()).put("</td>");
        for row in &student.rows {
            let (class, verdict) = match row {
                Some(row) => (signs(row.verdict).0, row.verdict.to_string()),
                None => ("none", "no row".to_owned()),
            };
            let class = format!("number {class}");
            page.open("td", &[("class", &class), ("title", &verdict)]).text(&points(*row));
            if row.is_some_and(|row| !concerns(row).is_empty()) {
                page.put(
                    "<span class=\"flag\" role=\"img\" aria-label=\"needs a person\">!</span>",
                );
            }
            page.put("</td>");
        }
        page.put("</tr>\n");
    }
    page.put("</tbody></table></div>\n");
    page.put("<p class=\"small\">Passed is bold. ").text(&counted(roll.students.len(), "student"));
    page.put(".</p>\n</section>\n");
}

/// Writes what the class was graded with; more than one line of it is worth a look.
fn with(page: &mut Html, rows: &[Row]) {
    let stamps: BTreeSet<String> = rows.iter().map(super::feedback::stamp).collect();
    for stamp in stamps {
        page.put("<p>").text(&stamp).put("</p>\n");
    }
}
