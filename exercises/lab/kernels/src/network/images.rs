//! The kernels for images in Rust, bit for bit. A pixel is four bytes, one for each
//! channel.

use super::parts::shared;
use super::{LOADED, LOADED_SIDE, PIXELS, SIDE, WINDOW, WINDOW_SIDE};

/// Makes each pixel of an output: from the number of its image, and its own in it. `image` gets
/// what all pixels of an image need.
fn make<T>(
    output: &mut [u8],
    of_an_image: u64,
    image: impl Fn(usize) -> T + Sync,
    pixel: impl Fn(&T, usize) -> u32 + Sync,
) {
    let (bytes, all) = (4 * of_an_image as usize, output.len());
    shared(output, bytes, all, |first, images| {
        for (number, output) in (first..).zip(images.chunks_mut(bytes)) {
            let image = image(number);
            for (place, made) in output.as_chunks_mut().0.iter_mut().enumerate() {
                *made = pixel(&image, place).to_le_bytes();
            }
        }
    });
}

/// Pixels of image number `image`, of so many each.
fn image(pixels: &[u8], image: usize, of_an_image: u64) -> &[[u8; 4]] {
    let (pixels, _) = pixels.as_chunks();
    &pixels[image * of_an_image as usize..][..of_an_image as usize]
}

/// The choice that was made for an image.
fn choice(choices: &[u8], image: usize) -> u32 {
    u32::from_le_bytes(choices.as_chunks().0[image])
}

/// Sums of pixels, channel by channel: two of the four in each word, in 16 bits. Weights that add
/// up to 256 fit.
#[derive(Clone, Copy, Default)]
struct Sum {
    even: u32,
    odd: u32,
}

impl Sum {
    fn of(pixel: [u8; 4]) -> Self {
        let pixel = u32::from_le_bytes(pixel);
        Self { even: pixel & 0x00ff_00ff, odd: pixel >> 8 & 0x00ff_00ff }
    }

    fn add(&mut self, other: Self, weight: u32) {
        self.even += other.even * weight;
        self.odd += other.odd * weight;
    }

    /// The mean with weights that add up to 256, rounded to the nearest.
    fn mean(self) -> u32 {
        (self.even + 0x0080_0080) >> 8 & 0x00ff_00ff | (self.odd + 0x0080_0080) & 0xff00_ff00
    }
}

pub(super) fn crop(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([images, choices], [windows]) = (inputs, outputs) else { return };
    let (side, loaded) = (WINDOW_SIDE as usize, LOADED_SIDE as usize);
    let window = |number| (image(images, number, LOADED), choice(choices, number) as usize);
    make(windows, WINDOW, window, |(image, choice), place| {
        let column = place % side + choice % (loaded - side);
        let row = place / side + (choice >> 8) % (loaded - side);
        u32::from_le_bytes(image[row * loaded + column])
    });
}

/// Where the middle of a pixel is in a window: the pixels before and after it, with their weights
/// out of 16.
fn in_window(pixel: usize) -> [(usize, u32); 2] {
    let at = ((2 * pixel + 1) * (8 * WINDOW_SIDE / SIDE) as usize).saturating_sub(8);
    let (before, part) = (at / 16, (at % 16) as u32);
    [(before, 16 - part), ((before + 1).min(WINDOW_SIDE as usize - 1), part)]
}

pub(super) fn resize(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([windows], [pixels]) = (inputs, outputs) else { return };
    let side = SIDE as usize;
    let window = |number| image(windows, number, WINDOW);
    make(pixels, PIXELS, window, |window, place| {
        let columns = in_window(place % side);
        let mut sum = Sum::default();
        for (row, down) in in_window(place / side) {
            for (column, across) in columns {
                sum.add(Sum::of(window[row * WINDOW_SIDE as usize + column]), down * across);
            }
        }
        sum.mean()
    });
}

pub(super) fn flip(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([pixels, choices], [flipped]) = (inputs, outputs) else { return };
    let side = SIDE as usize;
    let pixels = |number| (image(pixels, number, PIXELS), choice(choices, number) >> 16 & 1 == 1);
    make(flipped, PIXELS, pixels, |&(image, is_flipped), place| {
        let (row, column) = (place / side, place % side);
        let column = if is_flipped { side - 1 - column } else { column };
        u32::from_le_bytes(image[row * side + column])
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
    let sum = |middle: usize, at: &dyn Fn(usize) -> Sum| {
        let mut sum = Sum::default();
        for (tap, weight) in WEIGHTS {
            sum.add(at((middle + tap).saturating_sub(2).min(side - 1)), weight);
        }
        sum
    };
    // Across first: the same sum.
    let across = |number| -> Vec<Sum> {
        let rows = image(pixels, number, PIXELS).chunks(side);
        let row = |row: &[[u8; 4]]| {
            (0..side).map(|column| sum(column, &|at| Sum::of(row[at]))).collect::<Vec<_>>()
        };
        rows.flat_map(row).collect()
    };
    make(blurred, PIXELS, across, |across, place| {
        let (row, column) = in_z_order(place);
        sum(row, &|at| across[at * side + column]).mean()
    });
}
