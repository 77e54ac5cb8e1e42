"""How many streams run at once? n kernels of one block on n streams, and many small products in few calls.

    python how_many_lanes.py

PyTorch has a pool of 32 streams of each priority, and hands them out in turn. So 64 of its streams are 32.
"""

import torch

import timing

TICKS = 10_000_000  # of the device's clock: a few milliseconds
TASKS, SIZE = 512, 32

left, right = (torch.rand((TASKS, SIZE, SIZE), device="cuda") for _ in range(2))


# ANCHOR: puzzle
def kernels(n):
    current = torch.cuda.current_stream()
    streams = [torch.cuda.Stream() for _ in range(n)]
    for stream in streams:
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(TICKS)  # a kernel of one block that waits
    for stream in streams:
        current.wait_stream(stream)
# ANCHOR_END: puzzle


def one_by_one():
    return [a @ b for a, b in zip(left, right)]


def on_32_streams():
    current = torch.cuda.current_stream()
    streams = [torch.cuda.Stream() for _ in range(32)]
    for stream in streams:
        stream.wait_stream(current)
    products = []
    for index, (a, b) in enumerate(zip(left, right)):
        with torch.cuda.stream(streams[index % len(streams)]):
            products.append(a @ b)
    for stream in streams:
        current.wait_stream(stream)
    return products


def batched():
    return torch.bmm(left, right)


print(timing.machine())
for n in (1, 8, 32, 64, 128):
    middle, shortest, longest = timing.median(lambda: kernels(n))
    print(f"{n} kernels on {n} streams: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
for products in (one_by_one, on_32_streams, batched):
    middle, shortest, longest = timing.median(products)
    print(f"{products.__name__}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
    torch.cuda.synchronize()
    torch.testing.assert_close(products()[-1], left[-1] @ right[-1], rtol=1e-4, atol=1e-5)
