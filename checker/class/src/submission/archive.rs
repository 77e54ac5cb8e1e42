//! Archives, read in memory. Nothing of them is ever put on a disk, so that a path in one leads
//! nowhere. What leads out nevertheless, is a link, is there twice or is locked makes the archive
//! one that is not read, since it was made by hand.
//!
//! An archive in an archive is not opened. What an archive claims of its size is not believed: at
//! most [`INFLATED`] is made of one, and of a file no more than was wanted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use rawzip::{
    CompressionMethod, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
};

use super::tree::{Item, Kind, Tree, UNOPENED, join, too_long};
use crate::name::shown;

/// Longest archive of one student, in bytes, packed: what learning platforms let through by default
/// lies below.
pub(super) const PACKED: u64 = 32 * 1024 * 1024;

/// Most that is made of one `.tar.gz`, in bytes, and most that a `.zip` of one student may say that
/// it holds: a whole repository without what was built from it.
const INFLATED: u64 = 64 * 1024 * 1024;

/// How many times its own size an archive may become. Sources come to ten, and zeros to a thousand.
const RATIO: u64 = 100;

/// Below this many bytes no ratio is checked: an empty file compresses without end.
const RATIO_FROM: u64 = 1024 * 1024;

/// Most entries of one student's archive: some repositories.
const ENTRIES: usize = 20_000;

/// Most entries of the archive of a class.
const CLASS_ENTRIES: usize = 200_000;

/// Which archive a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Zip,
    Tar,
    TarGz,
}

const ENDINGS: [(&str, Format); 4] = [
    (".zip", Format::Zip),
    (".tar.gz", Format::TarGz),
    (".tgz", Format::TarGz),
    (".tar", Format::Tar),
];

impl Format {
    /// The format and the name without its ending; none for what is not opened.
    pub(super) fn of(name: &[u8]) -> Option<(&[u8], Self)> {
        ENDINGS.iter().find_map(|&(ending, format)| {
            let stem = name.len().checked_sub(ending.len()).filter(|&stem| stem > 0)?;
            name[stem..].eq_ignore_ascii_case(ending.as_bytes()).then_some((&name[..stem], format))
        })
    }
}

/// Whether a name promises an archive of a kind that is not opened.
pub(super) fn is_foreign(name: &[u8]) -> bool {
    let ending = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(&ending[..], b"rar" | b"7z" | b"xz" | b"bz2" | b"zst" | b"gz" | b"lzh" | b"iso")
}

/// A student's archive, or why it is not read, in words that follow its name.
pub(super) fn open(bytes: Vec<u8>, format: Format) -> Result<Box<dyn Tree>, String> {
    match format {
        Format::Zip => Ok(Box::new(Zip::of_student(bytes)?)),
        Format::Tar => Ok(Box::new(Tar::open(bytes, Packing::None)?)),
        Format::TarGz => Ok(Box::new(Tar::open(bytes, Packing::Gzip)?)),
    }
}

/// The names in an archive, and what each stands for.
#[derive(Debug)]
struct Names<T> {
    entries: BTreeMap<Vec<u8>, (Kind, Option<T>)>,
    /// Why the archive is not one that a tool made of a folder.
    odd: Vec<String>,
    most: usize,
}

impl<T> Names<T> {
    fn new(most: usize) -> Self {
        Self { entries: BTreeMap::new(), odd: Vec::new(), most }
    }

    fn insert(&mut self, raw: &[u8], kind: Kind, data: T) -> Result<(), String> {
        let path = match clean(raw) {
            Ok(path) => path,
            Err(reason) => {
                self.odd.push(format!("its entry `{}` {reason}", shown(raw)));
                return Ok(());
            }
        };
        // `./`, the folder itself.
        if path.is_empty() {
            return Ok(());
        }
        if let Kind::Refused(reason) = &kind {
            self.odd.push(format!("its entry `{}` {reason}", shown(raw)));
        }
        if self.entries.len() == self.most {
            return Err(format!("holds more than {} entries", self.most));
        }
        let folder = kind == Kind::Folder;
        if let Some((former, _)) = self.entries.get_mut(&path) {
            // Some tools name a folder more than once, which is no question of what it holds.
            if !(folder && *former == Kind::Folder) {
                self.odd.push(format!("its entry `{}` is there twice", shown(raw)));
                *former = Kind::Refused("is there twice".to_owned());
            }
            return Ok(());
        }
        self.entries.insert(path, (kind, Some(data)));
        Ok(())
    }

    /// The entries below, folders that have no entry of their own too.
    fn items(&self, below: &[u8], depth: usize) -> Vec<Item> {
        let mut items = BTreeMap::new();
        let prefix = if below.is_empty() {
            Vec::new()
        } else {
            join(below, b"").into_iter().chain(*b"/").collect()
        };
        for (path, (kind, _)) in self.entries.range(prefix.clone()..) {
            let Some(path) = path.strip_prefix(&prefix[..]) else { break };
            let names: Vec<_> = path.split(|&byte| byte == b'/').collect();
            let unopened = names.iter().position(|name| UNOPENED.contains(name)).map(|at| at + 1);
            let seen = names.len().min(depth).min(unopened.unwrap_or(usize::MAX));
            for above in 1..seen {
                items.entry(names[..above].join(&b'/')).or_insert(Kind::Folder);
            }
            let kind = if seen == names.len() { kind.clone() } else { Kind::Folder };
            items.entry(names[..seen].join(&b'/')).or_insert(kind);
        }
        items.into_iter().map(|(path, kind)| Item { path, kind }).collect()
    }

    fn file(&self, path: &[u8]) -> Result<&T, String> {
        match self.entries.get(path) {
            Some((Kind::File, Some(data))) => Ok(data),
            Some((Kind::Refused(reason), _)) => Err(reason.clone()),
            Some(_) => Err("is a folder, not a file".to_owned()),
            None => Err("is not there".to_owned()),
        }
    }
}

/// The upper half of code page 437, in which names of a `.zip` are that are not said to be UTF-8,
/// and which shares most letters with what Windows takes in western Europe.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
                             αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The name of an entry. Most tools write UTF-8, whether they say so or not.
fn in_utf8(raw: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(raw).is_ok() {
        return raw.into();
    }
    let upper: Vec<char> = CODE_PAGE_437.chars().collect();
    let char = |&byte: &u8| match byte.checked_sub(128) {
        Some(at) => upper[usize::from(at)],
        None => char::from(byte),
    };
    raw.iter().map(char).collect::<String>().into_bytes().into()
}

/// A path of an archive with nothing in it that leads anywhere, or what is wrong with it.
fn clean(raw: &[u8]) -> Result<Vec<u8>, &'static str> {
    if raw.contains(&0) {
        return Err("has a NUL byte in its name");
    }
    // Archives of Windows tools have the one instead of the other.
    let path: Vec<u8> = raw.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
    if path.first() == Some(&b'/') || path.get(1) == Some(&b':') {
        return Err("has an absolute path");
    }
    let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    let names: Vec<_> = names.collect();
    if names.contains(&&b".."[..]) {
        return Err("leads out of the archive");
    }
    Ok(names.join(&b'/'))
}

/// A `.zip`.
#[derive(Debug)]
pub(super) struct Zip<R> {
    archive: ZipArchive<R>,
    names: Names<Stored>,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    way: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

/// For the record of one entry; a longer one is refused by the reader.
const BUFFER: usize = 2 * rawzip::RECOMMENDED_BUFFER_SIZE;

impl Zip<Vec<u8>> {
    fn of_student(bytes: Vec<u8>) -> Result<Self, String> {
        let packed = bytes.len() as u64;
        let archive = ZipArchive::from_slice(bytes).map_err(|error| broken(&error))?;
        let (zip, inflated) = Zip::list(archive.into_reader_archive(), ENTRIES)?;
        if inflated > INFLATED || (inflated > RATIO_FROM && inflated / RATIO > packed) {
            return Err(format!("would become {inflated} bytes of {packed}, and is not opened"));
        }
        match zip.names.odd.first() {
            Some(odd) => Err(format!("is not opened: {odd}")),
            None => Ok(zip),
        }
    }
}

impl Zip<rawzip::FileReader> {
    /// The archive of a whole class, which is read from where it lies. What is odd in it is refused
    /// one by one: a student's file name must not stop the class.
    pub(super) fn of_class(file: std::fs::File) -> Result<(Self, Vec<String>), String> {
        let archive =
            ZipArchive::from_file(file, &mut vec![0; BUFFER]).map_err(|error| broken(&error))?;
        let (mut zip, _) = Self::list(archive, CLASS_ENTRIES)?;
        let odd = std::mem::take(&mut zip.names.odd);
        Ok((zip, odd))
    }
}

impl<R: ReaderAt> Zip<R> {
    /// The archive, and what it says that its files come to.
    fn list(archive: ZipArchive<R>, most: usize) -> Result<(Self, u64), String> {
        let mut names = Names::new(most);
        let mut inflated = 0_u64;
        let mut buffer = vec![0; BUFFER];
        let mut entries = archive.entries(&mut buffer);
        let mut count = 0_u64;
        while let Some(entry) = entries.next_entry().map_err(|error| broken(&error))? {
            count += 1;
            inflated = inflated.saturating_add(entry.uncompressed_size_hint());
            let stored = Stored { way: entry.wayfinder(), method: entry.compression_method() };
            names.insert(&in_utf8(entry.file_path().as_bytes()), kind(&entry), stored)?;
        }
        // Another reader would see other files in it.
        if count != archive.entries_hint() {
            let says = archive.entries_hint();
            return Err(format!(
                "is damaged: it says that it holds {says} entries, and holds {count}"
            ));
        }
        Ok((Self { archive, names }, inflated))
    }

    fn inflate(&self, path: &[u8], most: u64) -> Result<Vec<u8>, String> {
        let Stored { way, method } = *self.names.file(path)?;
        let says = way.uncompressed_size_hint();
        if says > most {
            return Err(too_long(says, most));
        }
        let entry = self.archive.get_entry(way).map_err(|error| broken(&error))?;
        let mut bytes = Vec::new();
        let read = match method {
            CompressionMethod::STORE => {
                entry.verifying_reader(entry.reader()).take(most + 1).read_to_end(&mut bytes)
            }
            CompressionMethod::DEFLATE => {
                let inflated = DeflateDecoder::new(io::BufReader::new(entry.reader()));
                entry.verifying_reader(inflated).take(most + 1).read_to_end(&mut bytes)
            }
            _ => return Err("is packed in a way that is not read; deflate is".to_owned()),
        };
        read.map_err(|error| format!("is damaged: {error}"))?;
        if bytes.len() as u64 > most {
            return Err(too_long(bytes.len() as u64, most));
        }
        Ok(bytes)
    }
}

impl<R: ReaderAt + Send + Sync> Tree for Zip<R> {
    fn items(&self, below: &[u8], depth: usize) -> Result<Vec<Item>, String> {
        Ok(self.names.items(below, depth))
    }

    fn read(&self, path: &[u8], most: u64) -> Result<Vec<u8>, String> {
        self.inflate(path, most)
    }
}

fn kind(entry: &ZipFileHeaderRecord<'_>) -> Kind {
    // The bits of a file's type, as Unix tools store them; others leave them zero.
    const TYPE: u32 = 0o170_000;
    let mode = entry.mode();
    let flags = entry.flags();
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
        return Kind::Refused("is encrypted".to_owned());
    }
    if mode.is_symlink() {
        return Kind::Refused("is a link".to_owned());
    }
    if entry.is_dir() {
        return Kind::Folder;
    }
    match mode.value() & TYPE {
        0 | 0o100_000 => Kind::File,
        0o040_000 => Kind::Folder,
        _ => Kind::Refused("is neither a file nor a folder".to_owned()),
    }
}

fn broken(error: &rawzip::Error) -> String {
    format!("is damaged or no zip: {error}")
}

#[derive(Clone, Copy, Debug)]
enum Packing {
    None,
    Gzip,
}

/// A `.tar` or a `.tar.gz`: it can only be read from its beginning, and is, each time.
#[derive(Debug)]
struct Tar {
    bytes: Vec<u8>,
    packing: Packing,
    names: Names<()>,
}

impl Tar {
    fn open(bytes: Vec<u8>, packing: Packing) -> Result<Self, String> {
        let mut names = Names::new(ENTRIES);
        each(&bytes, packing, |entry| {
            let path = entry.path_bytes();
            match entry.header().entry_type() {
                // What git writes to say which commit it was.
                tar::EntryType::XGlobalHeader => Ok(()),
                tar::EntryType::Regular | tar::EntryType::Continuous => {
                    names.insert(&path, Kind::File, ())
                }
                tar::EntryType::Directory => names.insert(&path, Kind::Folder, ()),
                tar::EntryType::Symlink | tar::EntryType::Link => {
                    names.insert(&path, Kind::Refused("is a link".to_owned()), ())
                }
                _ => names.insert(
                    &path,
                    Kind::Refused("is neither a file nor a folder".to_owned()),
                    (),
                ),
            }?;
            Ok(Next::Go)
        })?;
        match names.odd.first() {
            Some(odd) => Err(format!("is not opened: {odd}")),
            None => Ok(Self { bytes, packing, names }),
        }
    }
}

enum Next {
    Go,
    Stop,
}

/// Calls `see` for each entry, and makes no more of the archive than is allowed.
fn each(
    bytes: &[u8],
    packing: Packing,
    mut see: impl FnMut(&mut tar::Entry<'_, &mut dyn Read>) -> Result<Next, String>,
) -> Result<(), String> {
    let packed = bytes.len() as u64;
    let most = match packing {
        Packing::None => packed,
        Packing::Gzip => INFLATED.min((packed * RATIO).max(RATIO_FROM)),
    };
    let mut gzip;
    let mut plain;
    let inner: &mut dyn Read = match packing {
        Packing::None => {
            plain = bytes;
            &mut plain
        }
        Packing::Gzip => {
            gzip = MultiGzDecoder::new(bytes);
            &mut gzip
        }
    };
    let mut bounded = Bounded { inner, left: most };
    let mut archive = tar::Archive::new(&mut bounded as &mut dyn Read);
    let damaged = |error: io::Error| match error.get_ref() {
        Some(inner) if inner.is::<Exhausted>() => {
            format!("would become more than {most} bytes of {packed}, and is not opened")
        }
        _ => format!("is damaged or no tar: {error}"),
    };
    for entry in archive.entries().map_err(damaged)? {
        match see(&mut entry.map_err(damaged)?)? {
            Next::Go => {}
            Next::Stop => return Ok(()),
        }
    }
    Ok(())
}

impl Tree for Tar {
    fn items(&self, below: &[u8], depth: usize) -> Result<Vec<Item>, String> {
        Ok(self.names.items(below, depth))
    }

    fn read(&self, path: &[u8], most: u64) -> Result<Vec<u8>, String> {
        self.names.file(path)?;
        let mut found = Vec::new();
        each(&self.bytes, self.packing, |entry| {
            if clean(&entry.path_bytes()).as_deref() != Ok(path) {
                return Ok(Next::Go);
            }
            if entry.size() > most {
                return Err(too_long(entry.size(), most));
            }
            let read = entry.take(most).read_to_end(&mut found);
            read.map_err(|error| format!("is damaged: {error}"))?;
            Ok(Next::Stop)
        })?;
        Ok(found)
    }
}

/// A reader that comes to an end that is an error.
struct Bounded<'a> {
    inner: &'a mut dyn Read,
    left: u64,
}

#[derive(Debug)]
struct Exhausted;

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("more than is made of an archive")
    }
}

impl std::error::Error for Exhausted {}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let longest = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if longest == 0 && !buffer.is_empty() {
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(Exhausted)),
            };
        }
        let read = self.inner.read(&mut buffer[..longest])?;
        self.left -= read as u64;
        Ok(read)
    }
}
