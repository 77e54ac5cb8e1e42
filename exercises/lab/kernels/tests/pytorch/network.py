"""What PyTorch makes of a small network, to hold the integer kernels against: `network.json`.

Images of 16 x 16 pixels are normalised and go through a convolution of 2 x 2 with stride 2 and a ReLU, a transposed
convolution of 2 x 2 with stride 2 and a ReLU, and a convolution of 1 x 1 to 32 classes. The gradients are those of the
mean cross-entropy. All of it in double precision. The inputs are made by a formula that the test has too.

Before that, two images of 64 x 64 pixels are cropped, resized to 128 x 128, flipped and blurred. After each of these
their bytes are rounded, as those of the kernels are.

    python3 network.py > network.json
"""

import json

import torch
import torch.nn.functional as F

IMAGES, SIDE, CHANNELS, HIDDEN, CLASSES = 4, 16, 4, 32, 32
MEAN, DEVIATION = [0.485, 0.456, 0.406, 0.0], [0.229, 0.224, 0.225, 1.0]
ONE = 1 << 24  # a weight of 1


def word(index, salt):
    x = ((index + 1) * 2654435761 + salt * 40503) % 2**32
    x = (x ^ x >> 15) * 2246822519 % 2**32
    return x ^ x >> 13


def weights(salt, inputs, outputs, bits):
    """[inputs][outputs], within so many bits and a sign."""
    signed = [word(index, salt) for index in range(inputs * outputs)]
    signed = [(x - 2**32 if x >= 2**31 else x) >> (31 - bits) for x in signed]
    return torch.tensor(signed, dtype=torch.float64).reshape(inputs, outputs) / ONE


def place(index):
    """Row and column of a pixel in Z-order: the bits of its number, in turn. Four that follow one another are a patch."""
    row = column = 0
    for bit in range(8):
        column |= (index >> 2 * bit & 1) << bit
        row |= (index >> 2 * bit + 1 & 1) << bit
    return row, column


def to_image(rows, side):
    """From rows in Z-order, [images * side * side][channels], to [images][channels][side][side]."""
    image = torch.empty(len(rows) // side**2, rows.shape[1], side, side, dtype=rows.dtype)
    for index in range(side**2):
        row, column = place(index)
        image[:, :, row, column] = rows[index :: side**2]
    return image


def to_rows(image):
    images, channels, side, _ = image.shape
    rows = torch.empty(images * side**2, channels, dtype=image.dtype)
    for index in range(side**2):
        row, column = place(index)
        rows[index :: side**2] = image[:, :, row, column]
    return rows


def patches(weight, channels, outputs):
    """From [4 * channels][outputs], one row for each pixel and channel of a patch, to [outputs][channels][2][2]."""
    kernel = torch.empty(outputs, channels, 2, 2, dtype=weight.dtype)
    for pixel in range(4):
        row, column = place(pixel)
        kernel[:, :, row, column] = weight[pixel * channels : (pixel + 1) * channels].T
    return kernel


def transposed(weight, inputs, channels):
    """From [inputs][4 * channels] to [inputs][channels][2][2]."""
    kernel = torch.empty(inputs, channels, 2, 2, dtype=weight.dtype)
    for pixel in range(4):
        row, column = place(pixel)
        kernel[:, :, row, column] = weight[:, pixel * channels : (pixel + 1) * channels]
    return kernel


pixels = [word(index, 1) for index in range(IMAGES * SIDE**2)]
bytes_ = torch.tensor([[x >> 8 * c & 0xFF for c in range(3)] + [0] for x in pixels], dtype=torch.float64)
normalised = (bytes_ / 255 - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
down = weights(2, 4 * CHANNELS, HIDDEN, 23)
up = weights(3, HIDDEN, 4 * HIDDEN, 22).requires_grad_()
classify = weights(4, HIDDEN, CLASSES, 22).requires_grad_()
labels = torch.tensor([word(index, 5) >> 27 for index in range(IMAGES * SIDE**2)])

features = F.relu(F.conv2d(to_image(normalised, SIDE), patches(down, CHANNELS, HIDDEN), stride=2))
hidden = F.relu(F.conv_transpose2d(features, transposed(up, HIDDEN, HIDDEN), stride=2))
logits = to_rows(F.conv2d(hidden, classify.T.reshape(CLASSES, HIDDEN, 1, 1)))
losses = F.cross_entropy(logits, labels, reduction="none")
losses.mean().backward()


LOADED, WINDOW, RESIZED = 64, 48, 128


def augmented(number):
    """An image in [4][128][128], cropped, resized, flipped and blurred as its word says."""
    words = [word(number * LOADED**2 + index, 6) for index in range(LOADED**2)]
    image = torch.tensor([[x >> 8 * c & 0xFF for x in words] for c in range(4)], dtype=torch.float64)
    choice = word(number, 8)
    row, column = (choice >> 8) % (LOADED - WINDOW), choice % (LOADED - WINDOW)
    window = image.reshape(4, LOADED, LOADED)[:, row : row + WINDOW, column : column + WINDOW]
    resized = F.interpolate(window[None], size=(RESIZED, RESIZED), mode="bilinear").round()
    flipped = resized.flip(-1) if choice >> 16 & 1 else resized
    taps = torch.tensor([1, 4, 6, 4, 1], dtype=torch.float64) / 16
    blur = torch.outer(taps, taps).expand(4, 1, 5, 5)
    return F.conv2d(F.pad(flipped, (2, 2, 2, 2), mode="replicate"), blur, groups=4)[0]


def sample(image):
    """Every 37th of its pixels, in Z-order."""
    places = (place(index) for index in range(0, RESIZED**2, 37))
    return [round(x, 3) for row, column in places for x in image[:, row, column].tolist()]


def numbers(tensor):
    return [float(f"{x:.6g}") for x in tensor.detach().flatten().tolist()]


print(
    json.dumps(
        {
            "torch": torch.__version__.split("+")[0],
            "augmented": [x for number in range(2) for x in sample(augmented(number))],
            "features": numbers(to_rows(features)[:64]),
            "losses": numbers(losses),
            "up_gradient": numbers(up.grad),
            "classify_gradient": numbers(classify.grad),
        }
    )
)
