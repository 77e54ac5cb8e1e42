//! What the blocks become on a page.

use insta::assert_snapshot;

use crate::tiny::Tiny;

#[test]
fn a_figure_has_a_drawing_a_caption_and_the_same_in_numbers() {
    let tiny = Tiny::new(
        "# A\n\n```figure\nid = \"both\"\nlanes = \"engines\"\n\
         caption = \"Slow takes {{#value slow makespan}}.\"\nrecords = [\"slow\", \"fast\"]\n```\n",
    );
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn numbers_in_the_text_come_from_records() {
    let tiny = Tiny::new(
        "# A\n\nIt took {{#value slow makespan}}, {{#value slow hidden}} hidden; \
         `{{#value slow makespan}}` is how to say so.\n",
    );
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn a_puzzle_marks_the_lines_that_differ() {
    let tiny = Tiny::new(
        "# A\n\n```puzzle\nfunction = \"f\"\n[[program]]\ntitle = \"one\"\nfile = \"one.rs\"\n\
         [[program]]\ntitle = \"two\"\nfile = \"two.rs\"\n```\n",
    )
    .with("chapters/one.rs", "fn f() {\n    a::<u8>();\n\n    wait();\n}\n\nfn main() {}\n")
    .with("chapters/two.rs", "fn f() {\n    a::<u8>();\n\n}\n\nfn main() {}\n");
    assert_snapshot!(tiny.page());
}

#[test]
fn a_ranking_knows_its_places_from_the_records() {
    let tiny = Tiny::new(
        "# A\n\n```predict\nid = \"rank\"\nform = \"ranking\"\nask = \"Which is `first`?\"\n\
         [[item]]\ntext = \"slow\"\nrecord = \"slow\"\n[[item]]\ntext = \"fast\"\nrecord = \"fast\"\n\
         ```\n\n<details class=\"reveal\">\n<summary>It was</summary>\n\n**fast**\n\n</details>\n",
    );
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn a_quiz_can_be_read_without_a_script() {
    let quiz = r#"
[[questions]]
id = "why"
type = "MultipleChoice"
prompt.prompt = "Why is `it` so?"
prompt.distractors = [
  { text = "because of <this>", why = "It has nothing to do with *this*." },
  { text = "because of that", why = "That comes later." },
]
answer.answer = "because of the other"
context = "The other comes first."

[[questions]]
id = "long"
type = "Numeric"
prompt.prompt = "How long does it take?"
prompt.unit = "ms"
answer.value = "slow makespan"
answer.tolerance = 0.05
context = "It takes {{#value slow makespan}}."

[[questions]]
id = "order"
type = "Order"
prompt.prompt = "Put in order."
prompt.items = [{ id = "a", text = "one" }, { id = "b", text = "two" }]
answer.before = [["a", "b"]]
context = "One comes first."
"#;
    let tiny = Tiny::new("# A\n\n{{#quiz ../quizzes/q.toml}}\n").with("quizzes/q.toml", quiz);
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn a_measured_record_says_on_what_when_and_how() {
    let manifest = "[[record]]\nname = \"ex.m.h200\"\ntitle = \"m\"\nmeasured = \"h200\"\n";
    let kept = r#"{"version":1,"device":"NVIDIA H200","profile":"h200","programs":[{"exercise":"ex","program":"m",
"makespan_ns":90,"bounds":{"serial_ns":200,"floor_ns":50},"ends":"program"}],"visits":[
{"date":"2026-11-20","driver":"570","cuda":12080,"host":"","cores":1,"command":"old","programs":[
{"exercise":"ex","program":"m","makespans_ns":[99]}]},
{"date":"2026-11-21","driver":"580.159","cuda":13000,"host":"","cores":1,"command":"run <it>","programs":[
{"exercise":"ex","program":"m","makespans_ns":[100,101]}]}],
"noted":[{"name":"torch","ns":61200000,"source":"by hand"}]}"#;
    let record = r#"{"version":1,"program":{"version":1,"scale":1,"sites":[],"steps":[]},"timeline":{
"version":1,"origin":{"measured":{"device":"NVIDIA H200","driver":13000,"method":"cupti"}},
"spans":[{"step":0,"kind":"kernel","name":"k","stream":2,"start_ns":0,"end_ns":9}],"host":[]},"trials":[]}"#;
    let tiny = Tiny::new(
        "# A\n\n```figure\nid = \"m\"\ncaption = \"Measured.\"\nrecords = [\"ex.m.h200\"]\n```\n\n\
         It took {{#value h200 ex.m makespan}} or {{#value h200 ex.m efficiency}}, and {{#value h200 torch}}.\n",
    );
    let tiny =
        tiny.with("figures/records.toml", manifest).with("figures/ex.m.h200.record.json", record);
    let tiny = tiny.with("measured/h200.json", kept);
    let page = tiny.page();
    let (_, origin) = page.split_once("<ul class=\"origins\">").expect("it says where it is from");
    assert_snapshot!(origin.split_once("</ul>").expect("and ends").0.trim(), @r#"<li><b>m</b>: measured on NVIDIA H200 with driver 580.159 (CUDA 13.0) on 2026-11-21, by CUPTI activity records: <code>run &lt;it&gt;</code>. <a href="traces/ex.m.h200.json" download="">Trace for Perfetto</a></li>"#);
    assert!(page.contains("It took 100\u{a0}ns or 0.67, and 61.2\u{a0}ms."), "{page}");
}

#[test]
fn a_mark_belongs_on_the_lanes_of_its_record() {
    let tiny = Tiny::new(
        "# A\n\n```predict\nid = \"when\"\nform = \"mark\"\nask = \"When?\"\nrecord = \"slow\"\n\
         metric = \"first_upload\"\n```\n\n<details class=\"reveal\">\n<summary>Then</summary>\n\n</details>\n",
    );
    let page = tiny.with_records().page();
    // The run's first upload starts at 3 of its 6 ms, and the drawing does not show it.
    assert!(page.contains(
        "max=\"6000000\" value=\"0\" step=\"30000\" data-value=\"3000000\" data-text=\"3.00 ms\""
    ));
    assert!(!page.contains("tabindex=\"0\" role=\"img\""), "bars on an empty timeline");
}
