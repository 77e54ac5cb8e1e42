"""The puzzle of the first page: a copy from ordinary memory and kernels that do not need it, on two streams.

    python door.py [TRACE.json.gz]

Both functions issue the same two pieces of work; only their order differs.
"""

import sys

import torch

import timing

SIDE = 4096  # on an H200 a multiplication takes about as long as the copy
WORDS = 4 << 20  # 16 MiB

first, second = torch.cuda.Stream(), torch.cuda.Stream()
matrix = torch.rand((SIDE, SIDE), device="cuda")
product = torch.empty_like(matrix)
images = torch.rand(WORDS)  # not pinned
next_images = torch.empty(WORDS, device="cuda")


def copy_first():
    with torch.cuda.stream(first):
        next_images.copy_(images, non_blocking=True)
    with torch.cuda.stream(second):
        torch.matmul(matrix, matrix, out=product)


def kernels_first():
    with torch.cuda.stream(second):
        torch.matmul(matrix, matrix, out=product)
    with torch.cuda.stream(first):
        next_images.copy_(images, non_blocking=True)


def between(work):
    """`work` between what the current stream did before and what it does afterwards."""
    current = torch.cuda.current_stream()
    for stream in (first, second):
        stream.wait_stream(current)
    work()
    for stream in (first, second):
        current.wait_stream(stream)


print(timing.machine())
for work in (copy_first, kernels_first):
    middle, shortest, longest = timing.median(lambda: between(work))
    print(f"{work.__name__}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
torch.cuda.synchronize()
assert torch.equal(next_images.cpu(), images)
if len(sys.argv) > 1:
    timing.trace(lambda: between(copy_first), sys.argv[1])
