"""Kernels, downloads and uploads side by side: the puzzle as written, and with both sides pinned.

    python three_lanes.py [TRACE.json.gz]

`non_blocking=True` does not change what memory a tensor has: the uploads of `as_written` start from pageable
memory in either case. In `swim` both sides are pinned, once, before anything is timed; and each stream is
told what it has to wait for.
"""

import sys

import torch

import timing

PRODUCTS = 1000
COPIES = 100
SIDE = 1024  # a matrix of 4 MiB

compute, download, upload = (torch.cuda.Stream() for _ in range(3))
matrices = [torch.rand((SIDE, SIDE), device="cuda") for _ in range(PRODUCTS)]
products = [torch.empty((SIDE, SIDE), device="cuda") for _ in range(2)]
finished = [torch.rand((SIDE, SIDE), device="cuda") for _ in range(COPIES)]
pageable = [torch.rand((SIDE, SIDE)) for _ in range(COPIES)]
fresh = [torch.rand((SIDE, SIDE)).pin_memory() for _ in range(COPIES)]
# Where copies go is allocated before the clock starts: pinning takes the host longer than copying.
finished_on_host = [torch.empty((SIDE, SIDE), pin_memory=True) for _ in range(COPIES)]
fresh_on_device = [torch.empty((SIDE, SIDE), device="cuda") for _ in range(COPIES)]


def as_written(non_blocking):
    with torch.cuda.stream(compute):
        for index, matrix in enumerate(matrices):
            torch.matmul(matrix, matrix, out=products[index % 2])
    with torch.cuda.stream(download):
        for tensor in finished:
            tensor.to("cpu", non_blocking=non_blocking)
    with torch.cuda.stream(upload):
        for tensor in pageable:
            tensor.to("cuda", non_blocking=non_blocking)


def swim(non_blocking):
    # The tensors were made in the current stream, so each stream waits for that.
    current = torch.cuda.current_stream()
    for stream in (compute, download, upload):
        stream.wait_stream(current)
    with torch.cuda.stream(compute):
        for index, matrix in enumerate(matrices):
            torch.matmul(matrix, matrix, out=products[index % 2])
    with torch.cuda.stream(download):
        for source, target in zip(finished, finished_on_host):
            target.copy_(source, non_blocking=non_blocking)
    with torch.cuda.stream(upload):
        for source, target in zip(fresh, fresh_on_device):
            target.copy_(source, non_blocking=non_blocking)
    # The current stream may use the results after this. The host may not: it has to wait for the
    # device before it reads `finished_on_host`.
    for stream in (compute, download, upload):
        current.wait_stream(stream)


def check():
    """The copies have arrived and the last product is one."""
    torch.cuda.synchronize()
    for source, target in zip(finished, finished_on_host):
        assert torch.equal(source.cpu(), target)
    for source, target in zip(fresh, fresh_on_device):
        assert torch.equal(source, target.cpu())
    torch.testing.assert_close(products[(PRODUCTS - 1) % 2], matrices[-1] @ matrices[-1])


print(timing.machine())
for non_blocking in (False, True):
    for program in (as_written, swim):
        middle, shortest, longest = timing.median(lambda: program(non_blocking))
        print(f"{program.__name__}, non_blocking={non_blocking}: {middle:.1f} ms ({shortest:.1f} to {longest:.1f})")
    check()
if len(sys.argv) > 1:
    timing.trace(lambda: swim(non_blocking=True), sys.argv[1])
