"""Who goes first? Four streams, the same work, issued chunk by chunk or step by step.

    python issue_order.py [TRACE.json.gz]

Each chunk goes its whole way on one stream, so nothing else orders the work. Depth first issues all
three steps of a chunk before the next chunk; breadth first issues all uploads, then all matrix
multiplications, then all downloads.
"""

import sys

import torch

import timing

ROWS, COLUMNS = 64 << 10, 1 << 10  # 256 MiB
CHUNKS = 16

streams = [torch.cuda.Stream() for _ in range(4)]
source = torch.rand((ROWS, COLUMNS)).pin_memory()
result = torch.empty((ROWS, COLUMNS), pin_memory=True)
on_device, between, mapped = (torch.empty((ROWS, COLUMNS), device="cuda") for _ in range(3))
weights = [torch.rand((COLUMNS, COLUMNS), device="cuda") / COLUMNS for _ in range(2)]
pieces = list(zip(*(array.chunk(CHUNKS) for array in (source, on_device, between, mapped, result))))


def upload(piece_in, piece, half, done, piece_out):
    piece.copy_(piece_in, non_blocking=True)


def work(piece_in, piece, half, done, piece_out):
    torch.mm(piece, weights[0], out=half)
    torch.mm(half, weights[1], out=done)


def download(piece_in, piece, half, done, piece_out):
    piece_out.copy_(done, non_blocking=True)


STEPS = (upload, work, download)
# ANCHOR: puzzle
ORDERS = {
    "depth first": [(index, step) for index in range(CHUNKS) for step in STEPS],
    "breadth first": [(index, step) for step in STEPS for index in range(CHUNKS)],
}


def run(order):
    current = torch.cuda.current_stream()
    for stream in streams:
        stream.wait_stream(current)
    for index, step in ORDERS[order]:
        with torch.cuda.stream(streams[index % len(streams)]):
            step(*pieces[index])
    for stream in streams:
        current.wait_stream(stream)
# ANCHOR_END: puzzle


print(timing.machine())
for order in ORDERS:
    middle, shortest, longest = timing.median(lambda: run(order))
    print(f"{order}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
    expected = source[-8:].cuda() @ weights[0] @ weights[1]
    torch.testing.assert_close(result[-8:], expected.cpu(), rtol=1e-4, atol=1e-5)
if len(sys.argv) > 1:
    timing.trace(lambda: run("breadth first"), sys.argv[1])
