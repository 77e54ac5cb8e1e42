//! Books of one chapter, in a folder of their own.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use book::problem::{Problems, Reach};
use book::proof::{Look, listed, of_chapter, proof};
use book::site;
use tempfile::TempDir;

/// The scripts of every page, as `book.toml` names them.
pub(crate) fn scripts() -> Vec<PathBuf> {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("book.toml");
    let config: toml::Table =
        std::fs::read_to_string(config).expect("book.toml").parse().expect("TOML");
    let listed = config["output"]["html"]["additional-js"].as_array().expect("a list");
    listed.iter().map(|path| path.as_str().expect("a path").into()).collect()
}

const CONFIG: &str = r#"
[book]
title = "Tiny"
src = "chapters"

[build]
create-missing = false

[preprocessor.figure]
command = "book preprocess figure"
before = ["links"]

[preprocessor.puzzle]
command = "book preprocess puzzle"
before = ["links"]

[preprocessor.quiz]
command = "book preprocess quiz"
before = ["links"]

[preprocessor.play]
command = "book preprocess play"
before = ["links"]

[preprocessor.viewer]
command = "book preprocess viewer"
before = ["links"]

[preprocessor.tables]
command = "book preprocess tables"
before = ["links"]

[output.html]
input-404 = ""
"#;

/// A book whose folder goes when it is dropped.
pub(crate) struct Tiny {
    scratch: TempDir,
}

impl Tiny {
    /// A book whose only chapter is `chapter`.
    pub(crate) fn new(chapter: &str) -> Self {
        let tiny = Self { scratch: tempfile::tempdir().expect("a folder") };
        tiny.with("book.toml", CONFIG)
            .with("chapters/SUMMARY.md", "# Summary\n\n- [Page](page.md)\n")
            .with("chapters/page.md", chapter)
    }

    /// The same with one more file, or with another text in it.
    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
        self
    }

    /// The same with two short recorded runs, `tiny.slow` and `tiny.fast`.
    pub(crate) fn with_records(self) -> Self {
        self.with_records_of("tiny", "")
    }

    /// The same with those of an exercise of another name, whose manifest says more.
    pub(crate) fn with_records_of(self, id: &str, more: &str) -> Self {
        let programs: String = ["slow", "fast"]
            .map(|name| format!("[[programs]]\nname = \"{name}\"\ntitle = \"{name}\"\n\n"))
            .concat();
        self.with(&format!("../exercises/01_{id}/exercise.toml"), &format!("{more}{programs}"))
            .with_record(&format!("{id}.slow"), &record(6_000_000))
            .with_record(&format!("{id}.fast"), &record(4_000_000))
            .with_record(&format!("{id}.solution"), &record(4_000_000))
    }

    /// The same with programs of an exercise, each by its name and its text.
    pub(crate) fn with_programs(self, programs: &[(&str, &str)]) -> Self {
        let manifest: String = programs
            .iter()
            .map(|(name, _)| format!("[[programs]]\nname = \"{name}\"\ntitle = \"{name}\"\n"))
            .collect();
        let tiny = self.with("../exercises/01_tiny/exercise.toml", &manifest);
        programs.iter().fold(tiny, |tiny, (name, text)| {
            tiny.with(&format!("../exercises/01_tiny/examples/tiny_{name}.rs"), text)
        })
    }

    /// The same with one more recorded run.
    pub(crate) fn with_record(self, name: &str, text: &str) -> Self {
        let path = book::records::file(&self.root(), name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        let file = std::fs::File::create(path).expect("a file");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packed.write_all(text.as_bytes()).and_then(|()| packed.try_finish()).expect("a file");
        self
    }

    /// The configuration with `from` replaced by `to`.
    pub(crate) fn with_config(self, from: &str, to: &str) -> Self {
        assert!(CONFIG.contains(from), "the configuration has no {from}");
        self.with("book.toml", &CONFIG.replace(from, to))
    }

    fn root(&self) -> PathBuf {
        self.scratch.path().join("book")
    }

    /// What `proof` says.
    pub(crate) fn proof(&self) -> String {
        match proof(&self.root(), Some(&self.scratch.path().join("site"))) {
            Ok(pages) => format!("{pages} pages"),
            Err(error) => format!("{error:#}"),
        }
    }

    /// What `proof --style` or `proof --claims` says.
    pub(crate) fn listed(&self, look: Look) -> String {
        let problems = listed(&self.root(), look, Some("page")).expect("a book");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    /// What `proof NAME` says.
    pub(crate) fn proof_of(&self, name: &str) -> Vec<String> {
        let found = match proof(&self.root(), Some(&self.scratch.path().join("site"))) {
            Ok(_) => Problems(Vec::new(), Reach::Whole),
            Err(error) => error.downcast().expect("problems"),
        };
        let problems = of_chapter(&self.root(), found.0, found.1, name).expect("a book");
        problems.iter().map(ToString::to_string).collect()
    }

    /// Builds the book with its theme into a folder under `scratch`, which it gives.
    pub(crate) fn build(&self, scratch: &Path) -> PathBuf {
        let scripts = scripts();
        let style = PathBuf::from("theme/swim.css");
        for file in scripts.iter().chain([&style]) {
            let to = self.root().join(file);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), to).expect("a file");
        }
        let config = format!("additional-css = [{style:?}]\nadditional-js = {scripts:?}\n");
        std::fs::write(self.root().join("book.toml"), CONFIG.to_owned() + &config).expect("a file");
        site::build(&self.root(), Some(scratch)).expect("the book builds").folder
    }

    /// A file of the built book; none if there is no such file.
    pub(crate) fn built(&self, file: &str) -> Option<String> {
        let site = site::build(&self.root(), Some(&self.scratch.path().join("site")));
        let site = site.expect("the book builds");
        assert_eq!(site.warnings, Vec::<String>::new());
        std::fs::read_to_string(site.folder.join(file)).ok()
    }

    /// What stands in `main` on the page.
    pub(crate) fn page(&self) -> String {
        let html = self.built("page.html").expect("a page");
        let (_, main) = html.split_once("<main>").expect("a page has a main part");
        main.split_once("</main>").expect("and it ends").0.trim().to_owned()
    }
}

/// A kernel of 3 ms from 1 ms on, and a copy that ends with the run.
fn record(end_ns: u64) -> String {
    format!(
        r#"{{"version":1,"program":{{"version":1,"scale":1,"sites":[],"steps":[
{{"call":"region_begin"}},{{"call":"region_end"}}]}},
"timeline":{{"version":1,"origin":{{"simulated":{{"profile":"h200"}}}},
"region":{{"start_ns":0,"end_ns":{end_ns}}},
"spans":[{{"step":0,"kind":"kernel","name":"k","stream":2,"start_ns":1000000,"end_ns":4000000}},
{{"step":0,"kind":"host_to_device","stream":3,"start_ns":3000000,"end_ns":{end_ns},"bytes":8}}],
"host":[]}},"trials":[]}}"#
    )
}
