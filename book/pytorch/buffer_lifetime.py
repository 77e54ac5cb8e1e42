"""A tensor is freed while another stream still reads it: what record_stream does, what it costs, and an event instead.

    python buffer_lifetime.py [TRACE.json.gz]

The memory is what the allocator took from the device, at its most, in one run that began with an empty cache.
"""

import sys
import time

import torch

import timing

BATCHES = 8
WORDS = 8 << 20
ADDITIONS = 24
LOAD = 0.004  # seconds
RUNS = 20

sources = [torch.full((WORDS,), float(i + 1)).pin_memory() for i in range(BATCHES)]
targets = [torch.empty(WORDS).pin_memory() for _ in range(BATCHES)]


def add_up(x, y):
    """y becomes ADDITIONS times x, and x is read to the end."""
    y.zero_()
    for _ in range(ADDITIONS):
        y.add_(x)


def program(upload, compute):
    for source, target in zip(sources, targets):
        with torch.cuda.stream(upload):
            x = source.to("cuda", non_blocking=True)
        compute.wait_stream(upload)

        with torch.cuda.stream(compute):
            y = torch.empty_like(x)
            add_up(x, y)
            target.copy_(y, non_blocking=True)
        x.record_stream(upload)
        del x, y
    torch.cuda.synchronize()


def with_release(release, load=0.0):
    """The program with something else before the tensors are freed."""

    def run(upload, compute):
        kept = []
        for source, target in zip(sources, targets):
            time.sleep(load)
            with torch.cuda.stream(upload):
                x = source.to("cuda", non_blocking=True)
            compute.wait_stream(upload)
            with torch.cuda.stream(compute):
                y = torch.empty_like(x)
                add_up(x, y)
                computed = compute.record_event()
                target.copy_(y, non_blocking=True)
            release(upload, compute, x, computed, kept)
            del x, y
        torch.cuda.synchronize()

    return run


def made(upload, compute, x, computed, kept):
    x.record_stream(upload)


def read(upload, compute, x, computed, kept):
    x.record_stream(compute)


def keep(upload, compute, x, computed, kept):
    kept.append(x)


def wait(upload, compute, x, computed, kept):
    compute.synchronize()


def event(upload, compute, x, computed, kept):
    """Kept for one more batch. Before it is freed, its own stream waits for the one that read it."""
    kept.append((x, computed))
    if len(kept) > 1:
        _, over = kept.pop(0)
        upload.wait_event(over)


def is_wrong():
    return any(bool((target != ADDITIONS * (i + 1)).any()) for i, target in enumerate(targets))


def memory(run):
    """In MiB."""
    run()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    run()
    return torch.cuda.max_memory_reserved() >> 20


def wrong_runs(run):
    wrong = 0
    for _ in range(RUNS):
        for target in targets:
            target.zero_()
        run()
        wrong += is_wrong()
    return wrong


if __name__ == "__main__":
    upload, compute = torch.cuda.Stream(), torch.cuda.Stream()
    print(timing.machine())
    for name, which in (
        ("who made it", program),
        ("who reads it", with_release(read)),
        ("who made it, with a loader", with_release(made, LOAD)),
        ("who reads it, with a loader", with_release(read, LOAD)),
        ("all kept", with_release(keep)),
        ("the host waits", with_release(wait)),
        ("an event", with_release(event)),
    ):
        run = lambda: which(upload, compute)  # noqa: E731
        most, wrong = memory(run), wrong_runs(run)
        middle, shortest, longest = timing.median(run)
        print(
            f"{name}: wrong in {wrong} of {RUNS} runs; {most} MiB; "
            f"{middle:.2f} ms ({shortest:.2f} to {longest:.2f})"
        )
    if len(sys.argv) > 1:
        timing.trace(lambda: program(upload, compute), sys.argv[1])
