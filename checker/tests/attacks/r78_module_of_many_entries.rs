//! R78: a module image of a million entries, and one that is all noise

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let maker = session.context();
    let entries: String = (0..1_000_000).map(|number| format!(".visible .entry e{number}()\n")).collect();
    for image in [entries, "\u{7f}ELF\u{0}\u{1}".repeat(100_000), ".entry map_a(".repeat(100_000)] {
        println!("{:?}", maker.load_module(cudarc::nvrtc::Ptx::from_src(image)).map(|_| ()));
    }
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
