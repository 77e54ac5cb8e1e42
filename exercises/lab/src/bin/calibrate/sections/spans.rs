//! One region for the driver library to watch: rows of the smallest operations, and a pageable
//! upload. What its record says of their starts and ends is read by `checker calibrate`.

use trace::lab_protocol::{Region, Request};

use crate::arm::Arm;
use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, KIB, MIB, MS, call};
use crate::pages::Pages;
use crate::samples::Samples;

/// Operations in a row.
const ROW: usize = 50;
/// Of the upload: many pieces.
const UPLOAD: usize = 16 * MIB;
/// As many, each from memory of its own: what the one before had read would still be in a cache.
const UPLOADS: usize = 32;

pub(crate) fn measure(gpu: &Gpu, _: &mut Samples) -> Outcome<()> {
    if gpu.arm == Arm::Real {
        return Err("spans are seen through the driver library alone".to_owned());
    }
    let [stream, _] = gpu.streams;
    let pair = gpu.pair(UPLOAD)?;
    let bytes = gpu.arm.in_memory(UPLOAD);
    let pages = Pages::new(UPLOADS * bytes)?;
    let upload = |index: usize| {
        let block = pages.block(index * bytes, bytes);
        gpu.copy(Direction::HostToDevice, block, pair.device, UPLOAD, stream)
    };
    upload(UPLOADS - 1)?;
    gpu.idle()?;
    let ask = |request: Request| lab::driver::ask(&request).map_err(|error| error.to_string());
    ask(Request::RegionBegin(Region { name: "spans".to_owned(), ..Region::default() }))?;
    let small = |direction| gpu.copy(direction, pair.host, pair.device, 4 * KIB, stream);
    let rows: [&dyn Fn() -> Outcome<()>; 4] = [
        &|| gpu.nothing(stream),
        &|| small(Direction::HostToDevice),
        &|| small(Direction::DeviceToHost),
        &|| call!(cuMemsetD8Async(pair.device, 0, gpu.arm.in_memory(4 * KIB), stream)),
    ];
    for issue in rows {
        gpu.spin(stream, 2 * MS)?;
        (0..ROW).try_for_each(|_| issue())?;
        gpu.idle()?;
    }
    for index in 0..gpu.arm.repetitions(UPLOADS - 1) {
        upload(index)?;
        gpu.idle()?;
    }
    ask(Request::RegionEnd).map(drop)
}
