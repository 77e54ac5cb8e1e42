"""What cudarc's event tracking does, by hand in PyTorch: without it, with it, and with results that are apart.

    python wrapper_tracking.py [TRACE.json.gz]

PyTorch tracks no uses: a stream waits for another only where the program says so. The class `Tracked` keeps the
two events that cudarc keeps for an allocation.
"""

import contextlib
import sys

import torch

import timing

BATCHES = 8
HALF = 8 << 20
ADDITIONS = 40
RUNS = 20

sources = [torch.full((2 * HALF,), float(i)).pin_memory() for i in range(BATCHES)]
targets = [torch.empty(2 * HALF).pin_memory() for _ in range(BATCHES)]
halves = (slice(0, HALF), slice(HALF, 2 * HALF))


class Tracked:
    """A tensor, with an event for its last read and one for its last write."""

    def __init__(self, tracking):
        self.data = torch.zeros(2 * HALF, device="cuda")
        self.read, self.write = torch.cuda.Event(), torch.cuda.Event()
        self.tracking = tracking


@contextlib.contextmanager
def using(stream, reads=None, writes=None):
    """What is in the block goes to `stream`, after the waits of the tracking and before its records."""
    waits = [reads.write] if reads and reads.tracking else []
    waits += [writes.read, writes.write] if writes and writes.tracking else []
    for event in waits:
        stream.wait_event(event)
    with torch.cuda.stream(stream):
        yield
    if reads and reads.tracking:
        stream.record_event(reads.read)
    if writes and writes.tracking:
        stream.record_event(writes.write)


def compute(x, out):
    torch.add(x, 1, out=out)
    for _ in range(ADDITIONS - 1):
        out.add_(1)


def program(upload, sides, inputs, results):
    """`results` is the memory of each half's result: twice the same, or two."""
    for i, (source, target) in enumerate(zip(sources, targets)):
        x = inputs[i % 2]
        with using(upload, writes=x):
            x.data.copy_(source, non_blocking=True)
        for stream, half, result in zip(sides, halves, results):
            with using(stream, reads=x, writes=result):
                compute(x.data[half], result.data[half])
        for stream, half, result in zip(sides, halves, results):
            with using(stream, reads=result):
                target[half].copy_(result.data[half], non_blocking=True)


def with_join(upload, sides, inputs, results):
    """The same, and the right stream waits for the left one before it reads the input."""
    for i, (source, target) in enumerate(zip(sources, targets)):
        x = inputs[i % 2]
        with using(upload, writes=x):
            x.data.copy_(source, non_blocking=True)
        for side, (stream, half, result) in enumerate(zip(sides, halves, results)):
            if side == 1:
                stream.wait_stream(sides[0])
            with using(stream, reads=x, writes=result):
                compute(x.data[half], result.data[half])
        for stream, half, result in zip(sides, halves, results):
            with using(stream, reads=result):
                target[half].copy_(result.data[half], non_blocking=True)


def wrong_runs(run):
    """In how many runs an output is not its input plus `ADDITIONS`."""
    wrong = 0
    for _ in range(RUNS):
        for target in targets:
            target.fill_(-1)
        torch.cuda.synchronize()
        run()
        torch.cuda.synchronize()
        wrong += any(bool((t != i + ADDITIONS).any()) for i, t in enumerate(targets))
    return wrong


upload, *sides = [torch.cuda.Stream() for _ in range(3)]


def prepared(program, tracking, apart):
    """The program, with memory that is tracked or not, and with results in one allocation or in two."""
    inputs = [Tracked(tracking) for _ in range(2)]
    left = Tracked(tracking)
    results = (left, Tracked(tracking) if apart else left)
    torch.cuda.synchronize()
    return lambda: program(upload, sides, inputs, results)


print(timing.machine())
for name, run in (
    ("untracked", prepared(program, tracking=False, apart=False)),
    ("tracked", prepared(program, tracking=True, apart=False)),
    ("tracked, results apart", prepared(program, tracking=True, apart=True)),
    ("tracked, results apart, with a join", prepared(with_join, tracking=True, apart=True)),
):
    wrong = wrong_runs(run)
    middle, shortest, longest = timing.median(run)
    print(f"{name}: wrong in {wrong} of {RUNS} runs; {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
if len(sys.argv) > 1:
    timing.trace(prepared(program, tracking=True, apart=False), sys.argv[1])
