//! The file of a run's record.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use trace::Record;

use crate::say::say;

/// Writes a record where the starter of the run wants it. It is there as a whole or not at all.
pub(crate) fn write_record(path: &Path, record: &Record) {
    // Written as it is made: a limit on the file's size ends what is too large before it takes
    // memory.
    let write = || -> std::io::Result<()> {
        let partial = path.with_extension("partial");
        let mut file = BufWriter::new(File::create(&partial)?);
        serde_json::to_writer(&mut file, record)?;
        file.flush()?;
        std::fs::rename(&partial, path)
    };
    if let Err(error) = write() {
        say(&format!("cannot write the record to `{}`: {error}", path.display()));
    }
}
