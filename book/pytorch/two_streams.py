"""The smallest overlap: an independent copy and matrix multiplication, on one stream and on two.

    python two_streams.py [TRACE.json.gz]

The tensors are made in the current stream, so each side stream first waits for it. In the end the
current stream waits for both, because it uses what they made.
"""

import sys

import torch

import timing

SIDE = 4096  # on an H200 a multiplication takes about half as long as a copy of 256 MiB
WORDS = 64 << 20

first, second = torch.cuda.Stream(), torch.cuda.Stream()
matrix = torch.rand((SIDE, SIDE), device="cuda")
product = torch.empty_like(matrix)
fresh = torch.rand(WORDS).pin_memory()
fresh_on_device = torch.empty(WORDS, device="cuda")


def work(copy_stream, compute_stream):
    current = torch.cuda.current_stream()
    for stream in (copy_stream, compute_stream):
        stream.wait_stream(current)
    with torch.cuda.stream(copy_stream):
        fresh_on_device.copy_(fresh, non_blocking=True)
    with torch.cuda.stream(compute_stream):
        torch.matmul(matrix, matrix, out=product)
    for stream in (copy_stream, compute_stream):
        current.wait_stream(stream)


print(timing.machine())
for name, streams in (("one stream", (first, first)), ("two streams", (first, second))):
    middle, shortest, longest = timing.median(lambda: work(*streams))
    print(f"{name}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
torch.cuda.synchronize()
assert torch.equal(fresh_on_device.cpu(), fresh)
if len(sys.argv) > 1:
    timing.trace(lambda: work(first, second), sys.argv[1])
