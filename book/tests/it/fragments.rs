//! What the blocks become on a page.

use insta::assert_snapshot;

use crate::tiny::Tiny;

#[test]
fn a_figure_has_a_drawing_a_caption_and_the_same_in_numbers() {
    let tiny = Tiny::new(
        "# A\n\n```figure\nid = \"both\"\nlanes = \"engines\"\n\
         caption = \"Slow takes {{#value tiny.slow makespan}}.\"\nrecords = [\"tiny.slow\", \"tiny.fast\"]\n```\n",
    );
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn numbers_in_the_text_come_from_records() {
    let tiny = Tiny::new(
        "# A\n\nIt took {{#value tiny.slow makespan}}, {{#value tiny.slow hidden}} hidden; \
         `{{#value tiny.slow makespan}}` is how to say so.\n",
    );
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn a_puzzle_marks_the_lines_that_differ() {
    let tiny = Tiny::new(
        "# A\n\n```puzzle\nfunction = \"f\"\n[[program]]\nname = \"tiny.one\"\n\
         [[program]]\nname = \"tiny.two\"\n```\n",
    )
    .with_programs(&[
        ("one", "fn f() {\n    a::<u8>();\n\n    wait();\n}\n\nfn main() {}\n"),
        ("two", "fn f() {\n    a::<u8>();\n\n}\n\nfn main() {}\n"),
    ]);
    assert_snapshot!(tiny.page());
}

#[test]
fn a_puzzle_without_names_says_nothing_of_its_files() {
    let puzzle = "function = \"f\"\nnameless = true\n[[program]]\nname = \"tiny.too_early\"\ntitle = \"a\"\n\
                  [[program]]\nname = \"tiny.right\"\ntitle = \"b\"\n";
    let page = Tiny::new(&format!("# A\n\n```puzzle\n{puzzle}```\n"))
        .with_programs(&[
            ("too_early", "fn f() {\n    wait();\n}\n"),
            ("right", "fn f() {\n    record();\n}\n"),
        ])
        .page();
    assert!(page.contains("<b>a</b></p>") && page.contains("wait();"), "{page}");
    assert!(!page.contains("too_early") && !page.contains("right.rs"), "{page}");
}

#[test]
fn programs_that_share_a_file_are_shown_with_their_own_numbers() {
    let program = |n: u32| {
        format!(
            "[[programs]]\nname = \"of_{n}\"\ntitle = \"{n} streams\"\nexample = \"of\"\nnumbers = {{ n = {n} }}\n"
        )
    };
    let page = Tiny::new(
        "# A\n\n```puzzle\nfunction = \"f\"\n[[program]]\nname = \"tiny.of_8\"\n\
         [[program]]\nname = \"tiny.of_160\"\ntitle = \"many\"\n```\n",
    )
    .with("../exercises/01_tiny/exercise.toml", &[8, 160].map(program).concat())
    .with(
        "../exercises/01_tiny/examples/tiny_of.rs",
        "fn f() {\n    let n = lab.number(\"n\", 8)?;\n    go(n);\n}\n",
    )
    .page();
    for shown in
        ["<b>8 streams</b> <code>tiny_of.rs</code>", "let n = 8;", "<b>many</b>", "let n = 160;"]
    {
        assert!(page.contains(shown), "no `{shown}`: {page}");
    }
    let keys: Vec<&str> = page.split("data-source=\"").skip(1).collect();
    let [one, other] = keys[..] else { panic!("two listings: {page}") };
    assert_ne!(
        one.split(' ').next(),
        other.split(' ').next(),
        "a line of one is none of the other"
    );
}

#[test]
fn a_ranking_knows_its_places_from_the_records() {
    let tiny = Tiny::new(
        "# A\n\n```predict\nid = \"rank\"\nform = \"ranking\"\nask = \"Which is `first`?\"\n\
         [[item]]\ntext = \"slow\"\nrecord = \"tiny.slow\"\n[[item]]\ntext = \"fast\"\nrecord = \"tiny.fast\"\n\
         ```\n\n<details class=\"reveal\">\n<summary>It was</summary>\n\n**fast**\n\n</details>\n",
    );
    assert_snapshot!(tiny.with_records().page());
}

#[test]
fn numbers_of_the_records_stand_in_what_can_be_chosen_too() {
    let tiny = Tiny::new(
        "# A\n\n```predict\nid = \"how\"\nform = \"choice\"\nask = \"How long?\"\n\
         [[item]]\ntext = \"{{#value tiny.slow makespan}}\"\nright = true\n\
         [[item]]\ntext = \"1 s\"\nwhy = \"It took {{#value tiny.fast makespan}}.\"\n\
         ```\n\n<details class=\"reveal\">\n<summary>It was</summary>\n\nso\n\n</details>\n",
    );
    let page = tiny.with_records().page();
    assert!(page.contains("> 6.00\u{a0}ms</label>"), "{page}");
    assert!(page.contains("It took 4.00\u{a0}ms."), "{page}");
}

#[test]
fn the_items_of_a_prediction_are_shown_in_the_order_of_its_name_or_as_they_stand() {
    let page = |more: &str| {
        let items: String = ["c", "a", "b"]
            .iter()
            .map(|text| {
                format!(
                    "[[item]]\ntext = \"{text}\"\n{}\n",
                    if *text == "a" { "right = true" } else { "why = \"no\"" }
                )
            })
            .collect();
        let page = Tiny::new(&format!(
            "# A\n\n```predict\nid = \"why\"\nform = \"choice\"\nask = \"Why?\"\n{more}{items}```\n\n\
             <details class=\"reveal\">\n<summary>It was</summary>\n\nso\n\n</details>\n"
        )).with_records().page();
        let rows = page.split(" value=\"").skip(1);
        rows.map(|row| {
            format!("{}{}", &row[..1], &row[row.find("</label>").expect("an end") - 1..][..1])
        })
        .collect::<Vec<_>>()
    };
    let items = ["0c", "1a", "2b"];
    let expected = trace::shuffle::shuffled("why", 3).into_iter().map(|at| items[at].to_owned());
    assert_eq!(
        page(""),
        expected.collect::<Vec<_>>(),
        "what is kept of an answer counts as the file does"
    );
    assert_eq!(page("in_order = true\n"), items);
}

#[test]
fn the_puzzle_of_an_exercise_is_asked_as_one_that_stands_in_the_chapter() {
    let page = |block: &str| {
        format!(
            "# A\n\n```predict\n{block}```\n\n<details class=\"reveal\">\n<summary>It was</summary>\n\n\
             **fast**\n\n</details>\n"
        )
    };
    let puzzle = |item: &str, key: &str, of: &str| {
        format!(
            "id = \"rank\"\nform = \"ranking\"\nask = \"Which is first?\"\n\
             [[{item}]]\ntext = \"slow\"\n{key} = \"{of}slow\"\n\
             [[{item}]]\ntext = \"fast\"\n{key} = \"{of}fast\"\n"
        )
    };
    let asked = |more: &str| format!("[puzzle]\n{more}{}\n", puzzle("puzzle.item", "program", ""));
    let here = Tiny::new(&page(&puzzle("item", "record", "race."))).with_records_of("race", "");
    let there = Tiny::new(&page("from = \"race\"\n")).with_records_of("race", &asked(""));
    assert_eq!(there.page(), here.page());
    let missing = Tiny::new(&page("from = \"rice\"\n")).with_records();
    let said = missing.proof();
    assert!(said.contains("page.md:3: there is no exercise `rice`"), "{said}");
    let nothing = Tiny::new(&page("from = \"race\"\n")).with_records_of("race", "").proof();
    assert!(nothing.contains("page.md:3: the exercise `race` has no `[puzzle]`"), "{nothing}");
    let broken = Tiny::new(&page("from = \"race\"\n"));
    let said = broken.with_records_of("race", &asked("from = \"it\"\n")).proof();
    let expected = "exercises/01_race/exercise.toml:2: unknown field `from`, expected one of `id`, `form`, `ask`, `in_order`, `item`";
    assert!(said.lines().any(|line| line == expected), "{said}");
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
answer.answer = "because of it"
context = "The other comes first."

[[questions]]
id = "long"
type = "Numeric"
prompt.prompt = "How long does it take?"
prompt.unit = "ms"
answer.value = "tiny.slow makespan"
answer.tolerance = 0.05
context = "It takes {{#value tiny.slow makespan}}."

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
    let manifest = "[[programs]]\nname = \"m\"\ntitle = \"m\"\n";
    let simulated =
        r#"{"version":1,"program":{"version":1,"scale":1,"sites":[],"steps":[]},"trials":[]}"#;
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
    let tiny = tiny.with("../exercises/01_ex/exercise.toml", manifest);
    let tiny = tiny.with_record("ex.m", simulated).with_record("ex.m.h200", record);
    let tiny = tiny.with("measured/h200.json", kept);
    let page = tiny.page();
    let (_, origin) = page.split_once("<ul class=\"origins\">").expect("it says where it is from");
    assert_snapshot!(origin.split_once("</ul>").expect("and ends").0.trim(), @r#"<li><b>m</b>: measured on NVIDIA H200 with driver 580.159 (CUDA 13.0) on 2026-11-21, by CUPTI activity records: <code>run &lt;it&gt;</code>. <a href="traces/ex.m.h200.json" download="">Trace for Perfetto</a></li>"#);
    assert!(page.contains("It took 100\u{a0}ns or 67\u{a0}%, and 61.2\u{a0}ms."), "{page}");
}

#[test]
fn what_the_simulated_device_is_worth_is_counted_and_what_is_far_off_has_a_row_with_its_reason() {
    let program = |name: &str, ns: u64, rest: &str| {
        format!(
            r#"{{"exercise":"ex","program":"{name}","makespan_ns":{ns},"bounds":{{"serial_ns":200,"floor_ns":50}},"ends":"task"{rest}}}"#
        )
    };
    let kept = |device: &str, profile: &str, programs: &[String], seen: &[(&str, u64)]| {
        let seen = seen.iter().map(|(name, ns)| {
            format!(r#"{{"exercise":"ex","program":"{name}","makespans_ns":[{ns}]}}"#)
        });
        format!(
            r#"{{"version":1,"device":"{device}","profile":"{profile}","programs":[{}],"visits":[
{{"date":"2026-11-27","driver":"580","cuda":13000,"host":"","cores":1,"command":"run","programs":[{}]}}]}}"#,
            programs.join(","),
            seen.collect::<Vec<_>>().join(",")
        )
    };
    let why = r#","misses":"The `host` is slow.""#;
    let programs = [
        program("good", 98, ""),
        program("fair", 92, ""),
        program("bad", 60, why),
        program("new", 1, ""),
    ];
    let one = kept("Some GPU", "one", &programs, &[("good", 100), ("fair", 100), ("bad", 100)]);
    let cold = [program("fair", 92, ""), program("bad", 60, r#","misses":"A cold day.""#)];
    let two = kept("Other GPU", "two", &cold, &[("fair", 80), ("bad", 100)]);
    let tiny = Tiny::new("# A\n\n{{#trust counts}}\n\n{{#trust off}}\n")
        .with("measured/one.json", &one)
        .with("measured/two.json", &two)
        .with_records();
    let rows = |page: &str| {
        let rows = page.split("<tr>").skip(1).map(|row| {
            let row = row.split("</tr>").next().unwrap_or_default();
            let row = row.replace("</td>", "|<").replace("</th>", "|<");
            row.split('<').filter_map(|part| part.rsplit('>').next()).collect::<String>()
        });
        rows.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(rows(&tiny.page()), @"
    GPU|profile|programs|makespan within 5 %|within 10 %|efficiency within 5 % of the scale|predicted too short|
    Other GPU|two|2|0|0|0 of 0|1|
    Some GPU|one|3|1|2|0 of 0|3|
    program|Other GPU, off by|Some GPU, off by|why|
    ex fair|+15 %|-8 %|Not looked into.|
    ex bad|-40 %|-40 %|A cold day. The host is slow.|
    ");
    let odd = Tiny::new("# A\n\n{{#trust me}}\n").with_records();
    assert_snapshot!(odd.proof(), @"book/chapters/page.md:3: `trust` takes `counts`, `off` or `alternatives`, and not `me`");

    // Those of the alternatives are counted apart, by exercise.
    let more = one.replace("\"ex\",\"program\":\"bad\"", "\"next\",\"program\":\"bad\"");
    let tiny = Tiny::new("# A\n\n{{#trust counts}}\n\n{{#trust alternatives}}\n")
        .with("measured/two.json", &two)
        .with("measured/alternatives/one.json", &more)
        .with_records();
    assert_snapshot!(rows(&tiny.page()), @"
    GPU|profile|programs|makespan within 5 %|within 10 %|efficiency within 5 % of the scale|predicted too short|
    Other GPU|two|2|0|0|0 of 0|1|
    exercise|programs|makespan within 5 %|within 10 %|off by, at the median|predicted too short|
    ex|2|1|2|-8.0 %|2|
    next|1|0|0|-40.0 %|1|
    all|3|1|2|-8.0 %|3|
    ");
}

#[test]
fn a_mark_belongs_on_the_lanes_of_its_record() {
    let tiny = Tiny::new(
        "# A\n\n```predict\nid = \"when\"\nform = \"mark\"\nask = \"When?\"\nrecord = \"tiny.slow\"\n\
         metric = \"first_upload\"\n```\n\n<details class=\"reveal\">\n<summary>Then</summary>\n\n</details>\n",
    );
    let page = tiny.with_records().page();
    // The run's first upload starts at 3 of its 6 ms, and the drawing does not show it.
    assert!(page.contains(
        "max=\"6000000\" value=\"0\" step=\"30000\" data-value=\"3000000\" data-text=\"3.00 ms\""
    ));
    assert!(!page.contains("tabindex=\"0\" role=\"img\""), "bars on an empty timeline");
}

#[test]
fn every_code_stands_in_the_index_with_its_first_sentence_and_its_chapter() {
    let tiny = Tiny::new("# A\n\n{{#codes ../explain}}\n");
    let codes = trace::hazards::Code::ALL.iter().map(|code| code.as_str());
    let codes = codes.chain(trace::causes::Code::ALL.iter().map(|code| code.as_str()));
    let tiny = codes.clone().fold(tiny, |tiny, code| {
        let text = format!(
            "# {code} some-name\n\n## What happens\nIt takes 0.2 ms, for\n`{code}`. More.\n\n\
             ## How to fix it\nSo.\n\n## Chapter\nPage; Not yet: a title.\n"
        );
        tiny.with(&format!("explain/{code}.md"), &text)
    });
    let page = tiny.page();
    assert_eq!(page.matches("<tr id=\"swim-").count(), codes.count());
    let (_, row) = page.split_once("<tr id=\"swim-c07\">").expect("a row");
    assert_snapshot!(row.split_once("</tr>").expect("its end").0, @r#"<th scope="row"><code>SWIM-C07</code> some-name</th><td>It takes 0.2 ms, for <code>SWIM-C07</code>.</td><td><a href="page.html">Page</a>; Not yet: a title (not written yet)</td>"#);
}

#[test]
fn what_a_gpu_did_is_read_from_what_is_kept_of_it() {
    let kept = r#"{"device":"NVIDIA H200","driver":"580.159.04, CUDA 13.0","date":"2026-11-21","rows":{
"a copy <up>":["host free","streams overlap"],"a copy down":["host blocked"],"a crash":{"failed":"signal"}}}"#;
    let block = "```rows\nfrom = \"../kept.json\"\nrows = [\"a copy <up>\"]\n```\n";
    let tiny = Tiny::new(&format!("# A\n\n{block}")).with("kept.json", kept);
    assert_snapshot!(tiny.page());
}

#[test]
fn a_curve_has_a_point_for_each_number_and_a_table_of_the_same() {
    let line = |title: &str, values: &str| {
        format!("\n[[line]]\ntitle = \"{title}\"\nvalues = \"{values}\"\n")
    };
    let lines = [
        line("one <way>", "tiny.slow makespan over tiny.fast makespan"),
        line("the other", "tiny.fast makespan over tiny.slow makespan"),
    ];
    let block = format!(
        "```curve\nid = \"c\"\ncaption = \"A `c`.\"\nx = \"images\"\ny = \"times\"\nat = [1, 8, 64]\n{}```\n",
        lines.concat()
    );
    let page = Tiny::new(&format!("# A\n\n{block}")).with_records().page();
    let (_, figure) = page.split_once("<figure").expect("a figure");
    assert_snapshot!(figure.split_once("</figure>").expect("its end").0);
}

#[test]
fn minutes_are_those_of_readers_beside_what_there_is_to_read_and_a_chapter_without_any_says_so() {
    let trial = |page: u32| {
        format!(
            "[[trial]]\nchapter = \"page\"\ndate = \"2026-11-21\"\nreader = \"r\"\npage = {page}\n"
        )
    };
    let quiz = "[[questions]]\nid = \"q\"\ntype = \"Numeric\"\nprompt.prompt = \"How many?\"\n\
                prompt.unit = \"parts\"\nanswer.value = \"1\"\nanswer.tolerance = 0.1\ncontext = \"So.\"\n";
    let programs = "```text\nwords that are no prose\n```\n";
    let tiny =
        Tiny::new(&format!("# A\n\nTwo words.\n\n{programs}\n{{{{#minutes ../minutes.toml}}}}\n"))
            .with("quizzes/page.toml", quiz)
            .with("minutes.toml", &[30, 50, 40].map(trial).concat());
    let page = tiny.page();
    assert!(
        page.contains("<td>40 minutes (30 to 50, 3 readers)</td><td>not tried yet</td>"),
        "{page}"
    );
    // No exercise, no predictions, one question.
    assert!(page.contains("<td>3</td><td>1 min</td><td>0 and 1</td><td>–</td>"), "{page}");
}

const TWO: &str = "[[program]]\nname = \"tiny.one\"\n\
                   [[program]]\nname = \"tiny.two\"\n";
const ONE_IN_PYTHON: &str =
    "import torch\n\n\ndef f(\n    x,\n):\n    a()\n\n    return x\n\n\nf(1)\n";
const ONE_IN_CPP: &str = "// ANCHOR: all\n  // ANCHOR: f\n  int f() {\n    a();\n  }\n  // ANCHOR_END: f\n// ANCHOR_END: all\n";

/// A puzzle with `also` beside its two programs.
pub(crate) fn puzzle_with(also: &str) -> Tiny {
    Tiny::new(&format!("# A\n\n```puzzle\nfunction = \"f\"\n{TWO}{also}```\n"))
        .with_programs(&[
            ("one", "fn f() {\n    a();\n    wait();\n}\n"),
            ("two", "fn f() {\n    a();\n}\n"),
        ])
        .with("chapters/one.py", ONE_IN_PYTHON)
        .with("chapters/one.cu", ONE_IN_CPP)
}

#[test]
fn a_puzzle_in_other_languages_has_a_fold_for_each() {
    let also = "[[also]]\nlanguage = \"PyTorch\"\nfile = \"one.py\"\nfunction = \"f\"\n\
                [[also]]\nlanguage = \"CUDA C++\"\nfile = \"one.cu\"\nanchor = \"f\"\n\
                [[also]]\nlanguage = \"CUDA C++\"\nfile = \"one.cu\"\nfunction = \"f\"\n";
    let page = puzzle_with(also).page();
    let (_, others) = page.split_once("<details class=\"tab\"").expect("a fold");
    assert_snapshot!(others);
}

#[test]
fn a_listing_in_another_language_that_is_not_there_is_named() {
    let also = |language: &str, rest: &str| {
        let also = format!("[[also]]\nlanguage = \"{language}\"\nfile = \"one.py\"\n{rest}");
        let said = puzzle_with(&also).proof();
        said.lines()
            .filter(|line| !line.contains("this chapter has"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(also("PyTorch", "function = \"g\"\n"), @"
book/chapters/page.md:3: there is no function `g` in `one.py`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.one` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.solution` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:4: the program of record `tiny.two` has not been run yet: `cargo run -- dev record tiny`
");
    assert_snapshot!(also("PyTorch", "anchor = \"g\"\n"), @"
book/chapters/page.md:3: there is no anchor `g` in `one.py`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.one` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.solution` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:4: the program of record `tiny.two` has not been run yet: `cargo run -- dev record tiny`
");
    assert_snapshot!(also("PyTorch", ""), @"
book/chapters/page.md:3: `one.py` needs one of `function` and `anchor`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.one` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.solution` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:4: the program of record `tiny.two` has not been run yet: `cargo run -- dev record tiny`
");
    assert_snapshot!(also("JAX", "function = \"f\"\n"), @"
book/chapters/page.md:10: unknown variant `JAX`, expected `PyTorch` or `CUDA C++`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.one` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.solution` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:4: the program of record `tiny.two` has not been run yet: `cargo run -- dev record tiny`
");
}

#[test]
fn a_number_that_begins_a_sentence_begins_no_list() {
    let quiz = "[[questions]]\nid = \"q\"\ntype = \"Numeric\"\nprompt.prompt = \"How many?\"\n\
                prompt.unit = \"parts\"\nanswer.value = \"1\"\nanswer.tolerance = 0.1\n\
                context = \"{{#value tiny.slow launches_before_held}}. So many.\"\n";
    let tiny = Tiny::new(
        "# A\n\n{{#value tiny.slow launches_before_held}}. Text.\n\n{{#quiz ../quizzes/q.toml}}\n",
    );
    let page = tiny.with("quizzes/q.toml", quiz).with_records().page();
    assert!(page.contains("<p>0. Text.</p>") && page.contains("<p>0. So many.</p>"), "{page}");
}

#[test]
fn what_a_gate_keeps_and_what_a_script_makes_of_a_figure_is_not_in_the_search_index() {
    let chapter = "# A\n\nUpstream.\n\n```figure\nid = \"f\"\ncaption = \"Whitewater.\"\nrecords = [\"tiny.slow\"]\n```\n\n\
                   ```predict\nid = \"p\"\nform = \"choice\"\nask = \"Which?\"\n\
                   [[item]]\ntext = \"a\"\nright = true\n[[item]]\ntext = \"b\"\nwhy = \"sidestream\"\n```\n\n\
                   <details class=\"reveal\">\n<summary>So</summary>\n\nMidstream.\n\n</details>\n\n## Downstream\n";
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = Tiny::new(chapter).with_records().build(scratch.path());
    let files = std::fs::read_dir(folder).expect("a site").flatten();
    let mut files =
        files.filter(|file| file.file_name().to_string_lossy().starts_with("searchindex"));
    let index = std::fs::read_to_string(files.next().expect("an index").path()).expect("text");
    assert!(index.contains("Upstream") && index.contains("Whitewater"), "{index}");
    for word in ["Midstream", "Downstream", "sidestream", "arrow keys", ">empty<"] {
        assert!(!index.contains(word), "{word}: {index}");
    }
}
