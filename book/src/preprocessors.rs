//! The preprocessors as mdBook sees them: in this process, and started by stock mdBook.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use mdbook_preprocessor::book::{Book, BookItem};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::page::Page;
use crate::problem::{Problem, Problems, Reach};
use crate::records::Records;
use crate::{figure, playground, puzzle, quiz, tables, viewer};

/// Turns the blocks of one kind into HTML.
pub struct Step {
    name: &'static str,
    expand: fn(&mut Page<'_>, &str) -> String,
    /// The records that the build has read.
    records: Option<Arc<Records>>,
}

/// All of them. The names are those in `book.toml`.
pub const STEPS: [Step; 6] = [
    Step { name: "figure", expand: figure::expand, records: None },
    Step { name: "puzzle", expand: puzzle::expand, records: None },
    Step { name: "quiz", expand: quiz::expand, records: None },
    Step { name: "play", expand: playground::expand, records: None },
    Step { name: "viewer", expand: viewer::expand, records: None },
    Step { name: "tables", expand: tables::expand, records: None },
];

impl Step {
    /// The step of a name.
    pub fn named(name: &str) -> Option<Self> {
        STEPS.into_iter().find(|step| step.name == name)
    }

    /// With records that are read already.
    pub fn with(self, records: &Arc<Records>) -> Self {
        Self { records: Some(Arc::clone(records)), ..self }
    }

    /// The problems in the blocks of one chapter.
    pub fn check(&self, root: &Path, file: &Path, text: &str, records: &Records) -> Vec<Problem> {
        let mut page = Page::new(root, file.to_owned(), records);
        (self.expand)(&mut page, text);
        page.problems
    }
}

impl Preprocessor for Step {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let root = &context.root;
        let source = root.join(&context.config.book.src);
        let records = match &self.records {
            Some(records) => Arc::clone(records),
            None => Arc::new(Records::read(root)?),
        };
        let mut problems = Vec::new();
        book.for_each_mut(|item| {
            let BookItem::Chapter(chapter) = item else { return };
            let Some(path) = &chapter.source_path else { return };
            let mut page = Page::new(root, source.join(path), &records);
            chapter.content = (self.expand)(&mut page, &chapter.content);
            problems.append(&mut page.problems);
        });
        Problems(problems, Reach::Part).into_result()?;
        Ok(book)
    }

    fn supports_renderer(&self, renderer: &str) -> Result<bool> {
        Ok(renderer == "html")
    }
}

/// Runs as a preprocessor of stock mdBook: the book comes as JSON, and goes back as JSON.
pub fn run(step: &Step, input: impl std::io::Read, output: impl std::io::Write) -> Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(input)?;
    let book = step.run(&context, book)?;
    serde_json::to_writer(output, &book).context("cannot write the book")
}
