//! What `STYLE.md` asks of prose, as far as a program checks it: each fault is planted, and named with its line.

use book::proof::{Look, page_names};
use insta::assert_snapshot;

use crate::real::root;
use crate::tiny::Tiny;

const STYLE: &str = r#"
waiting = []
[limits]
sentence_words = 8
mean_sentence_words = 6
chapter_words = 30
[[instead]]
of = "behind"
write = "after"
except = ["hidden behind"]
[[instead]]
of = "asks for"
write = "issues"
"#;

fn style(chapter: &str) -> Tiny {
    Tiny::new(chapter).with("style.toml", STYLE)
}

#[test]
fn words_that_stand_for_others_are_named_wherever_they_are_read() {
    let chapter = "# Behind\n\nIt is hidden behind it. It stands `behind` [this](page.md#behind)\n\
                   and asks\nfor more. Not beHind, or left behind-hand.\n\n<!-- behind -->\n\n\
                   ```figure\nid = \"behind\"\ncaption = \"Behind it.\"\nrecords = [\"tiny.fast\"]\n```\n\n\
                   | a | b |\n| - | - |\n| c | behind |\n";
    let quiz = "[[questions]]\nid = \"behind\"\ntype = \"Numeric\"\nprompt.prompt = \"\"\"\nHow long\nbehind?\"\"\"\n";
    let tiny = style(chapter).with("quizzes/page.toml", quiz).with_records();
    let tiny = tiny
        .with("../exercises/01_page/exercise.toml", "[[hints]]\nlevels = [\"a\",\n \"behind\"]\n");
    assert_snapshot!(tiny.listed(Look::Style), @"
book/chapters/page.md:1: `behind`: write after
book/chapters/page.md:4: `asks for`: write issues
book/chapters/page.md:5: `behind`: write after
book/chapters/page.md:11: `behind`: write after
book/chapters/page.md:17: `behind`: write after
book/quizzes/page.toml:5: `behind`: write after
exercises/01_page/exercise.toml:3: `behind`: write after
");
}

#[test]
fn long_sentences_and_long_pages_are_named() {
    let chapter = "# A\n\nOne two three four five six seven eight nine. Ten, e.g. eleven.\n\n\
                   - One `a b c d` {{#value tiny.fast makespan}} four five six seven.\n\n\
                   | one two three four five | six seven eight nine |\n| - | - |\n\n\
                   ## Exercise\n\nShort. But the mean of all is what counts.\n";
    let tight = STYLE.replace("words = 30", "words = 20").replace("words = 6", "words = 5");
    let tiny = Tiny::new(chapter).with("style.toml", &tight).with_records();
    assert_snapshot!(tiny.listed(Look::Style), @"
book/chapters/page.md:1: 29 words before the exercise, of at most 20
book/chapters/page.md:1: sentences of 5.6 words in the mean, of at most 5
book/chapters/page.md:3: a sentence of 9 words, of at most 8: One two three four five six …
");
}

#[test]
fn faults_of_style_are_fatal_but_on_pages_that_wait() {
    let waits =
        Tiny::new("# A\n\nBehind.\n").with("style.toml", &STYLE.replace("[]", "[\"page\"]"));
    assert_snapshot!(waits.proof(), @"4 pages");
    assert_snapshot!(style("# A\n\nBehind.\n").proof(), @"book/chapters/page.md:3: `behind`: write after");
}

/// A book that has one of each thing that a mark names.
fn claims(chapter: &str) -> Tiny {
    let kept = r#"{"version":1,"device":"NVIDIA H200","profile":"h200","programs":[],"visits":[],
"noted":[{"name":"torch","ns":61200000,"source":"by hand"}]}"#;
    let rows = r#"{"rows":{"a copy down":["host blocked"],"a crash":{"failed":"signal"}}}"#;
    let scores = "---\nsource: x\n---\nex   half    9.758 ms   0.603   63.6 failed\nex  whole  9.7 ms  1.0  98.2 passed\n";
    Tiny::new(chapter)
        .with("style.toml", STYLE)
        .with("measured/h200.json", kept)
        .with("../exercises/lab/tests/conformance/h200.json", rows)
        .with("../checker/tests/alternatives/ex/half.rs", "")
        .with("../checker/tests/alternatives/ex/whole.rs", "")
        .with("../checker/tests/it/snapshots/it__alternatives__alternatives_of_ex.snap", scores)
        .with_records()
}

#[test]
fn claims_that_nothing_shows_are_named() {
    let chapter = "# CUDA\n\nCUDA runs them in order.\n\nText.\n\n- `cuMemAlloc` waits.\n- So it is.\n\n\
                   | a |\n| - |\n| `torch.cuda.Event` |\n\nText.\n\nThe driver stages it.\n\n\
                   This is guaranteed.\n\nThe documentation says no.\n\nIn CUDA C++ it looks the same. A driver drives.\n\n\
                   `x.cuda()` and cubes.\n";
    assert_snapshot!(claims(chapter).listed(Look::Claims), @"
book/chapters/page.md:3: nothing shows this claim about CUDA
book/chapters/page.md:7: nothing shows this claim about `cuMemAlloc`
book/chapters/page.md:10: nothing shows this claim about `torch.cuda.Event`
book/chapters/page.md:16: nothing shows this claim about the driver
book/chapters/page.md:18: nothing shows this claim about a guarantee
book/chapters/page.md:20: nothing shows this claim about the documentation
");
}

#[test]
fn what_shows_a_claim_stands_in_it_or_right_next_to_it() {
    let chapter = "# A\n\nCUDA [says so](https://docs.nvidia.com/x).\n\nCUDA took {{#value tiny.fast makespan}}.\n\n\
                   CUDA does. <!-- shown: simulator -->\n\nCUDA does.\n\n```figure\nid = \"f\"\ncaption = \"CUDA\"\n\
                   records = [\"tiny.fast\"]\n```\n\nCUDA does.\n\nText.\n\n<!-- shown: follows from this -->\n\nCUDA does.\n\n\
                   Text.\n\nCUDA does [here](page.md).\n";
    assert_snapshot!(claims(chapter).listed(Look::Claims), @"book/chapters/page.md:27: nothing shows this claim about CUDA");
}

#[test]
fn marks_name_what_is_there() {
    let marks = [
        "row \"a copy down\"",
        "row \"a crash\"",
        "row \"a copy up\"",
        "measured torch",
        "measured jax",
        "doc https://docs.nvidia.com/x",
        "doc docs.nvidia.com",
        "simulator",
        "simulator, mostly",
        "follows from the first",
        "follows from",
        "hearsay",
        "run ex/half scores 64 fails",
        "run ex/half scores 63.6",
        "run ex/whole passes",
        "run ex/solution scores 100 passes",
        "run ex/half passes",
        "run ex/whole scores 97",
        "run ex/half",
        "run ex/none fails",
    ];
    let chapter: String = marks.iter().map(|mark| format!("<!-- shown: {mark} -->\n\n")).collect();
    assert_snapshot!(claims(&format!("# A\n\n{chapter}")).listed(Look::Claims), @r#"
book/chapters/page.md:5: no GPU gave a clear answer to a row `a crash`
book/chapters/page.md:7: no GPU gave a clear answer to a row `a copy up`
book/chapters/page.md:11: no figure `jax` is noted of NVIDIA H200
book/chapters/page.md:15: `docs.nvidia.com` is not the address of a page of documentation
book/chapters/page.md:19: `shown: simulator, mostly` is none of `row "NAME"`, `run EXERCISE/NAME scores N passes`, `measured KEY`, `doc URL`, `simulator` and `follows from …`
book/chapters/page.md:23: `shown: follows from` is none of `row "NAME"`, `run EXERCISE/NAME scores N passes`, `measured KEY`, `doc URL`, `simulator` and `follows from …`
book/chapters/page.md:25: `shown: hearsay` is none of `row "NAME"`, `run EXERCISE/NAME scores N passes`, `measured KEY`, `doc URL`, `simulator` and `follows from …`
book/chapters/page.md:35: `ex/half` scores 63.6 and failed
book/chapters/page.md:37: `ex/whole` scores 98.2 and passed
book/chapters/page.md:39: say what `ex/half` does: `scores 63.6` or `failed`
book/chapters/page.md:41: there is no `checker/tests/alternatives/ex/none.rs`
"#);
}

#[test]
fn a_sentence_on_what_a_change_scores_needs_a_program_that_does() {
    let chapter = "# A\n\nWith 256 it scores 98. <!-- shown: run ex/whole scores 98 passes -->\n\nIt scored 64.\n\n\
                   You still pass. <!-- shown: follows from this -->\n\nA queue passes work on. Why do you not pass?\n\n\
                   ## Exercise\n\nYou pass with 80. The shipped file scores 0.\n\nThat passes.\n\nHalf of it fails\n\
                   to pass.\n<!-- shown: run ex/half fails -->\n";
    assert_snapshot!(claims(chapter).listed(Look::Claims), @"
book/chapters/page.md:5: no `<!-- shown: run EXERCISE/NAME … -->` shows what this scores or that it passes
book/chapters/page.md:7: no `<!-- shown: run EXERCISE/NAME … -->` shows what this scores or that it passes
book/chapters/page.md:15: no `<!-- shown: run EXERCISE/NAME … -->` shows what this scores or that it passes
");
}

#[test]
fn claims_are_fatal_and_marks_are_on_no_page() {
    assert_snapshot!(claims("# A\n\nCUDA does.\n").proof(), @"book/chapters/page.md:3: nothing shows this claim about CUDA");
    let page = claims("# A\n\nCUDA does. <!-- shown: simulator -->\n").page();
    assert!(page.contains("CUDA does.</p>") && !page.contains("shown:"), "{page}");
}

#[test]
fn a_page_that_waits_is_there() {
    let text = std::fs::read_to_string(root().join("style.toml")).expect("the style");
    let style: book::proof::style::Style = toml::from_str(&text).expect("TOML");
    let names = page_names(&root()).expect("a book");
    let gone: Vec<_> = style.waiting.iter().filter(|name| !names.contains(name)).collect();
    assert!(gone.is_empty(), "no such pages: {gone:?}");
}
