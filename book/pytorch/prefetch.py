"""Feed the swimmer: does batch N+1 really load beside batch N?

    python prefetch.py [TRACE.json.gz]

Loading is the host's work, whatever stream the code around it names. It runs beside the device's work only if
the host does not wait for the device meanwhile. Two pinned buffers take turns, and an event says when the copy
out of one is over, so that the host may write into it again.
"""

import sys

import torch

import timing

BATCHES = 16
ROWS, COLUMNS = 4 << 10, 1 << 10  # 16 MiB a batch
LAYERS = 24  # products a batch: together about as long as loading it

copy_stream = torch.cuda.Stream()
buffers = [torch.empty((ROWS, COLUMNS), pin_memory=True) for _ in range(2)]
weights = torch.rand((COLUMNS, COLUMNS), device="cuda") / COLUMNS
raw = torch.rand((ROWS, COLUMNS))


def load(number, buffer):
    """What a loader does: reads and decodes, which takes the host's time, into pinned memory."""
    torch.add(raw, float(number), out=buffer)


def train(batch):
    for _ in range(LAYERS):
        batch = batch @ weights
    return batch.sum(dtype=torch.float64)


def in_turn():
    totals = []
    for number in range(BATCHES):
        load(number, buffers[0])
        totals.append(train(buffers[0].cuda()))
        torch.cuda.synchronize()
    return totals


def prefetched():
    totals = []
    compute = torch.cuda.current_stream()
    copied = [None, None]
    for number in range(BATCHES):
        slot = number % 2
        if copied[slot] is not None:
            copied[slot].synchronize()  # the copy out of this buffer, not the training, has to be over
        load(number, buffers[slot])
        with torch.cuda.stream(copy_stream):
            batch = buffers[slot].to("cuda", non_blocking=True)
            copied[slot] = copy_stream.record_event()
        compute.wait_event(copied[slot])
        batch.record_stream(compute)  # made in one stream, used in another
        totals.append(train(batch))
    return totals


print(timing.machine())
one, other = (torch.stack(program()).cpu() for program in (in_turn, prefetched))
torch.testing.assert_close(one, other)
for program in (in_turn, prefetched):
    middle, shortest, longest = timing.median(program)
    print(f"{program.__name__}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
if len(sys.argv) > 1:
    timing.trace(prefetched, sys.argv[1])
