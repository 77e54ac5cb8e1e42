//! Each book is broken in one way, and `proof` names the file and the line.

use insta::assert_snapshot;

use crate::tiny::Tiny;

#[test]
fn a_sound_book_has_nothing_to_complain_about() {
    assert_snapshot!(Tiny::new("# A\n\n[to itself](page.md#a)\n").proof(), @"4 pages");
}

#[test]
fn an_include_of_a_file_that_is_not_there() {
    let tiny = Tiny::new("# A\n\n```rust\n{{#include gone.rs}}\n```\n");
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:4: cannot include `gone.rs`: No such file or directory (os error 2)");
}

#[test]
fn an_include_of_an_anchor_that_is_not_there() {
    let tiny = Tiny::new("# A\n\n```rust\n{{#include real.rs:nope}}\n```\n")
        .with("chapters/real.rs", "// ANCHOR: yes\nfn f() {}\n// ANCHOR_END: yes\n");
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:4: there is no anchor `nope` in `real.rs`");
}

#[test]
fn an_empty_listing() {
    let tiny =
        Tiny::new("# A\n\n```rust\n{{#include real.rs:yes}}\n{{#include real.rs:9:}}\n```\n")
            .with("chapters/real.rs", "// ANCHOR: yes\n\n// ANCHOR_END: yes\n");
    assert_snapshot!(tiny.proof(), @"
book/chapters/page.md:4: the listing `real.rs:yes` is empty
book/chapters/page.md:5: the listing `real.rs:9:` is empty
");
}

#[test]
fn a_link_to_a_page_that_is_not_there() {
    assert_snapshot!(Tiny::new("# A\n\nSee [this](missing.md).\n").proof(), @"book/chapters/page.md:3: `missing.html` leads to no page");
}

#[test]
fn a_link_to_an_anchor_that_is_not_there() {
    assert_snapshot!(Tiny::new("# A\n\nSee [this](page.md#b) and [that](#c).\n").proof(), @"
book/chapters/page.md:3: `#c`: that page has no anchor `c`
book/chapters/page.md:3: `page.html#b`: that page has no anchor `b`
");
}

#[test]
fn an_empty_line_in_a_drawing() {
    let tiny = Tiny::new("# A\n\n<svg viewBox=\"0 0 1 1\">\n<g>\n\n<path d=\"M0 0\"/></g></svg>\n");
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:5: an empty line in a drawing: mdBook would drop the rest of it");
}

#[test]
fn a_key_that_the_html_configuration_does_not_have() {
    let tiny = Tiny::new("# A\n").with_config("input-404", "colour = 1\ninput-404");
    assert_snapshot!(tiny.proof(), @"book/book.toml:34: mdBook would drop all of [output.html]: unknown field `colour`, expected one of `theme`, `default-theme`, `preferred-dark-theme`, `smart-punctuation`, `definition-lists`, `admonitions`, `mathjax-support`, `additional-css`, `additional-js`, `fold`, `playground`, `playpen`, `code`, `print`, `no-section-label`, `search`, `git-repository-url`, `git-repository-icon`, `input-404`, `site-url`, `cname`, `edit-url-template`, `live-reload-endpoint`, `redirect`, `hash-files`, `sidebar-header-nav`");
}

#[test]
fn a_preprocessor_that_is_not_there() {
    let tiny = Tiny::new("# A\n").with_config("[preprocessor.quiz]", "[preprocessor.quizz]");
    assert_snapshot!(tiny.proof(), @"
book/book.toml: [preprocessor.quiz] is missing: stock mdBook would leave its blocks as they are
book/book.toml:17: there is no preprocessor `quizz` in this program
");
}

#[test]
fn a_preprocessor_that_may_be_missing() {
    let tiny = Tiny::new("# A\n").with_config(
        "command = \"book preprocess quiz\"",
        "command = \"book preprocess quiz\"\noptional = true",
    );
    assert_snapshot!(tiny.proof(), @"book/book.toml:17: preprocessor `quiz` may not be optional: its blocks would be left as they are");
}

#[test]
fn an_id_that_occurs_twice() {
    assert_snapshot!(Tiny::new("# A\n\n<p id=\"x\">1</p>\n\n<p id=\"x\">2</p>\n").proof(), @"book/chapters/page.md:3: the id `x` occurs twice");
}

#[test]
fn a_reference_to_an_id_that_is_not_there() {
    let tiny =
        Tiny::new("# A\n\n<p aria-labelledby=\"who\">1</p>\n\n<label for=\"it\">2</label>\n");
    assert_snapshot!(tiny.proof(), @"
book/chapters/page.md:3: `aria-labelledby` names the id `who`, which this page lacks
book/chapters/page.md:5: `for` names the id `it`, which this page lacks
");
}

#[test]
fn something_from_another_origin() {
    let tiny = Tiny::new("# A\n\n![x](https://example.org/x.png)\n\n[y](https://example.org/)\n");
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:3: `img` would load `https://example.org/x.png` from another origin");
}

#[test]
fn a_warning_that_mdbook_only_logs() {
    assert_snapshot!(Tiny::new("# A\n\n<div>never closed\n").proof(), @"book/book.toml: unclosed HTML tag `<div>` found in `page.md`");
}

#[test]
fn a_figure_of_a_record_that_is_not_there() {
    let tiny =
        Tiny::new("# A\n\n```figure\nid = \"f\"\ncaption = \"c\"\nrecords = [\"quick\"]\n```\n");
    assert_snapshot!(tiny.with_records().proof(), @"book/chapters/page.md:3: there is no record `quick`");
}

#[test]
fn a_figure_with_an_unknown_key() {
    let tiny = Tiny::new(
        "# A\n\n```figure\nid = \"f\"\ncaption = \"c\"\nrecord = [\"tiny.fast\"]\nrecords = [\"tiny.fast\"]\n```\n",
    );
    assert_snapshot!(tiny.with_records().proof(), @"book/chapters/page.md:6: unknown field `record`, expected one of `id`, `caption`, `lanes`, `records`");
}

#[test]
fn a_number_that_no_record_has() {
    let tiny =
        Tiny::new("# A\n\nIt took {{#value tiny.fast span}} and {{#value quick makespan}}.\n");
    assert_snapshot!(tiny.with_records().proof(), @"
book/chapters/page.md:3: there is no metric `span`; there are: makespan, kernels, kernel, up, down, hidden, exposed, overlap, all_lanes, idle, blocked, efficiency, freedom, latency, latency_ratio, host_work, after_launches, after_downloads, after_uploads, queued_after_launches, queued_after_downloads, in_uploads, launches_before_held, first_upload, first_download, last_copy, first_upload_call, last_upload_call, last_download_call, fill, drain, wrong, memory
book/chapters/page.md:3: there is no record `quick`
");
}

#[test]
fn a_file_of_an_exercise_that_is_not_there() {
    let chapter = "# A\n\nIn `exercises/01_tiny/examples/tiny_a.rs`, not in\n`exercises/01_tiny/examples/tiny_b.rs`.\n\n\
                   Yours is `exercises/NN_name/src/lib.rs`.\n";
    let tiny = Tiny::new(chapter).with_records();
    let tiny = tiny.with("../exercises/01_tiny/examples/tiny_a.rs", "fn main() {}\n");
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:4: there is no `exercises/01_tiny/examples/tiny_b.rs`");
}

#[test]
fn a_record_without_its_file() {
    let manifest = "title = \"a\"\n[[programs]]\nname = \"b\"\ntitle = \"b\"\n";
    let tiny = Tiny::new("# A\n").with("../exercises/01_a/exercise.toml", manifest);
    assert_snapshot!(tiny.proof(), @"
exercises/01_a/exercise.toml:1: the program of record `a.solution` has not been run yet: `cargo run -- dev record a`
exercises/01_a/exercise.toml:2: the program of record `a.b` has not been run yet: `cargo run -- dev record a`
");
}

#[test]
fn a_puzzle_of_three_programs() {
    let program = |name: &str| format!("[[program]]\nname = \"tiny.{name}\"\n");
    let three = ["a", "b", "c"].map(program).concat();
    let tiny = Tiny::new(&format!("# A\n\n```puzzle\nfunction = \"main\"\n{three}```\n"));
    let said = tiny.proof();
    assert!(said.contains("page.md:3: a puzzle is two programs side by side"), "{said}");
}

#[test]
fn the_proof_of_one_chapter_passes_over_others_unless_they_keep_it_from_being_looked_at() {
    let summary = "# Summary\n\n- [Page](page.md)\n- [Other](other.md)\n";
    let pair = |other: &str| {
        let tiny = Tiny::new("# A\n\nSound.\n").with("chapters/SUMMARY.md", summary);
        tiny.with("chapters/other.md", other)
    };
    let elsewhere = pair("# B\n\nSee [this](missing.md).\n");
    assert_eq!(elsewhere.proof_of("page"), Vec::<String>::new());
    assert_eq!(elsewhere.proof_of("other").len(), 1);
    let cut_short = pair("# B\n").with_config("input-404", "colour");
    let [said] = &cut_short.proof_of("page")[..] else { panic!("one problem") };
    assert!(said.starts_with("book/book.toml:"), "{said}");
}

#[test]
fn a_puzzle_of_two_programs_that_are_the_same() {
    let block = "```puzzle\nfunction = \"main\"\n[[program]]\nname = \"tiny.a\"\n\
                 [[program]]\nname = \"tiny.a\"\ntitle = \"b\"\n```\n";
    let tiny = Tiny::new(&format!("# A\n\n{block}")).with_programs(&[("a", "fn main() {\n}\n")]);
    assert_snapshot!(tiny.proof(), @"
book/chapters/page.md:1: this chapter has fewer than 2 `figure` blocks
book/chapters/page.md:1: this chapter has fewer than 2 `predict` blocks
book/chapters/page.md:1: this chapter has no part `Discussion`
book/chapters/page.md:1: this chapter has no part `Exercise`
book/chapters/page.md:1: this chapter has no part `Explore more`
book/chapters/page.md:1: this chapter has no part `In your code`
book/chapters/page.md:1: this chapter has no part `Quiz`
book/chapters/page.md:1: this chapter has no part `The puzzle`
book/chapters/page.md:1: this chapter has no part `What should you remember in ten years?`
book/chapters/page.md:1: this chapter has no part `Why`
book/chapters/page.md:1: this chapter has no quiz
book/chapters/page.md:3: the two programs are the same
exercises/01_tiny/exercise.toml:1: the program of record `tiny.a` has not been run yet: `cargo run -- dev record tiny`
exercises/01_tiny/exercise.toml:1: the program of record `tiny.solution` has not been run yet: `cargo run -- dev record tiny`
");
}

#[test]
fn a_prediction_without_an_answer_after_it() {
    let block = "```predict\nid = \"p\"\nform = \"choice\"\nask = \"Which?\"\n\
                 [[item]]\ntext = \"a\"\nright = true\n[[item]]\ntext = \"b\"\n```\n";
    assert_snapshot!(Tiny::new(&format!("# A\n\n{block}")).proof(), @r#"
book/chapters/page.md:3: each item that is not `right` says `why`, and no other does
book/chapters/page.md:3: no `<details class="reveal">` follows this prediction
"#);
}

#[test]
fn a_prediction_whose_right_item_is_the_longest() {
    let block = |id: &str, right: &str| {
        format!(
            "```predict\nid = \"{id}\"\nform = \"choice\"\nask = \"Which?\"\n\
             [[item]]\ntext = \"{right}\"\nright = true\n[[item]]\ntext = \"the first of them\"\nwhy = \"No.\"\n```\n\n\
             <details class=\"reveal\">\n<summary>It was</summary>\n\nso\n\n</details>\n\n"
        )
    };
    let page = |rights: &[&str]| {
        let blocks = rights.iter().enumerate().map(|(at, right)| block(&format!("p{at}"), right));
        Tiny::new(&format!("# A\n\n{}", blocks.collect::<String>())).proof()
    };
    let (short, long, far) =
        ("the last of them", "the second of them", "neither the first nor the last");
    assert!(!page(&[short, short]).contains("longest"));
    assert!(!page(&[short, long, short]).contains("longest"));
    assert_snapshot!(page(&[short, long]), @"book/chapters/page.md:1: the right choice is the longest in 1 of 2 questions, of at most 0: so the longest is the safe guess");
    assert_snapshot!(page(&[short, short, far]), @"book/chapters/page.md:41: the right choice is a fifth longer than every other, which gives it away");
}

#[test]
fn a_quiz_with_an_unknown_key() {
    let quiz = "[[questions]]\nid = \"q\"\ntype = \"Numeric\"\nprompt.prompt = \"How long?\"\n\
                prompt.unit = \"ms\"\nanswer.value = \"1\"\nanswer.tolerence = 0.1\ncontext = \"So.\"\n";
    let tiny = Tiny::new("# A\n\n{{#quiz ../quizzes/q.toml}}\n").with("quizzes/q.toml", quiz);
    assert_snapshot!(tiny.proof(), @"book/quizzes/q.toml:7: unknown field `tolerence`, expected one of `answer`, `alternatives`, `stdout`, `value`, `tolerance`, `before`, `which`");
}

#[test]
fn a_playground_with_a_choice_that_it_does_not_have() {
    let tiny = Tiny::new("# A\n\n{{#play sheet=pipeline&streams=9}}\n");
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:3: no playground has `streams=9`");
}

#[test]
fn a_prediction_by_mark_that_names_no_time() {
    let block = "```predict\nid = \"p\"\nform = \"mark\"\nask = \"When?\"\nrecord = \"tiny.slow\"\n\
                 metric = \"hidden\"\n```\n\n<details class=\"reveal\">\n<summary>x</summary>\n</details>\n";
    let tiny = Tiny::new(&format!("# A\n\n{block}")).with_records();
    assert_snapshot!(tiny.proof(), @"book/chapters/page.md:3: `hidden` is not a time");
}

/// A page as `checker dev new` starts it.
#[test]
fn a_page_that_was_started_has_all_its_parts_and_places_to_fill() {
    let model = |name: &str| {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../checker/author/template");
        let text = std::fs::read_to_string(path.join(name)).expect("the model");
        text.replace("chapter_name", "page")
    };
    let tiny = Tiny::new(&model("page.md"))
        .with("../exercises/00_page/exercise.toml", &model("exercise.toml"))
        .with("../exercises/00_page/src/lib.rs", &model("lib.rs"))
        .with("../exercises/00_page/examples/page_first.rs", &model("first.rs"))
        .with("../exercises/00_page/examples/page_second.rs", &model("second.rs"))
        .with("quizzes/page.toml", &model("quiz.toml"));
    let said = tiny.proof();
    let (written, others): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.contains(": still to be written: "));
    assert!(written.len() > 20, "{said}");
    assert_snapshot!(others.join("\n"), @"
exercises/00_page/exercise.toml:1: the program of record `page.solution` has not been run yet: `cargo run -- dev record page`
exercises/00_page/exercise.toml:33: the program of record `page.first` has not been run yet: `cargo run -- dev record page`
exercises/00_page/exercise.toml:37: the program of record `page.second` has not been run yet: `cargo run -- dev record page`
");
    let all = [model("page.md"), model("quiz.toml")].concat();
    assert_eq!(written.len(), all.lines().filter(|line| line.contains("WRITE: ")).count());
}

#[test]
fn a_quiz_that_is_not_there() {
    assert_snapshot!(Tiny::new("# A\n\n{{#quiz ../quizzes/q.toml}}\n").proof(), @"book/chapters/page.md:3: cannot read quiz `../quizzes/q.toml`: No such file or directory (os error 2)");
}

#[test]
fn a_row_that_no_gpu_was_asked() {
    let kept =
        r#"{"device":"g","driver":"d","date":"2026-11-21","rows":{"a crash":{"failed":"signal"}}}"#;
    let block = |row: &str| format!("```rows\nfrom = \"../kept.json\"\nrows = [\"{row}\"]\n```\n");
    let tiny = Tiny::new(&format!("# A\n\n{}\n{}", block("another"), block("a crash")));
    assert_snapshot!(tiny.with("kept.json", kept).proof(), @"
book/chapters/page.md:3: `../kept.json` has no row `another`
book/chapters/page.md:8: `a crash` has no clear answer
");
}

#[test]
fn a_curve_of_times_of_nothing_or_of_numbers_in_no_order() {
    let block = |at: &str, values: &str| {
        format!(
            "```curve\nid = \"c\"\ncaption = \"c\"\nx = \"x\"\ny = \"y\"\nat = [{at}]\n\n\
             [[line]]\ntitle = \"t\"\nvalues = \"{values}\"\n```\n"
        )
    };
    let ratio = "tiny.slow makespan over tiny.fast makespan";
    let blocks = [
        block("1, 2", "tiny.slow makespan"),
        block("1, 2", "tiny.{} makespan over tiny.fast makespan"),
        block("2, 1", ratio),
        block("0, 1", ratio),
        block("1", ratio),
    ];
    let tiny = Tiny::new(&format!("# A\n\n{}", blocks.join("\n"))).with_records();
    assert_snapshot!(tiny.proof());
}

#[test]
fn a_code_without_a_page() {
    assert_snapshot!(Tiny::new("# A\n\n{{#codes ../explain}}\n").proof(), @"book/chapters/page.md:3: cannot read the page of `SWIM-H01`: No such file or directory (os error 2)");
}

#[test]
fn minutes_of_a_chapter_that_is_not_there() {
    let minutes =
        "# a\n[[trial]]\nchapter = \"gone\"\ndate = \"2026-11-21\"\nreader = \"r\"\npage = 1\n";
    let tiny = Tiny::new("# A\n\n{{#minutes ../minutes.toml}}\n").with("minutes.toml", minutes);
    assert_snapshot!(tiny.proof(), @"book/minutes.toml:2: there is no chapter `gone`");
}

/// A chapter with two gates. `above` stands above the first, `between` after the first reveal.
fn gated(above: &str, between: &str) -> String {
    let quiz = "[[questions]]\nid = \"q\"\ntype = \"Numeric\"\nprompt.prompt = \"Of 4.00 ms, how long?\"\n\
                prompt.unit = \"ms\"\nanswer.value = \"1\"\nanswer.tolerance = 0.1\ncontext = \"So.\"\n";
    let chapter = format!(
        "# A\n\n{above}\n\n```predict\nid = \"rank\"\nform = \"ranking\"\nask = \"Which is first?\"\n\
         [[item]]\ntext = \"slow\"\nrecord = \"tiny.slow\"\n[[item]]\ntext = \"fast\"\nrecord = \"tiny.fast\"\n```\n\n\
         <details class=\"reveal\">\n<summary>So</summary>\n\nOf it {{{{#value tiny.slow hidden}}}} was hidden.\n\n</details>\n\n\
         {between}\n\n```predict\nid = \"why\"\nform = \"choice\"\nask = \"Why?\"\n\
         [[item]]\ntext = \"the copy waits for the kernel\"\nright = true\n\
         [[item]]\ntext = \"the kernel waits for the copy\"\nwhy = \"Nothing else is in its stream.\"\n```\n\n\
         <details class=\"reveal\">\n<summary>So</summary>\n\nAfter {{{{#value tiny.fast first_upload}}}}.\n\n</details>\n\n\
         {{{{#quiz ../quizzes/q.toml}}}}\n"
    );
    Tiny::new(&chapter).with("quizzes/q.toml", quiz).with_records().proof()
}

#[test]
fn what_gives_a_prediction_away_above_it() {
    let figure = "```figure\nid = \"f\"\ncaption = \"c\"\nrecords = [\"tiny.slow\"]\n```\n";
    assert_snapshot!(gated("It takes 5.00 ms, 16.00 ms or 33.3 %.", ""), @"4 pages");
    assert_snapshot!(gated("It takes {{#value tiny.slow makespan}}.", ""), @"book/chapters/page.md:3: `6.00 ms` gives away the prediction `rank`: tiny.slow makespan");
    assert_snapshot!(gated("It takes 4.00 ms.", ""), @"book/chapters/page.md:3: `4.00 ms` gives away the prediction `rank`: tiny.fast makespan");
    assert_snapshot!(gated(figure, ""), @"
book/chapters/page.md:3: `6.00 ms` gives away the prediction `rank`: tiny.slow makespan
book/chapters/page.md:3: the timeline of `tiny.slow` gives away the prediction `rank`
");
    assert_snapshot!(gated("A share of 33 % is hidden.", ""), @"book/chapters/page.md:3: `33 %` gives away the prediction `rank`: tiny.slow hidden");
    assert_snapshot!(gated("", "It starts after 3.00 ms."), @"book/chapters/page.md:24: `3.00 ms` gives away the prediction `why`: tiny.fast first_upload");
    assert_snapshot!(gated("", "Here *the copy waits for the kernel*."), @"book/chapters/page.md:24: `the copy waits for the kernel` gives away the prediction `why`");
    assert_snapshot!(gated("Nothing else is in its stream, as you know.", ""), @"book/chapters/page.md:3: `Nothing else is in its stream.` gives away the prediction `why`");
    assert_snapshot!(gated("{{#quiz ../quizzes/q.toml check=q}}", ""), @"
book/chapters/page.md:3: `4.00 ms` gives away the prediction `rank`: tiny.fast makespan
book/chapters/page.md:45: nothing is left for the quiz: each question stands further up
");
}

#[test]
fn below_a_prediction_that_keeps_its_reveal_alone_nothing_may_give_it_away_either() {
    let page = |alone: &str, below: &str| {
        let chapter = format!(
            "# A\n\n```predict\nid = \"rank\"\nform = \"ranking\"\n{alone}ask = \"Which is first?\"\n\
             [[item]]\ntext = \"slow\"\nrecord = \"tiny.slow\"\n[[item]]\ntext = \"fast\"\nrecord = \"tiny.fast\"\n```\n\n\
             <details class=\"reveal\">\n<summary>So</summary>\n\nSo.\n\n</details>\n\n{below}\n"
        );
        Tiny::new(&chapter).with_records().proof()
    };
    assert_snapshot!(page("", "It takes {{#value tiny.slow makespan}}."), @"4 pages");
    assert_snapshot!(page("alone = true\n", "It takes a while."), @"4 pages");
    assert_snapshot!(page("alone = true\n", "It takes {{#value tiny.slow makespan}}."), @"book/chapters/page.md:23: `6.00 ms` gives away the prediction `rank`: tiny.slow makespan");
}

#[test]
fn what_a_question_tells_and_what_it_says_is_given_gives_nothing_away() {
    let chapter = |given: &str| {
        format!(
            "# A\n\nIt takes 6.00 ms, and starts after 3.00 ms.\n\n```predict\nid = \"rank\"\nform = \"ranking\"\n{given}\
             ask = \"One takes {{{{#value tiny.slow makespan}}}}. Which is first?\"\n\
             [[item]]\ntext = \"slow\"\nrecord = \"tiny.slow\"\n[[item]]\ntext = \"fast\"\nrecord = \"tiny.fast\"\n```\n\n\
             <details class=\"reveal\">\n<summary>So</summary>\n\nAfter {{{{#value tiny.slow first_upload}}}}.\n\n</details>\n"
        )
    };
    let proof = |given: &str| Tiny::new(&chapter(given)).with_records().proof();
    assert_snapshot!(proof(""), @"book/chapters/page.md:3: `3.00 ms` gives away the prediction `rank`: tiny.slow first_upload");
    assert_snapshot!(proof("given = [\"tiny.slow first_upload\"]\n"), @"4 pages");
    assert_snapshot!(proof("given = [\"3.00 ms\"]\n"), @"4 pages");
}

#[test]
fn a_prediction_in_a_fold() {
    let block = "```predict\nid = \"p\"\nform = \"choice\"\nask = \"Which?\"\n[[item]]\ntext = \"a\"\nright = true\n\
                 [[item]]\ntext = \"b\"\nwhy = \"c\"\n```\n\n<details class=\"reveal\">\n<summary>x</summary>\n</details>\n";
    let said = Tiny::new(&format!("# A\n\n<details>\n\n{block}\n</details>\n")).proof();
    assert!(said.contains("page.md:5: a prediction stands in no fold"), "{said}");
}

#[test]
fn a_ranking_of_runs_that_an_earlier_reveal_has_all_shown() {
    let proof = |revealed: &str| {
        Tiny::new(&format!(
            "# A\n\n```predict\nid = \"p\"\nform = \"choice\"\nask = \"Which?\"\n[[item]]\ntext = \"a\"\nright = true\n\
             [[item]]\ntext = \"b\"\nwhy = \"c\"\n```\n\n<details class=\"reveal\">\n<summary>x</summary>\n\n{revealed}\n\n</details>\n\n\
             ```predict\nid = \"rank\"\nform = \"ranking\"\nask = \"Which is first?\"\n\
             [[item]]\ntext = \"slow\"\nrecord = \"tiny.slow\"\n[[item]]\ntext = \"fast\"\nrecord = \"tiny.fast\"\n```\n\n\
             <details class=\"reveal\">\n<summary>x</summary>\n</details>\n"
        ))
        .with_records()
        .proof()
    };
    assert_snapshot!(proof("Slow takes {{#value tiny.slow makespan}}."), @"4 pages");
    assert_snapshot!(proof("They take {{#value tiny.slow makespan}} and {{#value tiny.fast makespan}}."), @"
book/chapters/page.md:18: `4.00 ms` gives away the prediction `rank`: tiny.fast makespan
book/chapters/page.md:18: `6.00 ms` gives away the prediction `rank`: tiny.slow makespan
");
}
