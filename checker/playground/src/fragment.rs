//! A setting as HTML: the program, numbers, the drawing, and the drawing in numbers.

use std::fmt::Write as _;

use trace::Timeline;
use trace::draw::scale::percent;
use trace::draw::{Lanes, Layout, Panel, duration, svg_of_page, table};
use trace::metrics::Metrics;

use crate::listing::listing;
use crate::setting::Setting;
use crate::{Played, profiles};

/// As HTML without blank lines. Ids in it begin with `id`.
pub fn fragment(setting: &Setting, played: &Played, id: &str) -> String {
    let Played { program, timeline, bounds, .. } = played;
    let metrics = Metrics::of(timeline);
    let makespan = metrics.makespan_ns;
    let mut html = String::from("<dl class=\"numbers\">");
    let mut number = |name: &str, label: &str, value: &str, ns: u64| {
        _ = write!(
            html,
            "<div data-name=\"{name}\"><dt>{label}</dt><dd data-value=\"{ns}\">{value}</dd></div>"
        );
    };
    let hidden = match metrics.copies_ns {
        0 => "none".to_owned(),
        copies => percent(metrics.hidden_copy_ns, copies),
    };
    number("makespan", "from start to end", &duration(makespan), makespan);
    number("floor", "floor", &duration(bounds.floor_ns), bounds.floor_ns);
    number("efficiency", "overlap efficiency", &efficiency(played, makespan), 0);
    number("hidden", "copying hidden", &hidden, metrics.hidden_copy_ns);
    let blocked = metrics.host_blocked_ns;
    number("blocked", "host blocked", &duration(blocked), blocked);
    html.push_str("</dl>");

    let device = profiles::device(setting.device());
    let panel = Panel { title: device, timeline, program: Some(program) };
    let drawing = svg_of_page(&Layout::new(&[panel], Lanes::Streams), id);
    _ = write!(
        html,
        "<div class=\"timeline-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">{drawing}</div>"
    );

    let listing = listing(setting);
    _ = write!(
        html,
        "<pre class=\"sheet\" tabindex=\"0\" role=\"region\" aria-label=\"The program\">{}</pre>",
        listing.trim_end()
    );
    in_numbers(&mut html, timeline, makespan, &[]);
    html
}

/// The drawing once more, as a table. Streams have the names that are given, in the order of their
/// numbers.
pub(crate) fn in_numbers(html: &mut String, timeline: &Timeline, makespan: u64, names: &[String]) {
    html.push_str(
        "<details class=\"timeline-more\"><summary>The drawing in numbers</summary>\
         <div class=\"table-wrapper\"><table><thead><tr><th scope=\"col\">lane</th>\
         <th scope=\"col\">busy</th><th scope=\"col\">share</th></tr></thead><tbody>",
    );
    for by in [Lanes::Streams, Lanes::Engines] {
        // The host's row stands in both.
        let rows = table(timeline, by).into_iter().skip(usize::from(by == Lanes::Engines));
        for row in rows.filter(|row| row.busy_ns > 0) {
            _ = write!(
                html,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
                named(&row.lane, names).unwrap_or(&row.lane),
                duration(row.busy_ns),
                percent(row.busy_ns, makespan)
            );
        }
    }
    html.push_str("</tbody></table></div></details>");
}

/// The name of the row whose label is `stream 1`, `stream 2` and so on.
pub(crate) fn named<'a>(label: &str, names: &'a [String]) -> Option<&'a str> {
    let number = label.strip_prefix("stream ")?.parse::<usize>().ok()?;
    names.get(number.checked_sub(1)?).map(String::as_str)
}

/// Overlap efficiency in percent, in whole numbers: floating-point numbers in words would be a
/// tenth of the wasm.
fn efficiency(played: &Played, makespan_ns: u64) -> String {
    let (serial, floor) = (played.bounds.serial_ns as i64, played.bounds.floor_ns as i64);
    let savable = serial - floor;
    if savable <= 0 {
        return "none".to_owned();
    }
    let saved = (serial - makespan_ns as i64) * 100;
    // Round half away from zero.
    let percent_points = ((2 * saved.abs() + savable) / (2 * savable)) as u64;
    let sign = if saved < 0 && percent_points > 0 { "−" } else { "" };
    format!("{sign}{percent_points} %")
}
