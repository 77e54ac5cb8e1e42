//! The records that CUPTI writes, as far as they are of use.
//!
//! CUPTI fills the newest form of each record that it knows; what is read here lies at the same
//! offsets in all forms from CUDA 12.0 to 13.4. Their lengths differ, so buffers are walked with
//! CUPTI's own function only.

use trace::program::Direction;

use super::join::{Activity, Kind};

/// `CUPTI_ACTIVITY_KIND_…`
pub(super) mod kind {
    pub(in crate::gpu::cupti) const MEMCPY: u32 = 1;
    /// `CUPTI_ACTIVITY_KIND_MEMCPY2`: between two contexts.
    pub(in crate::gpu::cupti) const PEER_MEMCPY: u32 = 22;
    pub(in crate::gpu::cupti) const MEMSET: u32 = 2;
    pub(in crate::gpu::cupti) const DRIVER: u32 = 4;
    /// Unlike `KERNEL` (3) it does not make kernels wait for one another.
    pub(in crate::gpu::cupti) const CONCURRENT_KERNEL: u32 = 10;
    pub(in crate::gpu::cupti) const EXTERNAL_CORRELATION: u32 = 39;
}

/// How much of a record of this kind is read.
fn length(kind: u32) -> Option<usize> {
    match kind {
        kind::MEMCPY | kind::MEMSET => Some(48),
        kind::PEER_MEMCPY => Some(64),
        kind::CONCURRENT_KERNEL => Some(96),
        kind::DRIVER => Some(36),
        kind::EXTERNAL_CORRELATION => Some(20),
        _ => None,
    }
}

/// Reads one record; none for kinds that are of no use.
///
/// # Safety
/// `record` points to a record that CUPTI has written.
pub(super) unsafe fn read(record: *const u8) -> Option<Activity> {
    // SAFETY: every record begins with its kind.
    let kind = unsafe { record.cast::<u32>().read_unaligned() };
    // SAFETY: all forms of a record of this kind are at least this long.
    parse(unsafe { std::slice::from_raw_parts(record, length(kind)?) })
}

fn parse(record: &[u8]) -> Option<Activity> {
    let word = |at: usize| Some(u32::from_le_bytes(*record.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*record.get(at..)?.first_chunk()?));
    let operation = |kind, correlation: usize| {
        let (start, end) = (long(16)?, long(24)?);
        // Both are 0 where CUPTI could not find out.
        (start != 0).then_some(Activity::Operation {
            kind,
            correlation: word(correlation)?,
            start,
            end,
        })
    };
    match word(0)? {
        kind::MEMCPY => operation(copy(*record.get(4)?), 44),
        kind::PEER_MEMCPY => operation(Kind::Copy(Direction::PeerToPeer), 60),
        kind::MEMSET => operation(Kind::Memset, 44),
        kind::CONCURRENT_KERNEL => operation(Kind::Kernel, 92),
        kind::DRIVER => {
            Some(Activity::Call { correlation: word(32)?, thread: word(28)?, start: long(8)? })
        }
        kind::EXTERNAL_CORRELATION => {
            Some(Activity::Pushed { correlation: word(16)?, number: long(8)? })
        }
        _ => None,
    }
}

/// `CUpti_ActivityMemcpyKind`
fn copy(kind: u8) -> Kind {
    match kind {
        1 => Kind::Copy(Direction::HostToDevice),
        2 => Kind::Copy(Direction::DeviceToHost),
        8 => Kind::Copy(Direction::DeviceToDevice),
        9 => Kind::Copy(Direction::HostToHost),
        10 => Kind::Copy(Direction::PeerToPeer),
        _ => Kind::OtherCopy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with these numbers at these offsets, and noise everywhere else.
    fn record(bytes: usize, words: &[(usize, u32)], longs: &[(usize, u64)]) -> Vec<u8> {
        let mut record = vec![0xa5; bytes];
        for (at, word) in words {
            record[*at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        for (at, long) in longs {
            record[*at..at + 8].copy_from_slice(&long.to_le_bytes());
        }
        record
    }

    fn read(record: &[u8]) -> Option<Activity> {
        // SAFETY: the records of these tests are as long as CUPTI's.
        unsafe { super::read(record.as_ptr()) }
    }

    #[test]
    fn a_copy_is_read_in_every_length_that_it_comes_in() {
        for bytes in [88, 96, 104] {
            let mut copy =
                record(bytes, &[(0, 1), (44, 9)], &[(8, 4096), (16, 1_000), (24, 3_000)]);
            copy[4] = 2;
            let kind = Kind::Copy(Direction::DeviceToHost);
            let expected = Activity::Operation { kind, correlation: 9, start: 1_000, end: 3_000 };
            assert_eq!(read(&copy), Some(expected));
        }
    }

    #[test]
    fn kernels_and_memsets_are_read() {
        for bytes in [208, 216, 224, 248] {
            let kernel = record(bytes, &[(0, 10), (92, 5)], &[(16, 70), (24, 90)]);
            let expected =
                Activity::Operation { kind: Kind::Kernel, correlation: 5, start: 70, end: 90 };
            assert_eq!(read(&kernel), Some(expected));
        }
        let memset = record(88, &[(0, 2), (44, 6)], &[(16, 7), (24, 9)]);
        let expected = Activity::Operation { kind: Kind::Memset, correlation: 6, start: 7, end: 9 };
        assert_eq!(read(&memset), Some(expected));
    }

    #[test]
    fn calls_and_pushed_numbers_are_read() {
        let call = record(48, &[(0, 4), (4, 307), (28, 11), (32, 5)], &[(8, 60), (16, 69)]);
        assert_eq!(read(&call), Some(Activity::Call { correlation: 5, thread: 11, start: 60 }));
        let pushed = record(24, &[(0, 39), (4, 3), (16, 5)], &[(8, 1 << 40)]);
        assert_eq!(read(&pushed), Some(Activity::Pushed { correlation: 5, number: 1 << 40 }));
    }

    #[test]
    fn what_has_no_time_or_no_use_is_left_out() {
        let untimed = record(88, &[(0, 2), (44, 6)], &[(16, 0), (24, 0)]);
        assert_eq!(read(&untimed), None);
        let overhead = record(48, &[(0, 17)], &[]);
        assert_eq!(read(&overhead), None);
    }
}
