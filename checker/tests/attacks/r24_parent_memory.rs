//! R24: it looks into its parent and changes it

use lab::Result;
use lab::first_launch::Session;

@SYSTEM@

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    let parent = std::os::unix::process::parent_id();
    for pid in [parent, 1] {
        for file in ["mem", "environ", "maps", "fd/0"] {
            if std::fs::File::open(format!("/proc/{pid}/{file}")).is_ok() {
                println!("reached {pid} {file}");
            }
        }
        // ptrace(PTRACE_SEIZE), process_vm_writev, and pidfd_getfd behind pidfd_open, of x86-64.
        // SAFETY: no memory is involved.
        unsafe {
            let seized = syscall!(101, 0x4206, pid, 0, 0) == 0;
            let written = syscall!(311, pid, 0, 0, 0, 0, 0) == 0;
            let taken = syscall!(438, syscall!(434, pid, 0), 0, 0) >= 0;
            if seized || written || taken {
                println!("reached {pid} {seized} {written} {taken}");
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
