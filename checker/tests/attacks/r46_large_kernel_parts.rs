//! R46: it uses parts of the kernel that are large and seldom used

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let mut room = [0_u8; 256];
    // SAFETY: the room is large enough for what each of them reads and writes.
    unsafe {
        for (name, done) in [
            ("io_uring", syscall!(425, 1, room.as_mut_ptr())),
            ("keyctl", syscall!(250, 0, -3)),
            ("userfaultfd", syscall!(323, 1)),
            ("bpf", syscall!(321, 0, room.as_mut_ptr(), 64)),
            ("perf", syscall!(298, room.as_mut_ptr(), 0, -1, -1, 0)),
            ("memfd", syscall!(319, c"x".as_ptr(), 0)),
            ("shmget", syscall!(29, 0, 4096, 0o1600)),
            ("x32", syscall!(0x4000_0000 + 41, 2, 1, 0)),
        ] {
            if done >= 0 {
                println!("reached {name}");
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
