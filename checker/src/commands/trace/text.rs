//! A trace as text.

use std::fmt::Write as _;

use trace::hazards::StreamNames;
use viewer::facts::Run;
use viewer::lessons::lessons;
use viewer::lines::{Line, NOT_SHOWN, headline, lines};
use viewer::source::Source;

use crate::print::Style;
use crate::report::hazard;
use crate::report::sources::Sources;

/// Columns of the facts' names, and of those below them.
const NAME: usize = 22;

/// The whole text; `timeline` is the drawing.
pub(super) fn text(source: &Source, runs: &[Run<'_>], timeline: &str, style: Style) -> String {
    let mut text = format!("{}\n\n{timeline}", style.bold(&headline(source)));
    for run in runs {
        text.push('\n');
        if runs.len() > 1 {
            _ = writeln!(text, "{}", style.bold(&run.device.title()));
        }
        for (name, value) in lines(run).into_iter().chain(read_on(run)) {
            _ = writeln!(text, "{}", format!("{name:<NAME$}{value}").trim_end());
        }
        if let Some(hazards) = &run.hazards {
            let names = StreamNames::default();
            text.push_str(&hazard::text(hazards, &names, &Sources::new(), None, style));
            if hazards.is_empty() {
                text.push_str("\nno hazards: every two uses of the same memory are in order\n");
            }
        }
    }
    for note in source.notes() {
        _ = writeln!(text, "\nnote: {note}");
    }
    if runs.iter().any(|run| run.hazards.is_none()) {
        _ = writeln!(text, "\nnote: {NOT_SHOWN}");
    }
    text
}

/// The chapters about what time was lost to.
fn read_on(run: &Run<'_>) -> Vec<Line> {
    let lessons = lessons(run);
    let head = (!lessons.is_empty()).then(|| ("read on".to_owned(), String::new()));
    let each = lessons.iter().map(|lesson| (format!("  {}", lesson.chapter), lesson.text()));
    head.into_iter().chain(each).collect()
}
