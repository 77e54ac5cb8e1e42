"""A library's call between two streams: non-blocking ones, blocking ones, and with waits.

    python default_stream.py [TRACE.json.gz]

The streams of `torch.cuda.Stream()` are non-blocking: nothing orders them with the default stream. A stream
made by `cudaStreamCreate` is blocking, and `torch.cuda.ExternalStream` lets PyTorch use it.
"""

import ctypes
import sys

import torch

import timing

BLOCKS = 8
WORDS = 16 << 20
ADDITIONS = 40
RUNS = 20

inputs = [torch.full((WORDS,), float(i)).pin_memory() for i in range(BLOCKS)]
outputs = [torch.empty(WORDS).pin_memory() for _ in range(BLOCKS)]
on_device = [torch.empty(WORDS, device="cuda") for _ in range(BLOCKS)]


def blocking_stream():
    """A stream as `cudaStreamCreate` makes it. It exists until the process ends."""
    handle = ctypes.c_void_p()
    torch.cuda.check_error(torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle)))
    return torch.cuda.ExternalStream(handle.value)


def library(x):
    """Works in the current stream, which is the default stream here."""
    for _ in range(ADDITIONS):
        x.add_(1)


def puzzle(upload, download):
    for source, x, target in zip(inputs, on_device, outputs):
        with torch.cuda.stream(upload):
            x.copy_(source, non_blocking=True)
        library(x)
        with torch.cuda.stream(download):
            target.copy_(x, non_blocking=True)


def ordered(upload, download):
    """The puzzle with the waits that its data needs."""
    default = torch.cuda.current_stream()
    for source, x, target in zip(inputs, on_device, outputs):
        with torch.cuda.stream(upload):
            x.copy_(source, non_blocking=True)
        default.wait_stream(upload)
        library(x)
        download.wait_stream(default)
        with torch.cuda.stream(download):
            target.copy_(x, non_blocking=True)


def wrong_runs(program, *streams):
    """In how many runs an output is not its input plus `ADDITIONS`."""
    wrong = 0
    for _ in range(RUNS):
        for x, target in zip(on_device, outputs):
            x.fill_(-1)
            target.fill_(-1)
        torch.cuda.synchronize()
        program(*streams)
        torch.cuda.synchronize()
        wrong += any(bool((t != i + ADDITIONS).any()) for i, t in enumerate(outputs))
    return wrong


def clocked(upload):
    """What two events of the current stream say of an upload in another stream, in ms."""
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    before.record()
    with torch.cuda.stream(upload):
        on_device[0].copy_(inputs[0], non_blocking=True)
    after.record()
    torch.cuda.synchronize()
    return before.elapsed_time(after)


blocking = [blocking_stream() for _ in range(2)]
non_blocking = [torch.cuda.Stream() for _ in range(2)]
print(timing.machine())
for name, program, streams in (
    ("blocking", puzzle, blocking),
    ("non-blocking", puzzle, non_blocking),
    ("non-blocking, with waits", ordered, non_blocking),
):
    wrong = wrong_runs(program, *streams)
    middle, shortest, longest = timing.median(lambda: program(*streams))
    print(f"{name}: wrong in {wrong} of {RUNS} runs; {middle:.2f} ms ({shortest:.2f} to {longest:.2f})")
    assert not wrong or (program is puzzle and streams is non_blocking)
for name, streams in (("blocking", blocking), ("non-blocking", non_blocking)):
    print(f"an upload on a {name} stream, by events of the current stream: {clocked(streams[0]):.3f} ms")
if len(sys.argv) > 1:
    timing.trace(lambda: ordered(*non_blocking), sys.argv[1])
