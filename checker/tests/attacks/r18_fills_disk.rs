//! R18: it fills the disk, with one file and with many

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let zeros = vec![0_u8; 1 << 20];
    for folder in [".", "/tmp", "/dev/shm", "/var/tmp"] {
        for number in 0..1000 {
            if std::fs::write(format!("{folder}/much{number}"), &zeros).is_ok() {
                println!("reached {folder}");
            }
        }
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
