//! `{{#trust counts}}` and `{{#trust off}}`: how well the simulated device predicts the GPUs that
//! something is kept of, counted, and the programs of which it is far off.
//! `{{#trust alternatives}}`: how well it predicts right programs that are not in the book, counted
//! by exercise.

use std::collections::BTreeMap;

use trace::Fidelity;
use trace::fidelity::{
    CLOSE_GOAL as CLOSE, EFFICIENCY_GOAL as EFFICIENCY, MAKESPAN_GOAL as FAR, Row, median,
};

use crate::markup::{escape, inline};
use crate::page::{Directive, Page};

/// One of the three.
pub fn table(page: &mut Page<'_>, at: &Directive) -> Option<String> {
    let made = match at.argument.as_str() {
        "counts" => Ok(counts(page.records.gpus())),
        "off" => Ok(off(page.records.gpus())),
        "alternatives" => Ok(page.records.alternatives().values().map(by_exercise).collect()),
        other => Err(format!("`trust` takes `counts`, `off` or `alternatives`, and not `{other}`")),
    };
    page.note(at.line, made)
}

/// The GPUs, the H200 first, which is the device that the book is about.
fn in_order(gpus: &BTreeMap<String, Fidelity>) -> impl Iterator<Item = &Fidelity> {
    gpus.values().rev()
}

/// A row for each GPU. Nothing is allowed for: what a GPU's own runs differ by does not matter
/// here.
fn counts(gpus: &BTreeMap<String, Fidelity>) -> String {
    let mut rows = String::new();
    for kept in in_order(gpus) {
        let all = kept.rows();
        let errors: Vec<f64> = all.iter().filter_map(Row::error).collect();
        let within = |share: f64| errors.iter().filter(|error| error.abs() <= share).count();
        let shorter = errors.iter().filter(|error| **error < 0.0).count();
        let efficiencies: Vec<f64> = all
            .iter()
            .filter_map(|row| Some((row.efficiency? - row.measured.as_ref()?.efficiency?).abs()))
            .collect();
        let efficient = efficiencies.iter().filter(|off| **off <= EFFICIENCY).count();
        let (device, profile) = (escape(&kept.device), escape(&kept.profile));
        rows.push_str(&format!(
            "<tr><th scope=\"row\">{device}</th><td><code>{profile}</code></td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{efficient} of {}</td><td>{shorter}</td></tr>",
            errors.len(),
            within(CLOSE),
            within(FAR),
            efficiencies.len(),
        ));
    }
    let heads = [
        "GPU".to_owned(),
        "profile".to_owned(),
        "programs".to_owned(),
        format!("makespan within {}", percent(CLOSE)),
        format!("within {}", percent(FAR)),
        format!("efficiency within {} of the scale", percent(EFFICIENCY)),
        "predicted too short".to_owned(),
    ];
    whole(&heads, &rows)
}

/// A row for each program that is far off on one GPU at least, and why: the reasons of all that it
/// is far off on.
fn off(gpus: &BTreeMap<String, Fidelity>) -> String {
    let mut programs: Vec<(String, String)> = Vec::new();
    for row in in_order(gpus).flat_map(Fidelity::rows) {
        let name = (row.predicted.exercise.clone(), row.predicted.program.clone());
        if row.error().is_some_and(|error| error.abs() > FAR) && !programs.contains(&name) {
            programs.push(name);
        }
    }
    let mut rows = String::new();
    let mut before = String::new();
    for (exercise, program) in &programs {
        let mut reasons: Vec<String> = Vec::new();
        let mut cells = String::new();
        for kept in in_order(gpus) {
            let all = kept.rows();
            let is_it = |row: &&Row<'_>| {
                (&row.predicted.exercise, &row.predicted.program) == (exercise, program)
            };
            let row = all.iter().find(is_it);
            let error = row.and_then(Row::error);
            let text = error.map_or("–".to_owned(), |error| format!("{:+.0} %", error * 100.0));
            cells.push_str(&format!("<td>{text}</td>"));
            let is_far = error.is_some_and(|error| error.abs() > FAR);
            if let Some(row) = row.filter(|_| is_far) {
                let own = match row.makespan_holds() {
                    Some(true) => "The GPU's own runs differ by as much.",
                    _ => "Not looked into.",
                };
                let reason = row.predicted.misses.clone().unwrap_or_else(|| own.to_owned());
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        let reason = reasons.join(" ");
        let said = if reason == before { "As above.".to_owned() } else { inline(&reason) };
        before = reason;
        let (exercise, program) = (escape(exercise), escape(program));
        rows.push_str(&format!(
            "<tr><th scope=\"row\"><a href=\"{exercise}.html\"><code>{exercise}</code></a> {program}</th>{cells}\
             <td>{said}</td></tr>"
        ));
    }
    let mut heads = vec!["program".to_owned()];
    heads.extend(in_order(gpus).map(|kept| format!("{}, off by", kept.device)));
    heads.push("why".to_owned());
    whole(&heads, &rows)
}

/// A row for each exercise, and one for all. Nothing is allowed for here either.
fn by_exercise(kept: &Fidelity) -> String {
    let mut exercises: Vec<(String, Vec<f64>)> = Vec::new();
    for row in kept.rows() {
        let Some(error) = row.error() else { continue };
        let exercise = &row.predicted.exercise;
        match exercises.last_mut().filter(|(last, _)| last == exercise) {
            Some((_, errors)) => errors.push(error),
            None => exercises.push((exercise.clone(), vec![error])),
        }
    }
    let row = |name: &str, errors: &[f64]| {
        let within = |share: f64| errors.iter().filter(|error| error.abs() <= share).count();
        let shorter = errors.iter().filter(|error| **error < 0.0).count();
        let middle = median(errors).unwrap_or_default() * 100.0;
        format!(
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{}</td><td>{middle:+.1} %</td>\
             <td>{shorter}</td></tr>",
            errors.len(),
            within(CLOSE),
            within(FAR),
        )
    };
    let linked = |name: &str| format!("<a href=\"{name}.html\"><code>{name}</code></a>");
    let mut rows: String =
        exercises.iter().map(|(name, errors)| row(&linked(&escape(name)), errors)).collect();
    let all: Vec<f64> = exercises.into_iter().flat_map(|(_, errors)| errors).collect();
    rows.push_str(&row("all", &all));
    let heads = [
        "exercise".to_owned(),
        "programs".to_owned(),
        format!("makespan within {}", percent(CLOSE)),
        format!("within {}", percent(FAR)),
        "off by, at the median".to_owned(),
        "predicted too short".to_owned(),
    ];
    whole(&heads, &rows)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn whole(heads: &[String], rows: &str) -> String {
    let heads: String =
        heads.iter().map(|it| format!("<th scope=\"col\">{}</th>", escape(it))).collect();
    format!(
        "<div class=\"table-wrapper\"><table class=\"rows\"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>\
         </table></div>"
    )
}
