//! Drawings: what they look like, and what holds for all of them.

use std::collections::BTreeSet;

use trace::draw::layout::{Anchor, Arrow, Bar, MOST_SINGLE_BARS};
use trace::draw::raster::{raster, raster_by_site};
use trace::draw::scale::ticks;
use trace::draw::{
    Appearance, Drawn, Findings, Lanes, Layout, Mark, Panel, Style, duration, svg, svg_and_bars,
    svg_of_page, table, terminal, theme,
};
use trace::hazards::Code;
use trace::program::{BlockId, Call, GraphId, GraphNode, Mode, Range, Step, StreamId};
use trace::timeline::{Span, SpanKind};
use trace::{Cause, Hazard, Program, Timeline, causes, hazards};

use crate::samples::{
    DOWN, Dice, KERNEL, SET, UP, empty, pipeline, puzzle, span, stream, timeline, us, waiting,
};

fn one(timeline: &Timeline, lanes: Lanes) -> Layout {
    Layout::new(&[Panel { title: "A run", timeline, program: None }], lanes)
}

fn serial_and_pipelined(chunks: u32, lanes: Lanes) -> Layout {
    let (serial, pipelined) = (pipeline(chunks, 1), pipeline(chunks, 3));
    let panel = |title, timeline| Panel { title, timeline, program: None };
    let panels = [panel("One stream", &serial), panel("Three streams", &pipelined)];
    Layout::new(&panels, lanes)
}

fn event() -> Layout {
    let (program, timeline) = waiting();
    let panel = Panel { title: "An event", timeline: &timeline, program: Some(&program) };
    Layout::new(&[panel], Lanes::Streams)
}

/// Random spans of every kind in a few streams, with titles and names that make trouble.
fn troubled(seed: u64, spans: u64) -> Timeline {
    const KINDS: [SpanKind; 7] =
        [KERNEL, UP, DOWN, SET, SpanKind::HostFunction, SpanKind::PeerToPeer, SpanKind::HostToHost];
    let mut dice = Dice(seed);
    let mut timeline = empty();
    let reach = 1 << dice.roll(44);
    for step in 0..spans {
        let start = dice.roll(1 << 31) % reach;
        let mut span =
            span(KINDS[dice.roll(7) as usize], start, start + dice.roll(1 << 31) % reach);
        span.step = step as u32;
        span.name = Some("<k>&\"'\u{1b}[31m\n\n\u{0}".into());
        span.stream =
            if dice.roll(9) == 0 { StreamId(u32::MAX) } else { stream(dice.roll(3) as u32) };
        timeline.spans.push(span);
    }
    timeline
}

#[test]
fn a_pipeline_is_drawn_on_the_axis_of_the_serial_run() {
    insta::assert_snapshot!(terminal(&serial_and_pipelined(6, Lanes::Streams), 72, Style::Plain), @r"
    One stream                                                       6.03 ms
    host     /////////////////////////////////////////////////////////
    stream 1 >>>>███<<<>>>███<<<>>>████<<<>>>███<<<>>>███<<<>>>>███<<< 100 %
    Three streams                                                    2.78 ms
    host     ///////////////////////////
    stream 1 >>>>███<<<>>>████<<<·······                                72 %
    stream 2 ···>>>>███<<<>>>>███<<<····                                72 %
    stream 3 ······>>>>███<<<<>>>███<<<<                                72 %
             0        1 ms     2 ms      3 ms     4 ms      5 ms     6 ms
             █ kernel  > copy to device  < copy to host  - driver call
             / host blocked  · idle  % busy
    ");
}

#[test]
fn lanes_may_stand_for_engines() {
    insta::assert_snapshot!(terminal(&serial_and_pipelined(6, Lanes::Engines), 60, Style::Plain), @r"
    One stream                                           6.03 ms
    host      ////////////////////////////////////////////
    to device >>>····>>>>···>>>>····>>>····>>>····>>>>····  35 %
    kernels   ··████····███····███····████···████····███··  33 %
    to host   ·····<<<····<<<····<<<<····<<<····<<<····<<<  32 %
    Three streams                                        2.78 ms
    host      /////////////////////
    to device >>>>>>>>>>>>>>>>·····                         76 %
    kernels   ··████████████████···                         71 %
    to host   ·····<<<<<<<<<<<<<<<<                         69 %
              0      1 ms   2 ms   3 ms    4 ms   5 ms   6 ms
              █ kernel  > copy to device  < copy to host
              - driver call  / host blocked  · idle  % busy
    ");
}

#[test]
fn twelve_hundred_operations_fit_on_a_line_each() {
    insta::assert_snapshot!(terminal(&one(&puzzle(), Lanes::Streams), 80, Style::Plain), @r"
    A run                                                                    58.0 ms
    host     ---//////////////////////////////////////////////////////////////
    stream 1 █████████████████████████████████████████████████████████████████ 100 %
    stream 2 ··<<<<<<<<<<<<<<<<<<<<<<<<<······································  34 %
    stream 3 ··························>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>  57 %
             0          10 ms      20 ms      30 ms      40 ms       50 ms
             █ kernel  > copy to device  < copy to host  - driver call
             / host blocked  · idle  % busy
    ");
}

#[test]
fn the_ascii_style_is_readable_in_forty_columns() {
    let picture = terminal(&one(&puzzle(), Lanes::Streams), 40, Style::Ascii);
    assert!(picture.is_ascii());
    insta::assert_snapshot!(picture, @r"
    A run                            58.0 ms
    host     -////////////////////////
    stream 1 ######################### 100 %
    stream 2 .<<<<<<<<<<..............  34 %
    stream 3 ..........>>>>>>>>>>>>>>>  57 %
             0       20 ms    40 ms
             # kernel  > copy to device
             < copy to host  - driver call
             / host blocked  . idle  % busy
    ");
}

#[test]
fn host_work_and_blocked_time_stand_on_the_lane_of_the_host() {
    insta::assert_snapshot!(terminal(&event(), 72, Style::Plain), @r"
    An event                                                          200 µs
    host     wwwwwwwwwww---//////////////////////////////////////////·
    stream 1 ············>>>>>>>>>>>>>>>>>>>>·························  33 %
    stream 2 ·······························████████████████████████··  39 %
             0             50 µs         100 µs        150 µs         200 µs
             █ kernel  > copy to device  w host work  - driver call
             / host blocked  · idle  % busy
    ");
}

#[test]
fn pictures_have_not_changed() {
    insta::assert_snapshot!("pipeline", svg(&serial_and_pipelined(4, Lanes::Streams), "pipeline"));
    insta::assert_snapshot!("engines", svg(&serial_and_pipelined(3, Lanes::Engines), "engines"));
    insta::assert_snapshot!("puzzle", svg(&one(&puzzle(), Lanes::Streams), "puzzle"));
    insta::assert_snapshot!("event", svg(&event(), "event"));
}

#[test]
fn no_line_is_wider_than_asked_and_none_has_an_escape_byte_unless_in_colour() {
    for seed in 0..60 {
        let timeline = troubled(seed, [0, 1, 7, 3000][seed as usize % 4]);
        let title =
            ["", "短い題名がとても長い題名になりました。", "a\u{1b}[1mb\nc"][seed as usize % 3];
        let title = title.repeat(1 + seed as usize % 5);
        let lanes = if seed % 2 == 0 { Lanes::Streams } else { Lanes::Engines };
        let panel = Panel { title: &title, timeline: &timeline, program: None };
        let layout = Layout::new(&[panel, panel], lanes);
        for columns in [0, 40, 41, 57, 80, 99, 100, 1000] {
            let plain = terminal(&layout, columns, Style::Plain);
            let ascii = terminal(&layout, columns, Style::Ascii);
            assert!(!plain.contains('\u{1b}') && ascii.is_ascii() && !ascii.contains('\u{1b}'));
            for line in plain.lines().chain(ascii.lines()) {
                let wide = |c: char| if c >= '\u{3000}' { 2 } else { 1 };
                let width: usize = line.chars().map(wide).sum();
                assert!(width <= columns.max(40), "seed {seed}, {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_label_at_the_end_of_a_long_axis_stays_inside() {
    let hours = timeline(None, &[(KERNEL, 0, 800_000_000_000_000)]);
    for columns in 40..=100 {
        let picture = terminal(&one(&hours, Lanes::Streams), columns, Style::Plain);
        assert!(picture.lines().all(|line| line.chars().count() <= columns), "{picture}");
    }
}

#[test]
fn colour_adds_escapes_and_changes_nothing_else() {
    let layout = serial_and_pipelined(6, Lanes::Streams);
    let coloured = terminal(&layout, 72, Style::Colour);
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, escape)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = escape.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    let trimmed =
        |text: &str| text.lines().map(|l| format!("{}\n", l.trim_end())).collect::<String>();
    assert_eq!(trimmed(&bare), terminal(&layout, 72, Style::Plain));
    assert_ne!(bare, coloured);
}

#[test]
fn a_short_operation_in_a_long_silence_still_shows() {
    for (start, end) in [(500_000_000, 500_000_001), (999_999_999, 1_000_000_000), (7, 7)] {
        let layout = one(&timeline(Some((0, 1_000_000_000)), &[(UP, start, end)]), Lanes::Streams);
        let lane = terminal(&layout, 80, Style::Plain).lines().nth(1).unwrap().to_owned();
        assert_eq!(lane.matches('>').count(), 1, "{lane}");
    }
}

#[test]
fn a_cell_shows_what_covers_most_of_it() {
    let bar = |mark, start_ns, end_ns| Bar {
        mark,
        start_ns,
        end_ns,
        name: String::new(),
        note: String::new(),
        step: 0,
        site: None,
    };
    // Cells of 100 ns: 40 of kernel against 60 of copy, then 30 of kernel alone.
    let bars = [
        bar(Mark::Kernel, 0, 40),
        bar(Mark::HostToDevice, 40, 100),
        bar(Mark::Kernel, 170, 200),
        bar(Mark::Memset, 250, 250), // of no length, drawn as one ns
    ];
    let runs = raster(&bars, 300, 3);
    let seen: Vec<_> = runs.iter().map(|r| (r.mark, r.first, r.end, r.bars, r.busy_ns)).collect();
    let (copy, kernel) = ((Mark::HostToDevice, 0, 1, 1, 60), (Mark::Kernel, 1, 2, 1, 30));
    assert_eq!(seen, [copy, kernel, (Mark::Memset, 2, 3, 1, 1)]);
}

#[test]
fn bars_that_cannot_be_told_apart_stand_for_one_line_each_and_cover_what_they_did() {
    let count = 2 * MOST_SINGLE_BARS as u32;
    let mut program = Program::new(1);
    let mut timeline = timeline(Some((0, us(1000))), &[]);
    for index in 0..count {
        let call = Call::ContextSynchronize;
        let site = Some(u32::from(index >= count / 2));
        program.steps.push(Step { call, site, thread: 0, gap_ns: 0, result: 0, device: 0 });
        let start = u64::from(index) * 1000;
        timeline.spans.push(Span { step: index, ..span(KERNEL, start, start + 1000) });
    }
    let panel = Panel { title: "", timeline: &timeline, program: Some(&program) };
    let layout = Layout::new(&[panel], Lanes::Streams);
    let (picture, drawn) = svg_and_bars(&layout, "x");
    let row = &layout.charts[0].lanes[0].rows[0];
    let sites = |drawn: &Drawn| drawn.bars.iter().map(|bar| row[*bar].site).collect::<Vec<_>>();
    let lines: Vec<_> = drawn.iter().map(sites).collect();
    let half = count as usize / 2;
    assert_eq!(lines, [vec![Some(0); half], vec![Some(1); half]]);
    for (index, _) in drawn.iter().enumerate() {
        assert_eq!(picture.matches(&format!("<g id=\"x-bar-{index}\"")).count(), 1);
    }
    let covered = |runs: Vec<(usize, usize)>| runs.into_iter().map(|(a, b)| b - a).sum::<usize>();
    let whole = raster(row, layout.axis_ns, 500).iter().map(|run| (run.first, run.end)).collect();
    let cut = raster_by_site(row, layout.axis_ns, 500);
    assert_eq!(covered(whole), covered(cut.iter().map(|(run, _)| (run.first, run.end)).collect()));
    assert_eq!(cut.iter().map(|(run, _)| run.bars).sum::<u64>(), u64::from(count));
}

#[test]
fn an_axis_shorter_than_its_cells_has_no_gaps() {
    let layout = one(&timeline(None, &[(KERNEL, 0, 2), (KERNEL, 2, 3)]), Lanes::Streams);
    let picture = terminal(&layout, 80, Style::Plain);
    let lane = picture.lines().nth(1).unwrap();
    assert!(lane.contains('█') && !lane.contains('·'), "{lane}");
}

#[test]
fn time_starts_at_the_region_and_charts_share_the_longest_axis() {
    let long =
        timeline(Some((100, 1100)), &[(UP, 50, 150), (KERNEL, 150, 400), (DOWN, 1100, 1200)]);
    let short = timeline(None, &[(KERNEL, 7, 17)]);
    let panel = |timeline| Panel { title: "", timeline, program: None };
    let layout = Layout::new(&[panel(&long), panel(&short)], Lanes::Streams);
    assert_eq!(layout.axis_ns, 1000);
    let times: Vec<_> = layout.bars().map(|bar| (bar.start_ns, bar.end_ns)).collect();
    assert_eq!(times, [(0, 50), (50, 300), (0, 10)]);
}

#[test]
fn what_overlaps_is_stacked_in_as_many_rows_as_a_device_runs_grids() {
    let spans = [(KERNEL, 0, 10), (KERNEL, 1, 11), (KERNEL, 10, 20), (KERNEL, 11, 12)];
    let rows = |spans: &[_]| {
        let layout = one(&timeline(None, spans), Lanes::Streams);
        layout.charts[0].lanes[0].rows.iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(rows(&spans), [2, 2]);
    assert_eq!(rows(&[(KERNEL, 0, 10); 6]), [1; 6]);
    let all = rows(&[(KERNEL, 0, 10); 130]);
    assert_eq!((all.len(), all[0], all[127]), (128, 1, 3));
}

#[test]
fn a_stack_of_bars_is_thin_in_a_picture_and_four_lines_in_a_terminal() {
    let drawn = |kernels: usize| {
        let spans = vec![(KERNEL, 0, 10); kernels];
        one(&timeline(None, &spans), Lanes::Streams)
    };
    let height = |layout: &Layout| {
        let svg = svg(layout, "a");
        let (_, view) = svg.split_once("viewBox=\"0 0 720 ").expect("a view");
        view.split('"').next().expect("a height").parse::<u64>().expect("a number")
    };
    // Four full rows, and a px for each of the others.
    assert_eq!(height(&drawn(4)), height(&drawn(1)) + 3 * 20);
    assert_eq!(height(&drawn(128)), height(&drawn(4)) + 124);
    let svg = svg(&drawn(128), "a");
    assert_eq!(svg.matches("height=\"1.27\"").count(), 128, "{svg}");
    let text = terminal(&drawn(128), 80, Style::Plain);
    assert_eq!(text.lines().filter(|line| line.contains('█')).count(), 4 + 1, "{text}");
}

#[test]
fn an_arrow_goes_from_the_work_before_the_record_to_the_work_after_the_wait() {
    let arrow = Arrow {
        from: Anchor { lane: 1, row: 0, at_ns: us(110) },
        to: Anchor { lane: 2, row: 0, at_ns: us(112) },
    };
    assert_eq!(event().charts[0].arrows, [arrow]);
}

#[test]
fn the_per_thread_streams_of_two_host_threads_have_a_lane_each() {
    let (mut program, mut timeline) = waiting();
    let alone = |timeline: &Timeline, program: &Program| -> Vec<String> {
        let panel = Panel { title: "", timeline, program: Some(program) };
        let chart = Layout::new(&[panel], Lanes::Streams).charts.remove(0);
        let lanes = chart.lanes.into_iter().filter(|lane| lane.busy_ns.is_some());
        lanes.map(|lane| lane.label).collect()
    };
    timeline.spans.iter_mut().for_each(|span| span.stream = StreamId::PER_THREAD);
    assert_eq!(alone(&timeline, &program), ["per-thread stream"]);
    let last = timeline.spans.iter().map(|span| span.step).max().expect("a span");
    program.steps[last as usize].thread = 2;
    assert_eq!(alone(&timeline, &program), ["per-thread, host 0", "per-thread, host 2"]);
}

#[test]
fn a_few_bars_stay_apart_and_many_become_a_summary() {
    let few = serial_and_pipelined(16, Lanes::Streams);
    assert!(few.bars().count() <= MOST_SINGLE_BARS);
    let picture = svg(&few, "few");
    assert_eq!(picture.matches("tabindex").count(), few.bars().count());
    assert!(picture.contains(r#" role="group" aria-labelledby="few-title""#));

    let picture = svg(&one(&puzzle(), Lanes::Streams), "many");
    assert!(!picture.contains("tabindex"));
    assert!(picture.contains(r#" role="img" aria-labelledby="many-title""#));
    assert!(picture.contains("<title>1000 × kernel, 58.0 ms</title>"));
    assert!(picture.contains("<title>100 × copy to host, 20.0 ms</title>"));
}

/// Two streams that write the same memory, and a host that is held.
fn wrong() -> (Program, Timeline, Vec<Hazard>, Vec<Cause>) {
    let (mut program, timeline) = waiting();
    let target = Range { block: BlockId(0), offset: 0, bytes: 64 };
    for (step, stream) in [(1, stream(1)), (4, stream(2))] {
        program.steps[step].call = Call::Memset { stream, mode: Mode::Asynchronous, target };
    }
    program.steps[3].result = 1; // there is no wait
    let found = hazards::find(&program);
    let cause = Cause {
        code: causes::Code::HostSynchronisation,
        severity: causes::Severity::Warning,
        at: hazards::call(&program, 5),
        other: None,
        stream: None,
        cost_ns: 1,
        basis: causes::Basis::Attributed,
        blocked_ns: 1,
        call_ns: 1,
        count: 1,
        is_fixed: false,
        is_other_fixed: false,
        grids: None,
        behind: None,
        steps: vec![5],
    };
    (program, timeline, found, vec![cause])
}

#[test]
fn both_uses_of_a_hazard_the_edge_between_them_and_the_blocked_host_are_marked() {
    let (program, timeline, hazards, causes) = wrong();
    let panel = Panel { title: "A race", timeline: &timeline, program: Some(&program) };
    let findings = Findings { hazards: &hazards, causes: &causes };
    let layout = Layout::with_findings(&[panel], Lanes::Streams, &[findings]);
    insta::assert_snapshot!(terminal(&layout, 60, Style::Plain), @r"
    A race                                                200 µs
    host     wwwwwwwww--/////////////////////////////////·
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ C04
    stream 1 ··········>>>>>>>>>>>>>>>····················  33 %
                       ^^^^^^^^^^^^^^^ H03 writes
    stream 2 ·························██████████████████··  39 %
                           H03 writes ^^^^^^^^^^^^^^^^^^
             SWIM-H03: nothing orders the two
             SWIM-C04: where time is lost
             0          50 µs      100 µs     150 µs      200 µs
             █ kernel  > copy to device  w host work
             - driver call  / host blocked  · idle  % busy
    ");
    let picture = svg(&layout, "wrong");
    assert_balanced(&picture);
    insta::assert_snapshot!("wrong", picture);
    // A page that has the colours needs no style sheet for them.
    let of_page = svg_of_page(&layout, "wrong");
    assert!(of_page.contains("SWIM-H03: ") && !of_page.contains("<style>"), "{of_page}");
    let colours = theme(Appearance::Dark);
    for name in of_page.split("var(").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(colours.contains(&format!("{name}:")), "{name}");
    }
}

#[test]
fn marks_that_would_run_into_each_other_go_below_one_another() {
    let (program, timeline, hazards, causes) = wrong();
    let panel = Panel { title: "A race", timeline: &timeline, program: Some(&program) };
    let hazards = [hazards[0].clone(), Hazard { code: Code::UseAfterFree, ..hazards[0].clone() }];
    for columns in [40, 60, 100] {
        let findings = Findings { hazards: &hazards, causes: &causes };
        let layout = Layout::with_findings(&[panel], Lanes::Engines, &[findings]);
        let text = terminal(&layout, columns, Style::Ascii);
        for words in ["H03 writes", "H04 writes", "C04"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
    }
}

#[test]
fn a_use_inside_a_graph_is_marked_only_where_its_bar_is_known() {
    let (mut program, mut timeline, _, _) = wrong();
    let operations = [1, 4].map(|step: usize| program.steps[step].call.clone());
    let node = |call| GraphNode { call, after: Vec::new(), site: None };
    let nodes = operations.map(node).to_vec();
    let graph = GraphId(0);
    program.steps[2].call = Call::GraphCreate { graph, nodes };
    program.steps[3] =
        Step { call: Call::GraphInstantiate { graph, updates: None }, ..program.steps[2].clone() };
    program.steps[4].call =
        Call::GraphLaunch { graph, copy: 0, stream: stream(1), accesses: Vec::new() };
    program.steps[1].call = Call::HostWork { ns: 1, target: None };
    timeline.spans.iter_mut().for_each(|span| span.step = 4);
    let flaws = |program: &Program, timeline: &Timeline| {
        let hazards = hazards::find(program);
        assert_eq!(hazards.len(), 1, "{hazards:#?}");
        let panel = Panel { title: "A graph", timeline, program: Some(program) };
        let findings = Findings { hazards: &hazards, causes: &[] };
        let layout = Layout::with_findings(&[panel], Lanes::Streams, &[findings]);
        layout.charts[0].flaws.iter().map(|flaw| flaw.spots.len()).collect::<Vec<_>>()
    };
    // Two bars of one launch: which is which nobody knows.
    assert!(flaws(&program, &timeline).is_empty());
    // A graph of one operation, against an operation beside it.
    let Call::GraphCreate { nodes, .. } = &mut program.steps[2].call else { panic!("a graph") };
    let other = nodes.remove(1).call;
    program.steps[1].call = other;
    timeline.spans[1].step = 1;
    assert_eq!(flaws(&program, &timeline), [2]);
}

#[test]
fn a_mark_is_drawn_with_its_words_wherever_it_begins_and_ends() {
    let (program, timeline, hazards, _) = wrong();
    let panel = Panel { title: "A race", timeline: &timeline, program: Some(&program) };
    let findings = Findings { hazards: &hazards, causes: &[] };
    let mut layout = Layout::with_findings(&[panel], Lanes::Streams, &[findings]);
    let axis_ns = layout.axis_ns;
    let along = |cells: u64| axis_ns * cells / 66; // as many as there are at most
    layout.charts[0].flaws[0].spots.truncate(1);
    let lane = layout.charts[0].flaws[0].spots[0].lane;
    for (label, columns) in [("stream 1", 80), ("default stream", 80), ("host 1", 40)] {
        layout.charts[0].lanes.iter_mut().for_each(|lane| lane.label = label.to_owned());
        for (start, end) in (0..66).flat_map(|start| (start..=66).map(move |end| (start, end))) {
            let spot = &mut layout.charts[0].flaws[0].spots[0];
            (spot.start_ns, spot.end_ns) = (along(start), along(end));
            let text = terminal(&layout, columns, Style::Ascii);
            let below = text.lines().nth(2 + lane).expect("a line");
            assert!(below.contains("^") && below.contains("H03 writes"), "{start} {end}: {text}");
            assert!(below.find(['^', 'H']) > Some(label.len()), "{start} {end}: {text}");
            assert!(text.lines().all(|line| line.len() <= columns), "{start} {end}: {text}");
        }
    }
    let spot = &mut layout.charts[0].flaws[0].spots[0];
    (spot.start_ns, spot.end_ns) = (along(7), along(66));
    insta::assert_snapshot!(terminal(&layout, 60, Style::Ascii), @r"
    A race                                                200 us
    host 1 wwwwwwwww---//////////////////////////////////.
    host 1 ..........>>>>>>>>>>>>>>>>.....................  33 %
               ^^^^^^^^^^^^^^^ H03 writes ^^^^^^^^^^^^^^^^
    host 1 ..........................###################..  39 %
           SWIM-H03: nothing orders the two
           0          50 us       100 us      150 us      200 us
           # kernel  > copy to device  w host work
           - driver call  / host blocked  . idle  % busy
    ");
}

#[test]
fn what_is_to_be_read_on_a_bar_is_in_its_name() {
    let picture = svg(&serial_and_pipelined(4, Lanes::Streams), "p");
    let groups = picture.split("<g tabindex").skip(1).map(|rest| rest.split("</g>").next());
    let mut letters = BTreeSet::new();
    for group in groups.flatten() {
        let inside = |open: &str| Some(group.split_once(open)?.1.split_once('<')?.0);
        let name = inside("<title>").expect("a name").to_lowercase();
        let Some(read) = inside(r#"paint-order="stroke">"#) else { continue };
        assert!(name.contains(&read.to_lowercase()), "{read} is not in {name}");
        letters.insert(read.to_owned());
    }
    assert!(["H2D", "D2H"].iter().all(|it| letters.contains(*it)), "{letters:?}");
}

#[test]
fn the_size_of_a_picture_is_bounded_whatever_is_in_it() {
    assert!(svg(&one(&troubled(3, 20_000), Lanes::Engines), "t").len() < 2_000_000);
}

#[test]
fn a_picture_is_well_formed_and_can_stand_in_markdown() {
    for seed in 0..40 {
        let timeline = troubled(seed, [0, 5, 150, 1500][seed as usize % 4]);
        let panel = Panel { title: "<script>&\"'\u{1}\n\n", timeline: &timeline, program: None };
        let picture = svg(&Layout::new(&[panel], Lanes::Streams), "a b\"<1");
        assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
        assert!(!picture.contains("\n\n") && !picture.contains("<script"));
        assert!(picture.chars().all(|c| c == '\n' || !c.is_control()));
        assert_balanced(&picture);
        for id in picture.split(" id=\"").skip(1) {
            assert!(id.starts_with("a-b--1"), "an id without the prefix: {}", &id[..20]);
        }
        for reference in picture.split("url(#").skip(1) {
            let id = reference.split(')').next().unwrap();
            assert!(picture.contains(&format!(" id=\"{id}\"")), "nothing has the id {id}");
        }
        for size in picture.split("font-size=\"").skip(1) {
            assert!(size.split('"').next().unwrap().parse::<u32>().unwrap() >= 11);
        }
    }
}

/// Every element is closed in its order, attributes are quoted, and text holds no bare `&`.
fn assert_balanced(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some((text, after)) = rest.split_once('<') {
        for entity in text.split('&').skip(1) {
            let name = entity.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "&{name}");
        }
        let (tag, after) = after.split_once('>').unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_theme_sets_what_the_pictures_read() {
    let picture = svg(&event(), "event") + &svg(&one(&puzzle(), Lanes::Streams), "puzzle");
    let (light, dark) = (theme(Appearance::Light), theme(Appearance::Dark));
    for variable in picture.split("var(").skip(1) {
        let name = variable.split(',').next().unwrap();
        assert!(
            light.contains(&format!("{name}:")) && dark.contains(&format!("{name}:")),
            "{name}"
        );
    }
    assert_ne!(light, dark);
}

#[test]
fn kinds_that_meet_differ_in_lightness() {
    for appearance in [Appearance::Light, Appearance::Dark] {
        let theme = theme(appearance);
        let mut lightness = ["kernel", "h2d", "d2h"].map(|class| {
            let colour = theme.split(&format!("--swim-{class}:#")).nth(1).unwrap();
            let part = |at| u32::from_str_radix(&colour[at..at + 2], 16).unwrap();
            // Luma as in Rec. 601, which is what greyscale printing comes to.
            (299 * part(0) + 587 * part(2) + 114 * part(4)) / 1000
        });
        lightness.sort_unstable();
        assert!(lightness.windows(2).all(|pair| pair[1] - pair[0] >= 40), "{lightness:?}");
    }
}

#[test]
fn kernels_copies_and_calls_are_plain_and_time_that_is_lost_is_hatched() {
    let picture = svg(&serial_and_pipelined(2, Lanes::Streams), "copies") + &svg(&event(), "event");
    let has_pattern = |class| picture.contains(&format!("-{class}\" width"));
    for class in ["kernel", "h2d", "d2h", "call", "blocked"] {
        assert!(picture.contains(&format!("class=\"{class}-b\"")), "no {class} in the pictures");
        assert_eq!(has_pattern(class), class == "blocked", "{class}");
    }
}

#[test]
fn the_table_gives_busy_time_and_share_of_each_lane() {
    let (_, timeline) = waiting();
    let rows = |lanes| {
        let rows = table(&timeline, lanes);
        rows.into_iter().map(|r| (r.lane, r.busy_ns, r.share.unwrap())).collect::<Vec<_>>()
    };
    let blocked = ("host blocked".into(), us(145), 0.725);
    let (up, kernel) = ((us(65), 0.325), (us(78), 0.39));
    assert_eq!(
        rows(Lanes::Engines),
        [blocked.clone(), ("to device".into(), up.0, up.1), ("kernels".into(), kernel.0, kernel.1)]
    );
    assert_eq!(
        rows(Lanes::Streams),
        [blocked, ("stream 1".into(), up.0, up.1), ("stream 2".into(), kernel.0, kernel.1)]
    );
}

#[test]
fn nothing_at_all_can_be_drawn() {
    for layout in [Layout::new(&[], Lanes::Streams), one(&empty(), Lanes::Engines)] {
        assert_balanced(&svg(&layout, ""));
        assert!(terminal(&layout, 80, Style::Plain).contains("idle"));
    }
}

#[test]
fn durations_have_three_digits() {
    let texts = [0, 999, 1_000, 9_994, 9_996, 99_960, 999_499, 999_500, 6_500_000, 16_028_000]
        .map(duration)
        .join(", ");
    insta::assert_snapshot!(texts, @"0 ns, 999 ns, 1.00 µs, 9.99 µs, 10.0 µs, 100 µs, 999 µs, 1.00 ms, 6.50 ms, 16.0 ms");
    assert_eq!(duration(3_600_000_000_000), "3600 s");
}

#[test]
fn ticks_are_round_and_at_most_nine() {
    let labels = |ns| ticks(ns).into_iter().map(|tick| tick.label).collect::<Vec<_>>().join(", ");
    let axes = [1, 850, 6_500, 1_300_000, 16_000_000, 90_000_000_000];
    insta::assert_snapshot!(axes.map(labels).join("\n"), @r"
    0, 1 ns
    0, 100 ns, 200 ns, 300 ns, 400 ns, 500 ns, 600 ns, 700 ns, 800 ns
    0, 1 µs, 2 µs, 3 µs, 4 µs, 5 µs, 6 µs
    0, 0.2 ms, 0.4 ms, 0.6 ms, 0.8 ms, 1 ms, 1.2 ms
    0, 2 ms, 4 ms, 6 ms, 8 ms, 10 ms, 12 ms, 14 ms, 16 ms
    0, 20 s, 40 s, 60 s, 80 s
    ");
    for axis in (0..64).flat_map(|bits| [1_u64 << bits, (1 << bits) + 3]) {
        assert!((1..=9).contains(&ticks(axis).len()), "{axis}");
    }
}

#[test]
fn a_kernel_that_finds_no_room_is_not_said_to_lose_time() {
    let (program, timeline, hazards, mut causes) = wrong();
    causes[0].code = trace::causes::Code::FullDevice;
    let panel = Panel { title: "Full", timeline: &timeline, program: Some(&program) };
    let findings = Findings { hazards: &hazards, causes: &causes };
    let text =
        terminal(&Layout::with_findings(&[panel], Lanes::Streams, &[findings]), 60, Style::Plain);
    assert!(text.contains("SWIM-C09: ready, and no room"), "{text}");
    assert!(!text.contains("time is lost"), "{text}");
}
