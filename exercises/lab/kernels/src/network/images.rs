//! What the kernels for images compute, in Rust: the same bits. A pixel is four bytes, one for each channel.

use super::{LOADED, LOADED_SIDE, PIXELS, SIDE, WINDOW, WINDOW_SIDE};

type Pixel = [u8; 4];

/// Makes each pixel of an output: from the number of its image, and its own in it.
fn make(output: &mut [u8], of_an_image: u64, pixel: impl Fn(usize, usize) -> Pixel) {
    for (image, output) in output.chunks_mut(4 * of_an_image as usize).enumerate() {
        for (place, made) in output.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *made = pixel(image, place);
        }
    }
}

/// Pixels of image number `image`, of so many each.
fn image(pixels: &[u8], image: usize, of_an_image: u64) -> &[Pixel] {
    let (pixels, _) = pixels.as_chunks();
    &pixels[image * of_an_image as usize..][..of_an_image as usize]
}

/// What has been chosen for an image.
fn choice(choices: &[u8], image: usize) -> u32 {
    u32::from_le_bytes(choices.as_chunks().0[image])
}

/// The mean of pixels with weights that add up to 256, rounded to the nearest.
fn mean(pixels: impl Iterator<Item = (Pixel, u32)>) -> Pixel {
    let sums = pixels.fold([128; 4], |sums: [u32; 4], (pixel, weight)| {
        std::array::from_fn(|channel| sums[channel] + weight * u32::from(pixel[channel]))
    });
    sums.map(|sum| (sum >> 8) as u8)
}

pub(super) fn crop(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([images, choices], [windows]) = (inputs, outputs) else { return };
    let (side, loaded) = (WINDOW_SIDE as usize, LOADED_SIDE as usize);
    make(windows, WINDOW, |number, place| {
        let choice = choice(choices, number) as usize;
        let column = place % side + choice % (loaded - side);
        let row = place / side + (choice >> 8) % (loaded - side);
        image(images, number, LOADED)[row * loaded + column]
    });
}

/// Where the middle of a pixel is in a window: the pixels before and behind it, with their weights out of 16.
fn in_window(pixel: usize) -> [(usize, u32); 2] {
    let at = ((2 * pixel + 1) * (8 * WINDOW_SIDE / SIDE) as usize).saturating_sub(8);
    let (before, part) = (at / 16, (at % 16) as u32);
    [(before, 16 - part), ((before + 1).min(WINDOW_SIDE as usize - 1), part)]
}

pub(super) fn resize(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([windows], [pixels]) = (inputs, outputs) else { return };
    let side = SIDE as usize;
    make(pixels, PIXELS, |number, place| {
        let window = image(windows, number, WINDOW);
        let (rows, columns) = (in_window(place / side), in_window(place % side));
        let pixels = rows.into_iter().flat_map(|(row, down)| {
            columns.map(|(column, across)| {
                (window[row * WINDOW_SIDE as usize + column], down * across)
            })
        });
        mean(pixels)
    });
}

pub(super) fn flip(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([pixels, choices], [flipped]) = (inputs, outputs) else { return };
    let side = SIDE as usize;
    make(flipped, PIXELS, |number, place| {
        let is_flipped = choice(choices, number) >> 16 & 1 == 1;
        let (row, column) = (place / side, place % side);
        let column = if is_flipped { side - 1 - column } else { column };
        image(pixels, number, PIXELS)[row * side + column]
    });
}

/// Row and column of a pixel in Z-order: its bits, in turn.
pub(super) fn in_z_order(place: usize) -> (usize, usize) {
    let every_second = |number: usize| {
        (0..SIDE.ilog2()).fold(0, |all, bit| all | (number >> (2 * bit) & 1) << bit)
    };
    (every_second(place >> 1), every_second(place))
}

pub(super) fn blur(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    const WEIGHTS: [(usize, u32); 5] = [(0, 1), (1, 4), (2, 6), (3, 4), (4, 1)];
    let ([pixels], [blurred]) = (inputs, outputs) else { return };
    let side = SIDE as usize;
    let near = |middle: usize, tap: usize| (middle + tap).saturating_sub(2).min(side - 1);
    make(blurred, PIXELS, |number, place| {
        let pixels = image(pixels, number, PIXELS);
        let (row, column) = in_z_order(place);
        mean(WEIGHTS.into_iter().flat_map(|(y, down)| {
            let row = &pixels[near(row, y) * side..];
            WEIGHTS.map(|(x, across)| (row[near(column, x)], down * across))
        }))
    });
}
