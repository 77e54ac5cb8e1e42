//! What a page shows of a program.

use playground::program::Simulated;
use playground::run::Run;

/// What is to be read in it, a block to a line, without the drawing.
fn read(html: &str) -> String {
    let (before, after) = html.split_once("<svg").unwrap_or((html, "</svg>"));
    let after = after.split_once("</svg>").map_or("", |(_, after)| after);
    let mut text = String::new();
    let mut is_tag = false;
    for part in [before, after] {
        let ends = ["</div>", "</p>", "</li>", "<ul>", "</tr>", "</dt>", "</th>", "</td>"];
        let part = ends.iter().fold(part.to_owned(), |part, end| {
            part.replace(
                end,
                if end.starts_with("</t") || *end == "</dt>" && *end != "</tr>" {
                    " "
                } else {
                    "\n"
                },
            )
        });
        for letter in part.chars() {
            match letter {
                '<' => is_tag = true,
                '>' => is_tag = false,
                _ if !is_tag => text.push(letter),
                _ => {}
            }
        }
    }
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_race_is_told_with_both_lines() {
    let text = "device x 16 MiB\nin a: up 16 MiB pinned to x\nin b: kernel 2 ms on x\nin c: wait b\nin c: down x pinned";
    insta::assert_snapshot!(read(&Simulated::new(text, "").html("id")));
}

#[test]
fn an_order_that_is_put_in_leaves_no_race_and_the_run_before_is_told() {
    let text = "in a: up 16 MiB pinned to x\nin b: kernel 2 ms on x";
    let ordered = "in a: up 16 MiB pinned to x\nin b: wait a\nin b: kernel 2 ms on x";
    insta::assert_snapshot!(read(&Simulated::new(ordered, text).html("id")));
}

#[test]
fn a_kernel_takes_the_time_that_is_written_and_leaves_room_for_others() {
    let kernels = |text: &str| {
        let run = Run::new(text).expect("it is right");
        let spans = run.timeline.spans;
        let first = spans.first().map_or(0, |span| span.start_ns);
        spans
            .iter()
            .map(|span| (span.start_ns - first, span.end_ns - span.start_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(kernels("kernel 2 ms"), [(0, 2_000_000)]);
    assert_eq!(kernels("kernel 2 ms 64 blocks"), [(0, 2_000_000)]);
    assert_eq!(kernels("kernel 2 ms 264 blocks"), [(0, 2_000_000)], "two waves");
    let beside = kernels("in a: kernel 2 ms 64 blocks\nin b: kernel 2 ms 64 blocks");
    assert!(beside.iter().all(|&(start, took)| start < 100_000 && took == 2_000_000), "{beside:?}");
    let whole = kernels("in a: kernel 2 ms\nin b: kernel 2 ms");
    assert!(whole[1].0 >= 2_000_000, "{whole:?}");
}

#[test]
fn a_stream_of_high_priority_goes_first() {
    let text = "stream low\nstream high priority high\nin low { kernel 1 ms; kernel first 1 ms }\n\
                in high { kernel urgent 1 ms }";
    let run = Run::new(text).expect("it is right");
    let names: Vec<&str> = run.timeline.spans.iter().map(|span| span.name()).collect();
    assert_eq!(names, ["kernel", "urgent", "first"]);
}

#[test]
fn a_program_of_names_that_are_markup_gives_no_markup() {
    let html = Simulated::new("in a: up 4 MiB <script>alert(1)</script>", "").html("id");
    assert!(!html.contains("<script"), "{html}");
}
