"""Augmentation on the host, on the GPU, and on the GPU in a stream of its own.

    python gpu_augmentation.py [TRACE.json.gz]

Images are cropped, resized, flipped, blurred and normalised before a network is trained on them. On the host that is
work of the loader. On the GPU it is a handful of kernels, which may run beside the training on the batch before: in a
stream of their own, if every hand-over is said.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import timing

BATCHES = 8
STORED, LOADED, WINDOW, SIDE = 56, 64, 48, 128
MEAN = torch.tensor([0.485, 0.456, 0.406, 0.0]).view(1, 4, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225, 1.0]).view(1, 4, 1, 1)
TAPS = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16

torch.manual_seed(1)
model = nn.Sequential(nn.Conv2d(4, 128, 4, stride=4, bias=False), nn.ReLU(), nn.Conv2d(128, 32, 1, bias=False)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1 / 8)
cross_entropy = nn.CrossEntropyLoss()
augmenting = torch.cuda.Stream()


class Augmentation:
    """What becomes of a batch of images, on the device where its constants are."""

    def __init__(self, device):
        self.mean, self.deviation = MEAN.to(device), DEVIATION.to(device)
        self.blur = torch.outer(TAPS, TAPS).expand(4, 1, 5, 5).contiguous().to(device)
        self.window = torch.arange(WINDOW, device=device)

    def __call__(self, images, places, flips):
        """`images` are bytes, [n][4][LOADED][LOADED]; of each a window is taken from its place on, and flipped or not."""
        rows, columns = (self.window + places[:, axis, None] for axis in (0, 1))
        number = torch.arange(len(images), device=images.device)
        crops = images[number[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        x = F.interpolate(crops.float(), size=(SIDE, SIDE), mode="bilinear")
        x = torch.where(flips[:, None, None, None], x.flip(-1), x)
        x = F.conv2d(F.pad(x, (2, 2, 2, 2), mode="replicate"), self.blur, groups=4)
        return (x / 255 - self.mean) / self.deviation


on_host, on_gpu = Augmentation("cpu"), Augmentation("cuda")


class Batch:
    """Images as they are kept, and what is decided about each: where its window is, and whether it is flipped."""

    def __init__(self, size):
        self.images = torch.randint(256, (size, 4, STORED, STORED), dtype=torch.uint8)
        self.choices = torch.randint(LOADED - WINDOW, (size, 2)), torch.randint(2, (size,), dtype=torch.bool)
        self.choices_on_gpu = [choice.cuda() for choice in self.choices]
        self.labels = torch.randint(32, (size, SIDE // 4, SIDE // 4)).cuda()


class Slots:
    """Two pinned blocks for what the host makes. It is made in place, once the upload that reads the block is done."""

    def __init__(self, *shape, dtype):
        self.blocks = [torch.zeros(shape, dtype=dtype).pin_memory() for _ in range(2)]
        self.uploaded = [torch.cuda.Event() for _ in range(2)]
        self.next = 0

    def upload(self, make):
        index, self.next = self.next, 1 - self.next
        self.uploaded[index].synchronize()
        make(self.blocks[index])
        on_gpu = self.blocks[index].to("cuda", non_blocking=True)
        self.uploaded[index].record()
        return on_gpu


def load(images, into):
    """What the loader does in each program: it pads what is kept."""
    around = (LOADED - STORED) // 2
    into[..., around:-around, around:-around].copy_(images)


def train(images, labels):
    optimizer.zero_grad()
    loss = cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def augmented_on_host(batches):
    size = len(batches[0].images)
    loaded = torch.zeros(size, 4, LOADED, LOADED, dtype=torch.uint8)
    slots = Slots(size, 4, SIDE, SIDE, dtype=torch.float32)
    losses = []
    for batch in batches:
        load(batch.images, loaded)
        images = slots.upload(lambda block: block.copy_(on_host(loaded, *batch.choices)))
        losses.append(train(images, batch.labels))
    return losses


def prepare(batch, slots):
    images = slots.upload(lambda block: load(batch.images, block))
    return on_gpu(images, *batch.choices_on_gpu)


def augmented_on_gpu(batches):
    slots = Slots(len(batches[0].images), 4, LOADED, LOADED, dtype=torch.uint8)
    return [train(prepare(batch, slots), batch.labels) for batch in batches]


def augmented_ahead(batches):
    """A batch is augmented while the network is trained on the one before."""
    slots = Slots(len(batches[0].images), 4, LOADED, LOADED, dtype=torch.uint8)
    losses = []
    training = torch.cuda.current_stream()
    augmenting.wait_stream(training)  # the constants of the augmentation were made there
    ahead = None
    for batch in [*batches, None]:
        following = None
        if batch is not None:
            with torch.cuda.stream(augmenting):
                following = prepare(batch, slots), batch.labels, augmenting.record_event()
        if ahead is not None:
            images, labels, ready = ahead
            training.wait_event(ready)
            images.record_stream(training)  # made in one stream, read in another
            losses.append(train(images, labels))
        ahead = following
    return losses


PROGRAMS = (augmented_on_host, augmented_on_gpu, augmented_ahead)


def main():
    print(timing.machine(), torch.get_num_threads(), "threads of the host")
    started = {name: value.clone() for name, value in model.state_dict().items()}
    few, losses = [Batch(4) for _ in range(4)], []
    for program in PROGRAMS:
        model.load_state_dict(started)
        losses.append(torch.stack(program(few)).cpu())
    for other in losses[1:]:
        torch.testing.assert_close(losses[0], other, rtol=1e-3, atol=1e-3)
    for size in (32, 64, 256, 512, 1024):
        data = [Batch(size) for _ in range(BATCHES)]
        host, gpu, ahead = (timing.median(lambda: program(data))[0] for program in PROGRAMS)
        print(
            f"batch {size}: {host:.2f} ms on the host, {gpu:.2f} on the GPU ({100 * (host / gpu - 1):+.1f} %),"
            f" {ahead:.2f} in its own stream ({100 * (gpu / ahead - 1):+.1f} %, {100 * (host / ahead - 1):+.1f} % in all)"
        )
    if len(sys.argv) > 1:
        data = [Batch(512) for _ in range(4)]
        timing.trace(lambda: augmented_ahead(data), sys.argv[1])


if __name__ == "__main__":
    main()
