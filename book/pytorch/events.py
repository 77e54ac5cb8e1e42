"""Pass the baton: three stages on three streams, with and without waits.

    python events.py [TRACE.json.gz]

`with torch.cuda.stream(s)` says which stream gets the work and nothing else: it orders nothing. A stage
that needs what another stream makes has to wait for it, and an event is how.
"""

import sys

import torch

import timing

WORDS = 16 << 20
RUNS = 20

streams = [torch.cuda.Stream() for _ in range(3)]
source = torch.ones(WORDS).pin_memory()


def unordered():
    """Copies, doubles and adds up; returns a tensor of one element, on the device."""
    first, second, third = begin()
    # ANCHOR: puzzle
    with torch.cuda.stream(first):
        on_device = torch.zeros(WORDS, device="cuda")
        on_device.copy_(source, non_blocking=True)
    with torch.cuda.stream(second):
        doubled = on_device * 2
    with torch.cuda.stream(third):
        total = doubled.sum(dtype=torch.float64)
    # ANCHOR_END: puzzle
    return end(on_device, doubled, total)


def ordered():
    """The same with its waits."""
    first, second, third = begin()
    with torch.cuda.stream(first):
        on_device = torch.zeros(WORDS, device="cuda")
        on_device.copy_(source, non_blocking=True)
        copied = first.record_event()
    with torch.cuda.stream(second):
        second.wait_event(copied)
        doubled = on_device * 2
        mapped = second.record_event()
    with torch.cuda.stream(third):
        third.wait_event(mapped)
        total = doubled.sum(dtype=torch.float64)
    return end(on_device, doubled, total)


def begin():
    """The three streams, after what the current stream was given."""
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    return streams


def end(on_device, doubled, total):
    # Each tensor is used in a stream other than the one it was allocated in: the allocator must not
    # hand its memory out again before that stream is done.
    on_device.record_stream(streams[1])
    doubled.record_stream(streams[2])
    torch.cuda.current_stream().wait_stream(streams[2])
    return total


print(timing.machine())
for program in (unordered, ordered):
    wrong = 0
    for _ in range(RUNS):
        total = program()
        torch.cuda.synchronize()
        wrong += total.item() != 2.0 * WORDS
    print(f"{program.__name__}: wrong in {wrong} of {RUNS} runs")
    assert program is unordered or not wrong
middle, shortest, longest = timing.median(ordered)
print(f"ordered: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
if len(sys.argv) > 1:
    timing.trace(ordered, sys.argv[1])
