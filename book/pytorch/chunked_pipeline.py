"""Fill and drain: an array is uploaded, worked on and downloaded, in 1 to 1024 chunks.

    python chunked_pipeline.py [TRACE.json.gz]

Three streams, one for each step, and an event at each handover. Host memory is pinned and allocated
before the clock starts, and so is the device's.
"""

import sys

import torch

import timing

ROWS, COLUMNS = 64 << 10, 1 << 10  # 256 MiB
CHUNKS = (1, 4, 16, 64, 256, 1024)

up, compute, down = (torch.cuda.Stream() for _ in range(3))
source = torch.rand((ROWS, COLUMNS)).pin_memory()
result = torch.empty((ROWS, COLUMNS), pin_memory=True)
on_device, between, mapped = (torch.empty((ROWS, COLUMNS), device="cuda") for _ in range(3))
# Two multiplications over the whole array take about as long as the copies one way on an H200.
weights = [torch.rand((COLUMNS, COLUMNS), device="cuda") / COLUMNS for _ in range(2)]


def pipeline(chunks):
    current = torch.cuda.current_stream()
    for stream in (up, compute, down):
        stream.wait_stream(current)
    pieces = zip(*(array.chunk(chunks) for array in (source, on_device, between, mapped, result)))
    for piece_in, piece, half, done, piece_out in pieces:
        with torch.cuda.stream(up):
            piece.copy_(piece_in, non_blocking=True)
            copied = up.record_event()
        with torch.cuda.stream(compute):
            compute.wait_event(copied)
            torch.mm(piece, weights[0], out=half)
            torch.mm(half, weights[1], out=done)
            worked = compute.record_event()
        with torch.cuda.stream(down):
            down.wait_event(worked)
            piece_out.copy_(done, non_blocking=True)
    for stream in (up, compute, down):
        current.wait_stream(stream)


print(timing.machine())
for chunks in CHUNKS:
    middle, shortest, longest = timing.median(lambda: pipeline(chunks))
    print(f"{chunks} chunks: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
    expected = source[-8:].cuda() @ weights[0] @ weights[1]
    torch.testing.assert_close(result[-8:], expected.cpu(), rtol=1e-4, atol=1e-5)
if len(sys.argv) > 1:
    timing.trace(lambda: pipeline(16), sys.argv[1])
