"""What PyTorch makes of a small network, to hold the integer kernels against: `network.json`.

Images of 16 x 16 pixels are normalised and go through a convolution of 2 x 2 with stride 2 and a ReLU, a transposed
convolution of 2 x 2 with stride 2 and a ReLU, and a convolution of 1 x 1 to 32 classes. The gradients are those of the
mean cross-entropy. All of it in double precision. The inputs are made by a formula that the test has too.

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


def numbers(tensor):
    return [float(f"{x:.6g}") for x in tensor.detach().flatten().tolist()]


print(
    json.dumps(
        {
            "torch": torch.__version__.split("+")[0],
            "features": numbers(to_rows(features)[:64]),
            "losses": numbers(losses),
            "up_gradient": numbers(up.grad),
            "classify_gradient": numbers(classify.grad),
        }
    )
)
