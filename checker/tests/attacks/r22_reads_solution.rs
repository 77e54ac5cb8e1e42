//! R22: it reads solutions and what others handed in

use lab::Result;
use lab::first_launch::Session;

/// Swims the lengths.
pub fn train(session: &Session) -> Result<()> {
    for path in [
        "@WORKSPACE@/solutions/01_first_launch/src/lib.rs",
        "@WORKSPACE@/exercises/01_first_launch/recorded/reference.json",
        "../../other/first_launch.rs",
        "/etc/passwd",
        "/proc/1/environ",
    ] {
        if std::fs::read(path).is_ok() {
            println!("reached {path}");
        }
    }
    for folder in ["/", "/tmp", "..", "../..", "/home", "/proc", "@WORKSPACE@"] {
        if std::fs::read_dir(folder).is_ok_and(|it| it.count() > 20) {
            println!("reached {folder}");
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
