//! F07: a byte order mark, CRLF, and no newline at the end@BYTE 0d@
@BYTE 0d@
use lab::Result;@BYTE 0d@
use lab::first_launch::Session;@BYTE 0d@
@BYTE 0d@
/// Swims the lengths.@BYTE 0d@
pub fn train(session: &Session) -> Result<()> {@BYTE 0d@
    let context = session.context();@BYTE 0d@
    let stream = context.new_stream()?;@BYTE 0d@
    let mut course = session.allocate()?;@BYTE 0d@
    course.region(|lengths, log| {@BYTE 0d@
        for length in lengths {@BYTE 0d@
            length.map(&stream)?;@BYTE 0d@
            stream.synchronize()?;@BYTE 0d@
            log.note()?;@BYTE 0d@
        }@BYTE 0d@
        Ok(())@BYTE 0d@
    })@BYTE 0d@
}