//! R64: it closes all descriptors and unmaps what it shares with the device

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines().filter(|line| line.contains("memfd")) {
        let (from, rest) = line.split_once('-').unwrap_or_default();
        let to = rest.split(' ').next().unwrap_or_default();
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        // SAFETY: none: somebody relies on it.
        unsafe { syscall!(11, number(from), number(to) - number(from)) };
    }
    // SAFETY: as above.
    unsafe { syscall!(436, 3, u32::MAX, 0) };
    let context = session.context();
    let stream = context.new_stream()?;
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            stream.synchronize()?;
            log.note()?;
        }
        Ok(())
    })
}
