"""Pipelining a frozen encoder: one batch ahead.

    python frozen_encoder.py [TRACE.json.gz]

The decoder is trained on what a frozen encoder makes of the images, and the encoder needs none of the weights that are
trained. So it may make the features of the next batch in a stream of its own. Every hand-over is said: the encoder waits
for the images, the decoder for the features, and the features that come next do not take the memory of those that
are still read.
"""

import sys

import torch
from torch import nn

import timing

BATCHES = 16
PIXELS = 128

torch.manual_seed(1)


def layer(inputs, outputs, size):
    return [nn.Conv2d(inputs, outputs, size, stride=size, bias=False), nn.ReLU()]


encoder = nn.Sequential(
    *layer(4, 32, 2), *layer(32, 32, 1), *layer(32, 64, 2), *layer(64, 64, 1), *layer(64, 128, 2), *layer(128, 128, 1)
)
decoder = nn.Sequential(
    nn.ConvTranspose2d(128, 128, 2, stride=2, bias=False), nn.ReLU(), nn.Conv2d(128, 32, 1, bias=False)
)
encoder.cuda().requires_grad_(False)
decoder.cuda()
optimizer = torch.optim.SGD(decoder.parameters(), lr=1 / 8)
cross_entropy = nn.CrossEntropyLoss()
encoding = torch.cuda.Stream()


def batches(size):
    """Pinned images, a byte for each channel, and the classes of their 32 x 32 places."""
    images = [torch.randint(256, (size, 4, PIXELS, PIXELS), dtype=torch.uint8).pin_memory() for _ in range(BATCHES)]
    labels = [torch.randint(32, (size, 32, 32)).pin_memory() for _ in range(BATCHES)]
    return list(zip(images, labels))


def encode(images, labels):
    images, labels = images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
    with torch.no_grad():
        return encoder(images.float() / 255), labels


def train(features, labels):
    optimizer.zero_grad()
    loss = cross_entropy(decoder(features), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def in_turn(data):
    return [train(*encode(*batch)) for batch in data]


def one_ahead(data):
    """The features of batch N + 1 are made while the decoder is trained on those of batch N."""
    losses = []
    training = torch.cuda.current_stream()
    encoding.wait_stream(training)  # the weights of the encoder were made there
    ahead = None
    for batch in [*data, None]:
        following = None
        if batch is not None:
            with torch.cuda.stream(encoding):
                following = encode(*batch)
                encoded = encoding.record_event()
        if ahead is not None:
            features, labels, ready = ahead
            training.wait_event(ready)
            for tensor in (features, labels):
                tensor.record_stream(training)  # made in one stream, read in another
            losses.append(train(features, labels))
        ahead = None if following is None else (*following, encoded)
    return losses


print(timing.machine())
few = batches(2)
started = {name: value.clone() for name, value in decoder.state_dict().items()}
one = torch.stack(in_turn(few)).cpu()
decoder.load_state_dict(started)
torch.testing.assert_close(one, torch.stack(one_ahead(few)).cpu())
for size in (1, 8, 32, 64, 128, 256, 512):
    data = batches(size)
    one, two = (timing.median(lambda: program(data))[0] for program in (in_turn, one_ahead))
    print(f"batch {size}: {one:.2f} ms in one stream, {two:.2f} ms in two, {one / two:.2f} times as fast")
if len(sys.argv) > 1:
    data = batches(8)
    timing.trace(lambda: one_ahead(data), sys.argv[1])
