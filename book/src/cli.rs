//! The command line.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Parser, Subcommand};

use crate::preprocessors::{self, Step};
use crate::print::{print, print_error};
use crate::problem::{Problem, Problems, Reach};
use crate::proof::Look;
use crate::records::Records;
use crate::{proof, serve, site, wasm};

/// Builds, proofs and serves the book.
#[derive(Debug, Parser)]
#[command(name = "book", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the book into target/book
    Build,
    /// Serve the book on this machine, and build it again when a file changes
    Serve {
        /// The port
        #[arg(long, default_value_t = 3000)]
        port: u16,
    },
    /// Build the book and check everything that can be checked
    Proof {
        /// Name the problems of this chapter alone, by its file without `.md`
        #[arg(value_name = "CHAPTER")]
        chapter: Option<String>,
        /// List what breaks `style.toml`, in pages too that wait for their rewriting, and build
        /// nothing
        #[arg(long, conflicts_with = "claims")]
        style: bool,
        /// List claims that nothing shows, in pages too that wait for their rewriting, and build
        /// nothing
        #[arg(long)]
        claims: bool,
        /// List what gives a prediction away above it, and build nothing
        #[arg(long, conflicts_with_all = ["style", "claims"])]
        gates: bool,
        /// List what breaks `style.toml` in the comments of a package, such as checker/trace, or of
        /// all
        #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["style", "claims", "gates"])]
        comments: Option<Option<String>>,
    },
    /// Print a recorded run as JSON, a line for each step and each span
    Show {
        /// Its name, such as three_lanes.blocking
        name: String,
    },
    /// Run as a preprocessor of stock mdBook: the book comes and goes as JSON
    Preprocess {
        /// Which one
        name: String,
        #[command(subcommand)]
        question: Option<Question>,
    },
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Whether the preprocessor is meant for a renderer: the exit code says so
    Supports {
        /// Its name
        renderer: String,
    },
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let root = root();
    match command {
        Command::Build => {
            let site = site::build(&root, None)?;
            site.warnings.iter().for_each(|warning| print(&format!("warning: {warning}")));
            warn_of_wasm();
            print(&format!("{}", site.folder.join("index.html").display()));
        }
        Command::Serve { port } => serve::serve(&root, port)?,
        Command::Proof { comments: Some(package), .. } => {
            return Ok(list(&proof::of_comments(&root, package.as_deref())?));
        }
        Command::Proof { chapter, style, claims, gates, comments: None } => {
            let chapter = chapter.as_deref();
            let looks = [(style, Look::Style), (claims, Look::Claims), (gates, Look::Gates)];
            return match looks.into_iter().find_map(|(asked, look)| asked.then_some(look)) {
                Some(look) => Ok(list(&proof::listed(&root, look, chapter)?)),
                None => prove(&root, chapter),
            };
        }
        Command::Show { name } => {
            let records = Records::read(&root)?;
            let recorded = records.get(&name).map_err(|message| anyhow!(message))?;
            print(split(&serde_json::to_string(&recorded.record)?).trim_end());
        }
        Command::Preprocess { name, question } => {
            let step = Step::named(&name).with_context(|| {
                format!("there is no preprocessor `{name}`: figure, puzzle, quiz, play or tables")
            })?;
            if let Some(Question::Supports { renderer }) = question {
                let code = if renderer == "html" { ExitCode::SUCCESS } else { ExitCode::FAILURE };
                return Ok(code);
            }
            preprocessors::run(&step, std::io::stdin().lock(), std::io::stdout().lock())?;
            warn_of_wasm();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One step and one span to a line.
fn split(text: &str) -> String {
    text.replace(",{\"call\":", ",\n{\"call\":").replace(",{\"step\":", ",\n{\"step\":")
}

/// Proofs the book, and prints a line for each problem.
fn prove(root: &Path, chapter: Option<&str>) -> Result<ExitCode> {
    let Problems(mut problems, reach) = match proof::proof(root, None) {
        Ok(pages) => {
            print(&format!("{pages} pages, nothing to complain about"));
            Problems(Vec::new(), Reach::Whole)
        }
        Err(error) => error.downcast()?,
    };
    warn_of_wasm();
    if let Some(chapter) = chapter {
        problems = proof::of_chapter(root, problems, reach, chapter)?;
    }
    problems.iter().for_each(|problem| print(&problem.to_string()));
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line for each problem of one kind.
fn list(problems: &[Problem]) -> ExitCode {
    problems.iter().for_each(|problem| print(&problem.to_string()));
    if problems.is_empty() {
        print("nothing to complain about");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says why playgrounds do nothing, if they do nothing. The book is whole without them.
fn warn_of_wasm() {
    for complaint in wasm::complaints() {
        _ = writeln!(std::io::stderr(), "warning: {complaint}");
    }
}

/// The book's folder: the package's, wherever cargo was started.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).to_owned(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
