"""Two branches, one river: two convolutions of one input, on one stream and on two.

    python fork_join.py [TRACE.json.gz]

Fork: the side stream waits for what made the input. Join: the current stream waits for the side
stream. The streams are made once. Whether it helps depends on whether one branch fills the device.
"""

import sys

import torch
from torch import nn

import timing

KERNELS = 4
STEPS = 20
BATCHES = (1, 4, 16, 64, 256)

torch.manual_seed(0)
wide = nn.Conv2d(64, 64, kernel_size=5, padding=2).cuda()
narrow = nn.Conv2d(64, 64, kernel_size=3, padding=1).cuda()
side = torch.cuda.Stream()


def branches(left, right, first, second):
    for _ in range(KERNELS):
        with torch.cuda.stream(first):
            left.sin_()
        with torch.cuda.stream(second):
            right.sin_()


@torch.no_grad()
def forward(input, two_streams):
    if not two_streams:
        return wide(input) + narrow(input)
    current = torch.cuda.current_stream()
    side.wait_stream(current)  # the fork: `input` was made in the current stream
    with torch.cuda.stream(side):
        branch = narrow(input)
    other = wide(input)
    current.wait_stream(side)  # the join
    # Each tensor was used outside of the stream that allocated it: keep its memory until that is done.
    input.record_stream(side)
    branch.record_stream(current)
    return other + branch


def steps(input, two_streams):
    for _ in range(STEPS):
        forward(input, two_streams)


print(timing.machine())
for words in (1 << 15, 1 << 28):
    left, right = (torch.rand(words, device="cuda") for _ in range(2))
    one, _, _ = timing.median(lambda: branches(left, right, side, side))
    two, _, _ = timing.median(lambda: branches(left, right, torch.cuda.default_stream(), side))
    print(f"two branches over {words} numbers each: one stream {one:.3f} ms, two streams {two:.3f} ms")
for batch in BATCHES:
    input = torch.rand((batch, 64, 56, 56), device="cuda")
    torch.testing.assert_close(forward(input, True), forward(input, False))
    one, _, _ = timing.median(lambda: steps(input, two_streams=False))
    two, _, _ = timing.median(lambda: steps(input, two_streams=True))
    print(f"batch {batch}: one stream {one / STEPS:.3f} ms, two streams {two / STEPS:.3f} ms a step, {one / two:.2f} times as fast")
if len(sys.argv) > 1:
    input = torch.rand((4, 64, 56, 56), device="cuda")
    timing.trace(lambda: steps(input, two_streams=True), sys.argv[1])
