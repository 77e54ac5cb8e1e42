//! What a student's library defines, as the linker sees it.
//!
//! A function that is called as a C function is called takes the place of the C library's own, and one
//! that is listed to be run before `main` is. No exercise needs either; a file that has one is rejected.

use anyhow::{Context, Result};
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::compile::{Ground, Refusal};

/// What was found that no exercise needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Symbols {
    /// Names that other files would be linked to.
    names: Vec<String>,
    /// Lists of functions that run before or after `main`.
    lists: Vec<String>,
}

/// Sections whose contents run without being called.
const LISTS: [&str; 6] = [".init", ".fini", ".ctors", ".dtors", ".preinit_array", ".init_array"];

/// Looks into a library.
pub(crate) fn find(library: &[u8]) -> Result<Symbols> {
    const BROKEN: &str = "cannot read the library that the compiler made";
    let mut found = Symbols::default();
    let archive = ArchiveFile::parse(library).context(BROKEN)?;
    for member in archive.members() {
        let member = member.context(BROKEN)?;
        let data = member.data(library).context(BROKEN)?;
        // What only the compiler reads is no object.
        if !member.name().ends_with(b".o") {
            continue;
        }
        let file = object::File::parse(data).context(BROKEN)?;
        for symbol in file.symbols() {
            let name = symbol.name().unwrap_or("?");
            if symbol.is_definition() && symbol.is_global() && !is_of_rust(name) {
                found.names.push(name.to_owned());
            }
        }
        for section in file.sections() {
            let name = section.name().unwrap_or("?");
            let listed = LISTS.iter().any(|list| {
                name.strip_prefix(list).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            if (listed || name.starts_with(".fini_array")) && section.size() > 0 {
                found.lists.push(name.to_owned());
            }
        }
    }
    found.names.sort();
    found.names.dedup();
    found.lists.sort();
    found.lists.dedup();
    Ok(found)
}

/// Whether the compiler makes such names of what is not to be linked to by hand.
fn is_of_rust(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN") || name.starts_with("DW.ref.")
}

impl Symbols {
    /// Why a file that has any of it is not graded.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let refused = |summary| {
            Some(Refusal {
                ground: Ground::Forbidden,
                rendered: String::new(),
                summary,
                complaints: Vec::new(),
            })
        };
        if let Some(name) = self.names.first() {
            return refused(format!(
                "the file exports `{name}` to the linker, as `no_mangle` and `global_asm!` do, and no \
                 exercise needs that"
            ));
        }
        if let Some(list) = self.lists.first() {
            return refused(format!(
                "the file has code that runs before or after `main`, in `{list}`, and no exercise needs \
                 that"
            ));
        }
        None
    }
}
