//! The device's attributes.

use std::ffi::CStr;

use cudarc::driver::sys::CUdevice_attribute as A;

use crate::arm::Arm;
use crate::arm::Outcome;
use crate::gpu::{Gpu, call};
use crate::samples::Samples;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let mut name = [0_u8; 256];
    let outcome = call!(cuDeviceGetName(name.as_mut_ptr().cast(), 256, gpu.device));
    samples.fact("device", outcome.and_then(|()| text(&name)));
    if gpu.arm != Arm::Simulated {
        let mut place = [0_u8; 64];
        let outcome = call!(cuDeviceGetPCIBusId(place.as_mut_ptr().cast(), 64, gpu.device));
        samples.fact("pci_bus", outcome.and_then(|()| text(&place)));
    }
    samples.take("cuda_version", 1, || {
        let mut version = 0;
        call!(cuDriverGetVersion(&mut version))?;
        Ok(version.into())
    });
    samples.take("memory_bytes", 1, || {
        let mut bytes = 0;
        call!(cuDeviceTotalMem_v2(&mut bytes, gpu.device))?;
        Ok(bytes as i64)
    });
    samples.take("highest_priority", 1, || {
        let (mut lowest, mut highest) = (0, 0);
        call!(cuCtxGetStreamPriorityRange(&mut lowest, &mut highest))?;
        Ok((-highest).into()) // a lower number is a higher priority
    });
    for (key, attribute) in [
        ("compute_capability_major", A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        ("compute_capability_minor", A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ("multiprocessors", A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        ("l2_bytes", A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        ("async_engines", A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT),
        ("threads_per_multiprocessor", A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        ("blocks_per_multiprocessor", A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        ("registers_per_multiprocessor", A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        (
            "shared_bytes_per_multiprocessor",
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        ),
    ] {
        samples.take(key, 1, || gpu.attribute(attribute));
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Outcome<String> {
    let text = CStr::from_bytes_until_nul(bytes).map_err(|error| error.to_string())?;
    Ok(text.to_string_lossy().into_owned())
}
