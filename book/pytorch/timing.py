"""How the programs beside this file are timed and traced.

The time of a run is the host's: from a moment when the device is idle to the moment when it is idle
again. It comes from untraced runs, because the profiler adds to every call; the trace comes from one
more run.
"""

import gzip
import json
import statistics
import time

import torch
from torch.profiler import ProfilerActivity, profile

WARM_UPS = 3  # the first run loads kernels and fills the allocator's pools, the second meets cold caches
RUNS = 11  # an odd number, so that the median is a run; more of them changed no digit that is printed


def run(program):
    """Runs `program` once and returns how long it took, in ms."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    program()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)


def median(program):
    """The median, the shortest and the longest of several runs, in ms."""
    for _ in range(WARM_UPS):
        run(program)
    runs = [run(program) for _ in range(RUNS)]
    return statistics.median(runs), min(runs), max(runs)


def trace(program, path):
    """Writes what the host and the device did in one run of `program`, as gzipped Chrome JSON."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        program()
        torch.cuda.synchronize()
    recorded.export_chrome_trace(path)
    opener = gzip.open if path.endswith(".gz") else open  # as the export does
    with opener(path, "rt") as file:
        events = json.load(file)
    assert events["traceEvents"], "the profiler recorded nothing"
    events.pop("traceName", None)  # the path of a temporary file, of no use to anyone else
    with opener(path, "wt") as file:
        json.dump(events, file, separators=(",", ":"))


def machine():
    """What this ran on, for a caption."""
    device = torch.cuda.get_device_properties(0)
    return f"{device.name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"
