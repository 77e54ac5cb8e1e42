"""Pass the baton: three stages on three streams, with and without waits.

    python events.py [TRACE.json.gz]

`with torch.cuda.stream(s)` says in which queue work goes and nothing else: it orders nothing. A stage
that needs what another stream makes has to wait for it, and an event is how.
"""

import sys

import torch

import timing

WORDS = 16 << 20
RUNS = 20

streams = [torch.cuda.Stream() for _ in range(3)]
source = torch.ones(WORDS).pin_memory()


def stages(ordered):
    """Copies, doubles and adds up; returns a tensor of one element, on the device."""
    first, second, third = streams
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(first):
        on_device = torch.zeros(WORDS, device="cuda")
        on_device.copy_(source, non_blocking=True)
        copied = first.record_event()
    with torch.cuda.stream(second):
        if ordered:
            second.wait_event(copied)
        doubled = on_device * 2
        mapped = second.record_event()
    with torch.cuda.stream(third):
        if ordered:
            third.wait_event(mapped)
        total = doubled.sum(dtype=torch.float64)
    # Each tensor is used in a stream other than the one it was allocated in: the allocator must not
    # hand its memory out again before that stream is done.
    on_device.record_stream(second)
    doubled.record_stream(third)
    torch.cuda.current_stream().wait_stream(third)
    return total


print(timing.machine())
for ordered in (False, True):
    wrong = 0
    for _ in range(RUNS):
        total = stages(ordered)
        torch.cuda.synchronize()
        wrong += total.item() != 2.0 * WORDS
    print(f"{'with' if ordered else 'without'} waits: wrong in {wrong} of {RUNS} runs")
    assert not (ordered and wrong)
middle, shortest, longest = timing.median(lambda: stages(ordered=True))
print(f"with waits: {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
if len(sys.argv) > 1:
    timing.trace(lambda: stages(ordered=True), sys.argv[1])
