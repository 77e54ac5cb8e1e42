//! The code that the compiler made of a student's file, looked at before it is linked.
//!
//! The library may hold what the compiler makes of ordinary Rust, and nothing else: the lists here
//! say what is allowed, so that what was not thought of is refused. A definition that others can be
//! linked to names the student's own crate, so it takes no other's place. Imports are Rust's, or
//! one of the few functions of C that the compiler itself calls; no section and no symbol has
//! code that runs without being called.
//!
//! This is no boundary: a student's program may do to its own process what it likes. It keeps that
//! from happening before the lab is there, by accident, or without a word in the file that anyone
//! could see.

use anyhow::{Context, Result, bail};
use object::elf;
use object::read::archive::ArchiveFile;
use object::read::elf::{
    FileHeader, Rela as _, SectionHeader as _, SectionTable, Sym as _, SymbolTable,
};
use object::{Endianness, SymbolIndex};

use checker::compile::{Refusal, RefusedBecause};

type Header = elf::FileHeader64<Endianness>;
type Sections<'a> = SectionTable<'a, Header>;
type Symbols<'a> = SymbolTable<'a, Header>;

/// Something in a library that no exercise needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Foreign {
    /// A definition that other files would be linked to.
    Export(String),
    /// A section whose contents run before or after `main`.
    Constructor(String),
    /// A function of C or of the system, by its name.
    Import(String),
    /// A library that is to be linked in, as the linker is told it.
    Library(String),
    /// Anything else, in words.
    Other(String),
}

/// Characters of a name that are shown: a mangled name of Rust's is rarely longer, and one may have
/// a megabyte.
const SHOWN: usize = 200;

impl Foreign {
    /// The same with a name that can be read.
    fn brief(&self) -> Self {
        let brief = |name: &String| match name.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name.clone(),
        };
        match self {
            Self::Export(name) => Self::Export(brief(name)),
            Self::Constructor(list) => Self::Constructor(brief(list)),
            Self::Import(name) => Self::Import(brief(name)),
            Self::Library(library) => Self::Library(brief(library)),
            Self::Other(what) => Self::Other(brief(what)),
        }
    }

    /// Why a file that has it is not graded.
    pub(crate) fn refusal(&self) -> Refusal {
        let summary = match self.brief() {
            Self::Export(name) => format!(
                "the file exports `{name}` to the linker, as `no_mangle` and `global_asm!` do, and no \
                 exercise needs that"
            ),
            Self::Constructor(list) => format!(
                "the file has code that runs before or after `main`, in `{list}`, and no exercise needs \
                 that"
            ),
            Self::Import(name) => format!(
                "the file calls `{name}` past the standard library, and no exercise needs that"
            ),
            Self::Library(library) => format!(
                "the file links to a library of its own choice (`{library}`), as `#[link]` does, and no \
                 exercise needs that"
            ),
            Self::Other(what) => {
                format!("the file compiles to {what}, and no exercise needs that")
            }
        };
        let (rendered, complaints) = (String::new(), Vec::new());
        Refusal { because: RefusedBecause::Forbidden, rendered, summary, complaints }
    }
}

const BROKEN: &str = "cannot read the library that the compiler made";

/// Everything in the library of the crate `name` that no exercise needs, in order.
pub(crate) fn foreign(library: &[u8], name: &str) -> Result<Vec<Foreign>> {
    let mut found = Vec::new();
    let archive = ArchiveFile::parse(library).context(BROKEN)?;
    if archive.is_thin() {
        bail!(BROKEN);
    }
    for member in archive.members() {
        let member = member.context(BROKEN)?;
        let file = String::from_utf8_lossy(member.name()).into_owned();
        match file.as_str() {
            // Only the compiler reads it.
            "lib.rmeta" => continue,
            _ if file.ends_with(".rcgu.o") => {}
            _ => {
                found.push(Foreign::Library(file));
                continue;
            }
        }
        let data = member.data(library).context(BROKEN)?;
        let object = Object::parse(data, name).context(BROKEN)?;
        object.look(&mut found).context(BROKEN)?;
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The libraries on a linker's command line, as `rustc --print link-args` prints it, that only the
/// student named: all but those that Rust's own are linked with.
pub(crate) fn linked(arguments: &str) -> Vec<Foreign> {
    /// Libraries of the standard library (`library/std`, `library/unwind`), and the parts of
    /// glibc that used to be files of their own.
    const SYSTEM: [&str; 7] = ["gcc_s", "util", "rt", "pthread", "m", "dl", "c"];
    let words = arguments.split('"').skip(1).step_by(2);
    let library = |word: &str| word.strip_prefix("-l").is_some_and(|name| !SYSTEM.contains(&name));
    words.filter(|word| library(word)).map(|word| Foreign::Library(word.to_owned())).collect()
}

/// One object file.
struct Object<'a> {
    data: &'a [u8],
    endian: Endianness,
    machine: u16,
    /// The crate's name, with its length, as symbols have it.
    own: String,
    sections: Sections<'a>,
    symbols: Symbols<'a>,
}

impl<'a> Object<'a> {
    fn parse(data: &'a [u8], name: &str) -> Result<Self> {
        let header = Header::parse(data)?;
        let endian = header.endian()?;
        if header.e_type(endian) != elf::ET_REL {
            bail!("it is no object file");
        }
        let sections = header.sections(endian, data)?;
        let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
        let own = format!("_{}{name}", name.len());
        Ok(Self { data, endian, machine: header.e_machine(endian).0, own, sections, symbols })
    }

    fn look(&self, found: &mut Vec<Foreign>) -> Result<()> {
        for (index, symbol) in self.symbols.enumerate() {
            if index != SymbolIndex(0) {
                found.extend(self.symbol(index, symbol)?);
            }
        }
        for (index, section) in self.sections.enumerate() {
            if index.0 != 0 {
                found.extend(self.section(section)?);
            }
        }
        Ok(())
    }

    fn name(&self, symbol: &elf::Sym64<Endianness>) -> Result<String> {
        let name = self.symbols.symbol_name(self.endian, symbol)?;
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn symbol(
        &self,
        index: SymbolIndex,
        symbol: &elf::Sym64<Endianness>,
    ) -> Result<Option<Foreign>> {
        let name = self.name(symbol)?;
        let of_kind = |kind: &str| Ok(Some(Foreign::Other(format!("{kind} (`{name}`)"))));
        let (binding, kind) = (symbol.st_bind(), symbol.st_type());
        let is_local = binding == elf::STB_LOCAL;
        if !is_local && binding != elf::STB_GLOBAL && binding != elf::STB_WEAK {
            return of_kind("a symbol of an unusual binding");
        }
        let plain =
            [elf::STT_NOTYPE, elf::STT_OBJECT, elf::STT_FUNC, elf::STT_SECTION, elf::STT_TLS];
        let is_file = kind == elf::STT_FILE && is_local;
        if kind == elf::STT_GNU_IFUNC {
            return Ok(Some(Foreign::Constructor(name)));
        }
        if !plain.contains(&kind) && !is_file {
            return of_kind("a symbol of an unusual type");
        }
        if symbol.is_undefined(self.endian) {
            let known = is_local || is_mangled(&name) || IMPORTS.contains(&name.as_str());
            return Ok((!known).then_some(Foreign::Import(name)));
        }
        if self.symbols.symbol_section(self.endian, symbol, index)?.is_none() {
            // It is an address of its own, or is given memory by the linker.
            return if is_file { Ok(None) } else { of_kind("a symbol that is in no section") };
        }
        if is_local || self.is_own(&name) {
            return Ok(None);
        }
        if name == PERSONALITY_REFERENCE {
            return self.personality(index, symbol);
        }
        Ok(Some(Foreign::Export(name)))
    }

    /// Whether a name is one that the compiler gives to what is in this crate, or was made for it
    /// of generic code: it names the crate, as no other crate's do.
    fn is_own(&self, name: &str) -> bool {
        let names_crate = |at: usize| {
            let before = name[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric());
            // `Cs`, and the crate's number in base 62.
            name[before.len()..at].contains("Cs")
        };
        is_mangled(name)
            && name.starts_with("_R")
            && name.match_indices(&self.own).any(|it| names_crate(it.0))
    }

    /// The address of the function that unwinds Rust's frames, which all object files of a program
    /// share: the first one's is taken, so that it has to be what it says.
    fn personality(
        &self,
        index: SymbolIndex,
        symbol: &elf::Sym64<Endianness>,
    ) -> Result<Option<Foreign>> {
        let refused = Ok(Some(Foreign::Export(PERSONALITY_REFERENCE.to_owned())));
        let Some(at) = self.symbols.symbol_section(self.endian, symbol, index)? else {
            return refused;
        };
        let section = self.sections.section(at)?;
        if symbol.st_value(self.endian) != 0 || section.sh_size(self.endian) != POINTER_BYTES {
            return refused;
        }
        let mut relocations = 0;
        for section in self.sections.iter() {
            let Some((entries, _)) = section.rela(self.endian, self.data)? else { continue };
            if section.info_link(self.endian) != at {
                continue;
            }
            for entry in entries {
                let to = entry.symbol(self.endian, false).unwrap_or(SymbolIndex(0));
                let name = self.name(self.symbols.symbol(to)?)?;
                let (offset, addend) = (entry.r_offset(self.endian), entry.r_addend(self.endian));
                if (offset, addend, name.as_str()) != (0, 0, PERSONALITY) {
                    return refused;
                }
                relocations += 1;
            }
        }
        if relocations == 1 { Ok(None) } else { refused }
    }

    fn section(&self, section: &elf::SectionHeader64<Endianness>) -> Result<Option<Foreign>> {
        let name = self.sections.section_name(self.endian, section)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let (kind, flags) = (section.sh_type(self.endian), section.sh_flags(self.endian).0);
        let of = |base: &str| {
            name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if CONSTRUCTORS.iter().any(|list| of(list)) {
            return Ok((section.sh_size(self.endian) > 0).then_some(Foreign::Constructor(name)));
        }
        let refused = |what: &str| Ok(Some(Foreign::Other(format!("{what} (`{name}`)"))));
        match kind {
            elf::SHT_SYMTAB | elf::SHT_STRTAB | elf::SHT_SYMTAB_SHNDX => return Ok(None),
            elf::SHT_RELA => return self.relocations(section),
            elf::SHT_GROUP => {
                let signature =
                    self.symbols.symbol(SymbolIndex(section.sh_info(self.endian) as usize))?;
                return match self.name(signature)? {
                    known if known == PERSONALITY_REFERENCE => Ok(None),
                    other => Ok(Some(Foreign::Export(other))),
                };
            }
            elf::SHT_PROGBITS | elf::SHT_NOBITS => {}
            _ if kind.0 == X86_64_UNWIND && name == ".eh_frame" => {}
            _ => return refused("a section of an unusual type"),
        }
        let access = flags & (LOADED | CODE | WRITTEN | THREAD_LOCAL);
        let other = flags & !(access | HARMLESS);
        let family = FAMILIES.iter().find(|(base, _)| of(base)).map(|(_, access)| *access);
        let wanted = if name.starts_with(".debug_") { Some(0) } else { family };
        if wanted != Some(access) {
            return refused("a section that ordinary code has not");
        }
        // The personality's reference is in a group of its own.
        if other != 0 && !(other == GROUPED && name == format!(".data.{PERSONALITY_REFERENCE}")) {
            return refused("a section of unusual flags");
        }
        Ok(None)
    }

    fn relocations(&self, section: &elf::SectionHeader64<Endianness>) -> Result<Option<Foreign>> {
        let Some((entries, _)) = section.rela(self.endian, self.data)? else { return Ok(None) };
        let unusual = entries.iter().map(|entry| entry.r_type(self.endian, false).0).find(|kind| {
            !match self.machine {
                X86_64 => RELOCATIONS_X86_64.contains(kind),
                // Those that a compiler makes; what the loader is told has numbers from 1024 on.
                AARCH64 => (257..1024).contains(kind),
                _ => false,
            }
        });
        Ok(unusual.map(|kind| Foreign::Other(format!("a relocation of an unusual type ({kind})"))))
    }
}

/// Whether a name is one that Rust gives: of the standard library and of what exercises are built
/// on, too.
fn is_mangled(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let is_legacy = name.starts_with("_ZN") && name.ends_with('E');
    (name.starts_with("_R") || is_legacy) && name.chars().all(plain)
}

// `e_machine` and section types of `elf.h`.
const X86_64: u16 = elf::EM_X86_64.0;
const AARCH64: u16 = elf::EM_AARCH64.0;
const X86_64_UNWIND: u32 = 0x7000_0001;

// Section flags of `elf.h`.
const WRITTEN: u64 = 0x1;
const LOADED: u64 = 0x2;
const CODE: u64 = 0x4;
const GROUPED: u64 = 0x200;
const THREAD_LOCAL: u64 = 0x400;
/// Merged, strings, an index of another section's in it, in another's order, compressed, left out
/// of what is linked.
const HARMLESS: u64 = 0x10 | 0x20 | 0x40 | 0x80 | 0x800 | 0x8000_0000;

/// Sections by the beginnings of their names, and what each is for.
const FAMILIES: [(&str, u64); 12] = [
    (".text", LOADED | CODE),
    (".rodata", LOADED),
    (".data", LOADED | WRITTEN),
    (".bss", LOADED | WRITTEN),
    (".tdata", LOADED | WRITTEN | THREAD_LOCAL),
    (".tbss", LOADED | WRITTEN | THREAD_LOCAL),
    (".eh_frame", LOADED),
    (".gcc_except_table", LOADED),
    (".comment", 0),
    // A flag on it would make stacks executable.
    (".note.GNU-stack", 0),
    // The compiler's own, for itself.
    (".llvmbc", 0),
    (".llvmcmd", 0),
];

/// Sections whose contents run without being called.
const CONSTRUCTORS: [&str; 7] =
    [".init", ".fini", ".ctors", ".dtors", ".preinit_array", ".init_array", ".fini_array"];

const PERSONALITY: &str = "rust_eh_personality";
const PERSONALITY_REFERENCE: &str = "DW.ref.rust_eh_personality";
/// Of both machines.
const POINTER_BYTES: u64 = 8;

/// The relocations of a compiler for x86-64: addresses of 64 and 32 bits, of functions and of
/// entries in the table of addresses, and of what each thread has.
const RELOCATIONS_X86_64: [u32; 16] = [
    1,  // 64
    2,  // PC32
    4,  // PLT32
    9,  // GOTPCREL
    10, // 32
    11, // 32S
    17, // DTPOFF64
    18, // TPOFF64
    19, // TLSGD
    20, // TLSLD
    21, // DTPOFF32
    22, // GOTTPOFF
    23, // TPOFF32
    24, // PC64
    41, // GOTPCRELX
    42, // REX_GOTPCRELX
];

/// Functions that the compiler calls by itself: memory, unwinding, thread-local storage, arithmetic
/// without an instruction of the machine (`compiler-builtins`), and mathematics (`std::f64`).
const IMPORTS: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "strlen",
    "_Unwind_Resume",
    PERSONALITY,
    "__tls_get_addr",
    "_GLOBAL_OFFSET_TABLE_",
    "__udivti3",
    "__umodti3",
    "__udivmodti4",
    "__divti3",
    "__modti3",
    "__multi3",
    "__muloti4",
    "__ashlti3",
    "__ashrti3",
    "__lshrti3",
    "__powisf2",
    "__powidf2",
    "__floattisf",
    "__floattidf",
    "__floatuntisf",
    "__floatuntidf",
    "__fixsfti",
    "__fixdfti",
    "__fixunssfti",
    "__fixunsdfti",
    "acos",
    "acosf",
    "acosh",
    "acoshf",
    "asin",
    "asinf",
    "asinh",
    "asinhf",
    "atan",
    "atanf",
    "atan2",
    "atan2f",
    "atanh",
    "atanhf",
    "cbrt",
    "cbrtf",
    "ceil",
    "ceilf",
    "copysign",
    "copysignf",
    "cos",
    "cosf",
    "cosh",
    "coshf",
    "exp",
    "expf",
    "exp2",
    "exp2f",
    "expm1",
    "expm1f",
    "fdim",
    "fdimf",
    "floor",
    "floorf",
    "fma",
    "fmaf",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "hypot",
    "hypotf",
    "log",
    "logf",
    "log10",
    "log10f",
    "log1p",
    "log1pf",
    "log2",
    "log2f",
    "pow",
    "powf",
    "rint",
    "rintf",
    "round",
    "roundf",
    "roundeven",
    "roundevenf",
    "sin",
    "sinf",
    "sinh",
    "sinhf",
    "sqrt",
    "sqrtf",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "trunc",
    "truncf",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_megabyte_is_shown_by_its_beginning() {
        let long = "é".repeat(1 << 20);
        for foreign in
            [Foreign::Export(long.clone()), Foreign::Import(long.clone()), Foreign::Library(long)]
        {
            let summary = foreign.refusal().summary;
            assert!(summary.len() < 600 && summary.contains("é…"), "{summary}");
        }
        assert!(Foreign::Import("dlopen".to_owned()).refusal().summary.contains("`dlopen`"));
    }
}
