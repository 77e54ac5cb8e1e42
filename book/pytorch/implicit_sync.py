"""Find the blocker: what keeps two kernels in two streams apart?

    python implicit_sync.py [TRACE.json.gz]

PyTorch keeps freed memory in a cache, so most of what allocates and frees does not reach the driver.
`empty_cache` frees what is in the cache, and that waits for the whole device.
"""

import sys

import torch

import timing

CYCLES = 10_000_000  # some milliseconds
BYTES = 64 << 10

first, second, third = (torch.cuda.Stream() for _ in range(3))
notes = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")


def program(cached=False):
    with torch.cuda.stream(first):
        torch.cuda._sleep(CYCLES)
    with torch.cuda.stream(third):
        notes.zero_()
        block = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
        del block  # into the cache
    pinned = torch.empty(BYTES, dtype=torch.uint8, pin_memory=True)
    del pinned  # into another cache
    if not cached:
        torch.cuda.empty_cache()
    with torch.cuda.stream(second):
        torch.cuda._sleep(CYCLES)


def without_empty_cache():
    program(cached=True)


print(timing.machine())
for one in (program, without_empty_cache):
    middle, shortest, longest = timing.median(one)
    print(f"{one.__name__}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
if len(sys.argv) > 1:
    timing.trace(program, sys.argv[1])
