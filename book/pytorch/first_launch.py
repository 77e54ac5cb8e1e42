"""Who is waiting? The same 200 launches, timed in four ways.

    python first_launch.py [TRACE.json.gz]

A launch puts a kernel into a stream and returns. A clock that is read without a wait measures the
launches. With a wait after each launch it measures the waits as well. Events measure the time on the
device, from one event to the other.
"""

import sys
import time

import torch

import timing

LAUNCHES = 200
SIDE = 1024  # one multiplication takes some 60 µs on an H200: longer than its launch

matrix = torch.rand((SIDE, SIDE), device="cuda")
product = torch.empty_like(matrix)


def launch():
    for _ in range(LAUNCHES):
        torch.matmul(matrix, matrix, out=product)


def launch_and_wait_each_time():
    for _ in range(LAUNCHES):
        torch.matmul(matrix, matrix, out=product)
        torch.cuda.synchronize()


def clock(program, wait):
    """Wall time of the host in ms, with or without a wait before the clock is stopped."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    program()
    if wait:
        torch.cuda.synchronize()
    milliseconds = 1e3 * (time.perf_counter() - start)
    torch.cuda.synchronize()
    return milliseconds


def events(program):
    """Time on the device in ms, between two events around the program."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    program()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def middle(measure):
    runs = sorted(measure() for _ in range(timing.WARM_UPS + timing.RUNS))
    return runs[len(runs) // 2]


print(timing.machine())
print(f"clock, no wait:            {middle(lambda: clock(launch, wait=False)):.2f} ms")
print(f"clock, wait at the end:    {middle(lambda: clock(launch, wait=True)):.2f} ms")
print(f"clock, wait in the loop:   {middle(lambda: clock(launch_and_wait_each_time, wait=True)):.2f} ms")
print(f"events:                    {middle(lambda: events(launch)):.2f} ms")
if len(sys.argv) > 1:
    timing.trace(launch, sys.argv[1])
