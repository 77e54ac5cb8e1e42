//! The book itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use book::door;
use book::proof::proof;
use book::records::{Records, Source, metric};

use crate::needs::{Need, missing};
use crate::tiny::scripts;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn the_book_passes_its_own_proof() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = proof(&root(), Some(folder.path())).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(pages >= 4, "{pages} pages");
}

/// What each takes is compared by `checker dev check`, exercise by exercise.
#[test]
fn the_times_name_each_simulated_record_and_no_other() {
    let records = Records::read(&root()).expect("the records");
    let simulated = records.iter().filter(|it| matches!(it.source, Source::Run(_)));
    let names: Vec<&str> = simulated.map(|it| it.name.as_str()).collect();
    let times = std::fs::read_to_string(root().join("figures/times.txt")).expect("the times");
    let lines = times.lines().filter(|line| !line.starts_with('#'));
    let timed: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(timed.is_sorted() && names.len() > 80, "{timed:?}");
    assert_eq!(names, timed);
}

/// The order question of `three_lanes` asks about these.
#[test]
fn the_blocking_program_does_things_in_the_order_that_its_quiz_says() {
    let records = Records::read(&root()).expect("the records");
    let record = &records.get("three_lanes.blocking").expect("it is there").record;
    let start = record.timeline.extent().start_ns;
    let spans = |kind| record.timeline.spans.iter().filter(move |span| span.kind == kind);
    let launched = metric::number(record, "after_launches").expect("it launches").value();
    use trace::timeline::SpanKind::{HostToDevice, Kernel};
    let first_upload = spans(HostToDevice).map(|span| span.start_ns).min().expect("it uploads");
    let last_kernel = spans(Kernel).map(|span| span.end_ns).max().expect("it launches");
    let last_upload = spans(HostToDevice).map(|span| span.end_ns).max().expect("it uploads");
    assert!(launched < (first_upload - start) as f64 / 1e6);
    assert!(first_upload < last_kernel && last_kernel < last_upload);
    // The first question: no upload in the first third.
    assert!((first_upload - start) * 3 > record.timeline.extent().ns());
}

/// What the chapter on chunks says of its programs: T(n) = sum / n + (n - 1) / n of the slowest stage, so
/// that an n-th of the gain is left. As long as what an operation costs by itself does not show.
#[test]
fn an_nth_of_what_cutting_gains_is_left_in_n_chunks() {
    let records = Records::read(&root()).expect("the records");
    for (program, chunks, price) in
        [("in_1", 1.0, 0.01), ("in_2", 2.0, 0.02), ("in_16", 16.0, 0.03)]
    {
        let record =
            &records.get(&format!("chunked_pipeline.{program}")).expect("it is there").record;
        let efficiency = metric::number(record, "efficiency").expect("it has one").value() / 100.0;
        let rule = 1.0 - 1.0 / chunks;
        assert!((rule - price..=rule + 0.01).contains(&efficiency), "{program}: {efficiency}");
    }
}

#[test]
fn no_chapter_types_a_time() {
    let mut typed = Vec::new();
    for entry in std::fs::read_dir(root().join("chapters")).expect("the chapters").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a chapter");
        for (index, line) in text.lines().enumerate() {
            // A time that a reader may write is no time that was taken.
            let told: String = line.split('`').step_by(2).collect();
            let words: Vec<&str> = told.split_whitespace().collect();
            let is_number = |word: &str| word.parse::<f64>().is_ok();
            let is_unit = |word: &str| {
                ["ms", "µs", "ns"].iter().any(|unit| {
                    word.strip_prefix(unit)
                        .is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
                })
            };
            if words.windows(2).any(|pair| is_number(pair[0]) && is_unit(pair[1])) {
                typed.push(format!("{}:{}: {line}", entry.path().display(), index + 1));
            }
        }
    }
    assert!(typed.is_empty(), "take them from a record or from `measured`: {typed:#?}");
}

#[test]
fn the_scripts_are_at_most_60_kb_gzipped_and_name_no_other_origin() {
    let mut scripts = scripts();
    scripts.push("theme/editor.js".into()); // which is on one page alone
    let mut bytes = 0;
    for script in &scripts {
        let text = std::fs::read_to_string(root().join(script)).expect("the script");
        assert!(!text.contains("://"), "{} asks something of another origin", script.display());
        bytes += book::wasm::gzip(text.as_bytes()).expect("it packs").len();
    }
    assert!((1..=60_000).contains(&bytes), "{bytes} bytes");
    let kept = std::fs::read_dir(root().join("theme/swim")).expect("the folder").count();
    assert_eq!(kept, scripts.len() - 1, "book.toml names each file of theme/swim");
}

#[test]
fn type_has_five_sizes_beside_the_texts_own() {
    let style = std::fs::read_to_string(root().join("theme/swim.css")).expect("the style sheet");
    assert_eq!(style.matches("\n  --type-").count(), 5);
    let sizes = style.lines().filter_map(|line| line.trim().strip_prefix("font-size:"));
    let others: Vec<&str> = sizes.filter(|size| !size.trim().starts_with("var(--type-")).collect();
    assert_eq!(others, Vec::<&str>::new());
}

#[test]
fn each_page_is_described_by_words_of_its_own() {
    let site = &crate::browser::book().site;
    let mut seen = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(root().join("chapters")).expect("the chapters").flatten() {
        let name = entry.file_name().to_string_lossy().replace(".md", ".html");
        let Ok(html) = std::fs::read_to_string(site.join(&name)) else { continue };
        let head = html.split_once("</head>").expect("a head").0;
        let content = |before: &str| {
            let (_, rest) = head.split_once(before).unwrap_or_else(|| panic!("{name}: {before}"));
            rest.split_once("\">").expect("an end").0.to_owned()
        };
        let described = content("<meta name=\"description\" content=\"");
        assert_eq!(described, content("<meta property=\"og:description\" content=\""));
        assert!(described.len() > 20, "{name}: {described}");
        if let Some(other) = seen.insert(described.clone(), name.clone()) {
            panic!("{name} and {other}: {described}");
        }
    }
    assert!(seen.len() > 30, "{} pages", seen.len());
}

#[test]
fn where_the_address_of_the_site_is_known_a_link_to_a_page_has_its_first_figure_beside_it() {
    const PAGE: &str = "# Two & three\n\nSome words.\n\n```figure\nid = \"a\"\ncaption = \"c\"\n\
                        records = [\"tiny.slow\"]\n```\n";
    let tiny = || crate::tiny::Tiny::new(PAGE).with_records();
    let addressed = |url: &str| {
        let more = format!("input-404 = \"\"\nsite-url = \"{url}\"");
        tiny().with_config("input-404 = \"\"", &more)
    };
    let known = addressed("https://book.example/streams/");
    let html = known.built("page.html").expect("a page");
    for tag in [
        "property=\"og:url\" content=\"https://book.example/streams/page.html\"",
        "property=\"og:image\" content=\"https://book.example/streams/cards/page.png\"",
        "property=\"twitter:card\" content=\"summary_large_image\"",
    ] {
        assert!(html.contains(tag), "{tag}");
    }
    let card = known.built("cards/page.svg").expect("a card");
    assert!(card.contains(">Tiny</text>"), "the first page stands for the book: {card}");
    assert!(card.contains("Timeline. slow · simulated H200: 6.00 ms"), "{card}");

    // A path alone is no address that another site could fetch a picture from.
    for elsewhere in [tiny(), addressed("/streams/")] {
        assert!(!elsewhere.built("page.html").expect("a page").contains("og:image"));
        assert_eq!(elsewhere.built("cards/page.svg"), None);
    }
}

#[test]
fn the_pictures_of_the_readme_are_the_puzzle_of_the_first_page() {
    let records = Records::read(&root()).expect("the records");
    let pictures = [
        ("door.svg", door::puzzle(&root(), &records)),
        ("door-answer.svg", door::answer(&root(), &records)),
    ];
    for (name, picture) in pictures {
        let picture = picture.unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = root().join(name);
        if std::env::var_os("SWIM_UPDATE_README").is_some() {
            std::fs::write(&path, &picture).expect("a file");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == picture, "{name} is another; SWIM_UPDATE_README=1 writes it");
        let readme = std::fs::read_to_string(root().join("../README.md")).expect("the README");
        assert!(readme.contains(&format!("](book/{name})")), "the README does not show {name}");
    }
}

#[test]
fn stock_mdbook_builds_the_same_chapters() {
    let folder = tempfile::tempdir().expect("a folder");
    let built =
        Command::new("mdbook").arg("build").arg(root()).arg("-d").arg(folder.path()).status();
    let Ok(status) = built else { return missing(Need::Mdbook).unwrap_or_default() };
    assert!(status.success());
    let ours = tempfile::tempdir().expect("a folder");
    let ours = book::site::build(&root(), Some(ours.path())).expect("the book builds").folder;
    for page in ["three_lanes.html", "free_sheet.html", "playground.html", "progress.html"] {
        let main = |folder: &Path| {
            let html = std::fs::read_to_string(folder.join(page)).expect("a page");
            let (_, main) = html.split_once("<main>").expect("a main part");
            main.split_once("</main>").expect("its end").0.to_owned()
        };
        assert!(main(folder.path()) == main(&ours), "{page} differs");
    }
}

#[test]
fn stock_mdbook_gets_the_same_chapters_from_the_preprocessors() {
    use mdbook_preprocessor::PreprocessorContext;
    let book = mdbook_driver::MDBook::load(root()).expect("the book loads");
    let context = PreprocessorContext::new(root(), book.config.clone(), "html".into());
    let input = serde_json::to_vec(&(&context, &book.book)).expect("a book is JSON");
    let step = book::preprocessors::Step::named("puzzle").expect("there is one");
    let mut output = Vec::new();
    book::preprocessors::run(&step, input.as_slice(), &mut output).expect("it runs");
    let output = String::from_utf8(output).expect("text");
    assert!(output.contains("form class=\\\"predict\\\""), "no prediction in the output");
}
