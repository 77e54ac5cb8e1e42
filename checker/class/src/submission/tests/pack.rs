//! Archives as anybody could write them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

/// One entry of a zip, as somebody wants it to look.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) mode: u32,
    pub(super) flags: u16,
    /// What it says that it becomes, where that is not the truth.
    pub(super) says: Option<u32>,
}

pub(super) fn entry<'a>(name: &'a str, data: &'a [u8]) -> Entry<'a> {
    Entry { name: name.as_bytes(), data, mode: 0o100_644, flags: 0, says: None }
}

/// A zip of `entries`, written by hand, because no tool writes what an attacker does.
pub(super) fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(entry.data).unwrap();
        let packed = encoder.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(entry.data);
        let mut both = Vec::new();
        for number in [20, entry.flags, 8, 0, 0] {
            both.extend(number.to_le_bytes());
        }
        for number in
            [crc.sum(), packed.len() as u32, entry.says.unwrap_or(entry.data.len() as u32)]
        {
            both.extend(number.to_le_bytes());
        }
        both.extend((entry.name.len() as u16).to_le_bytes());
        both.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&both);
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend((zip.len() as u32).to_le_bytes());
        directory.extend(entry.name);
        zip.extend(b"PK\x03\x04");
        zip.extend(&both);
        zip.extend(entry.name);
        zip.extend(packed);
    }
    let at = zip.len() as u32;
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend([(entries.len() as u16).to_le_bytes(); 2].concat());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(at.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// A tar of `entries`: name, kind, data.
pub(super) fn tar(entries: &[(&[u8], tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for &(name, kind, data) in entries {
        let mut header = tar::Header::new_gnu();
        // Past the library's own check of paths.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        if matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, data).unwrap();
    }
    tar.into_inner().unwrap()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
