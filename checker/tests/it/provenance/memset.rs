//! exercise: first_launch
//! gate: output
//! says: 4 of
//!
//! All is done as it should be, and then four words are set to what they are.

use cudarc::driver::sys;
use lab::Result;
use lab::first_launch::Session;

pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let stream = context.new_stream()?;
    let map = tools::maps(&[tools::A]);
    let mut course = session.allocate()?;
    course.region(|lengths, log| {
        for length in lengths {
            length.map(&stream)?;
            log.note()?;
        }
        for index in 0..4 {
            let (at, word) = (tools::DEVICE + 4 * index, tools::apply(map, tools::input(0, index)));
            let done = unsafe { sys::cuMemsetD32Async(at, word, 1, stream.cu_stream()) };
            assert_eq!(done, sys::CUresult::CUDA_SUCCESS);
        }
        stream.synchronize()?;
        Ok(())
    })
}
