//! Streams that cudarc has no method for.

use std::sync::Arc;

use cudarc::driver::result::stream::{StreamKind, create};
use cudarc::driver::{CudaContext, CudaStream};

use crate::Result;

/// A blocking stream, as `cudaStreamCreate` makes it. It takes turns with the legacy default
/// stream. cudarc's own `new_stream` makes non-blocking ones.
///
/// The stream exists until the process ends.
pub fn blocking_stream(context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    context.bind_to_thread()?;
    let stream = create(StreamKind::Default)?;
    // SAFETY: it was made in this context, nothing destroys it, and nothing else issues work to it.
    Ok(unsafe { context.wrap_borrowed_stream(stream) })
}
