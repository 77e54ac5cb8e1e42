//! The program of a setting, as pseudocode.

use crate::setting::{Key, Setting, Sheet};
use crate::workload::PIPELINE_BYTES;

/// The program.
pub fn listing(setting: &Setting) -> String {
    let depth = setting.value(Key::Order) == "depth";
    let (up, down) = (setting.value(Key::Up), setting.value(Key::Down));
    let waits = setting.value(Key::Host) == "waits";
    let streams = setting.number(Key::Streams);
    let body = match setting.sheet {
        Sheet::ThreeLanes => {
            let (tensors, products) = (setting.value(Key::Pieces), setting.value(Key::Kernels));
            let (second, third) = (2.min(streams), streams);
            let wait = if waits { "; wait for it" } else { "" };
            let download = format!("download a tensor to {down} memory on stream {second}{wait}\n");
            let upload = format!("upload a tensor from {up} memory on stream {third}{wait}\n");
            if depth {
                format!(
                    "{products} times:\n  launch a product on stream 1\n\
                     {tensors} times:\n  {download}{tensors} times:\n  {upload}"
                )
            } else {
                let share = match (setting.number(Key::Kernels), setting.number(Key::Pieces)) {
                    (products, tensors) if products % tensors == 0 => {
                        format!("launch {} products", products / tensors)
                    }
                    _ => format!("launch a share of the {products} products"),
                };
                format!("{tensors} times:\n  {share} on stream 1\n  {download}  {upload}")
            }
        }
        Sheet::Pipeline => {
            let chunks = setting.number(Key::Pieces);
            let wait = if waits { "; wait for stream s" } else { "" };
            let upload = format!("upload it from {up} memory on stream s{wait}\n");
            let map = "launch the kernel on stream s\n";
            let download = format!("download it to {down} memory on stream s{wait}\n");
            let size = PIPELINE_BYTES / chunks / (1 << 20);
            let turns = match streams {
                1 => "s is 1".to_owned(),
                _ => format!("s goes through 1 to {streams} in turn"),
            };
            let each = format!("for each of {chunks} chunks of {size} MiB:\n");
            let head = format!("{turns}\n");
            if depth {
                format!("{head}{each}  {upload}  {map}  {download}")
            } else {
                format!("{head}{each}  {upload}{each}  {map}{each}  {download}")
            }
        }
    };
    body + "wait for the device\n"
}
