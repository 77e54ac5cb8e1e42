"""Which block of memory PyTorch's allocator hands out, in the cases of the chapter and in many that chance makes.

    python caching_allocator.py [SEQUENCES] > ../../exercises/lab/tests/caching/pytorch.json

A test holds the allocator of the exercises against what this prints. A sequence is made of these steps, on four streams:

    allocate S      a tensor that belongs to stream S: which block it gets is what is written down
    use T S         stream S writes tensor T, after all earlier uses of it
    record T S      T.record_stream(S)
    free T          the last reference to T goes
    busy S N        stream S has work until the Nth tick from now
    tick            the host waits for the next tick

The test makes the same sequences from the same numbers: `Numbers` here and there are one generator.
"""

import json
import sys
import time

import torch

STREAMS = 4
STEPS = 40
TICK = 0.012  # seconds; the steps between two ticks take a hundredth of it
BLOCK = 16 << 20  # bytes: from 10 MiB on, a block is never split

CASES = {
    "the stream that freed it gets it at once": "busy 0 1; allocate 0; use 0 0; free 0; allocate 0",
    "another stream does not get it": "allocate 0; free 0; allocate 1; allocate 0",
    "what nobody recorded comes back at once": "busy 1 1; allocate 0; use 0 1; free 0; allocate 0",
    "what another stream uses comes back when that is over": "busy 1 1; allocate 0; use 0 1; record 0 1; free 0; "
    "allocate 0; tick; allocate 0",
    "a record of its own stream does nothing": "busy 0 1; busy 1 1; allocate 0; use 0 1; record 0 0; free 0; allocate 0",
    "a record without a use holds it back too": "busy 1 1; allocate 0; record 0 1; free 0; allocate 0; tick; allocate 0",
    "the record counts when the tensor is freed": "allocate 0; use 0 1; record 0 1; busy 1 1; free 0; allocate 0",
    "work from after that does not count": "allocate 0; use 0 1; record 0 1; free 0; busy 1 1; tick; busy 1 1; allocate 0",
    "each stream that was recorded has to be done": "busy 1 1; busy 2 2; allocate 0; record 0 1; record 0 2; free 0; tick; "
    "allocate 0; tick; allocate 0",
    "a stream that is idle holds nothing back": "allocate 0; use 0 1; record 0 1; tick; free 0; allocate 0",
    "it belongs to its stream whoever was recorded": "allocate 0; record 0 1; free 0; tick; allocate 1; allocate 0",
    "of several blocks the lowest is taken": "allocate 0; allocate 0; allocate 0; free 2; free 0; free 1; allocate 0; "
    "allocate 0; allocate 0",
}


class Numbers:
    """A generator that is easily written twice."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % (1 << 32)

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) % (1 << 32)
        return (self.state >> 16) % limit


def sequence(seed):
    """The steps of a sequence that chance makes."""
    numbers, steps, tensors, live = Numbers(seed), [], 0, []
    for _ in range(STEPS):
        kind = numbers.below(12)
        if kind < 4 or not live:
            steps.append(f"allocate {numbers.below(STREAMS)}")
            live.append(tensors)
            tensors += 1
        elif kind < 6:
            steps.append(f"use {live[numbers.below(len(live))]} {numbers.below(STREAMS)}")
        elif kind < 8:
            steps.append(f"record {live[numbers.below(len(live))]} {numbers.below(STREAMS)}")
        elif kind < 10:
            steps.append(f"free {live.pop(numbers.below(len(live)))}")
        elif kind < 11:
            steps.append(f"busy {numbers.below(STREAMS)} {1 + numbers.below(3)}")
        else:
            steps.append("tick")
    return steps


def cycles_in_a_second():
    """How fast the clock runs that `_sleep` counts."""
    torch.cuda._sleep(50_000_000)
    torch.cuda.synchronize()
    began = time.perf_counter()
    torch.cuda._sleep(400_000_000)
    torch.cuda.synchronize()
    return 400_000_000 / (time.perf_counter() - began)


def blocks(steps, streams, rate):
    """The number of the block that each `allocate` gets: in the order in which blocks are first handed out."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    tensors, last_use, known, given, ticks = [], {}, {}, [], 0
    ends = [0.0] * len(streams)  # when what is in each stream is done, in ticks
    began = time.perf_counter()
    for step in steps:
        name, *of = step.split()
        of = [int(number) for number in of]
        if name == "allocate":
            with torch.cuda.stream(streams[of[0]]):
                tensors.append(torch.empty(BLOCK, dtype=torch.uint8, device="cuda"))
            given.append(known.setdefault(tensors[-1].data_ptr(), len(known)))
        elif name == "use":
            tensor, stream = of
            last = last_use.get(tensor, stream)
            if last != stream:
                streams[stream].wait_stream(streams[last])
                ends[stream] = max(ends[stream], ends[last])
            last_use[tensor] = stream
            with torch.cuda.stream(streams[stream]):
                tensors[tensor].fill_(1)
        elif name == "record":
            tensors[of[0]].record_stream(streams[of[1]])
        elif name == "free":
            tensors[of[0]] = None
        elif name == "busy":
            # It ends half a tick before the one that is meant.
            stream, end = of[0], ticks + of[1] - 0.5
            missing = end - max(ends[stream], ticks)
            if missing > 0:
                with torch.cuda.stream(streams[stream]):
                    torch.cuda._sleep(int(missing * TICK * rate))
                ends[stream] = end
        else:
            ticks += 1
            time.sleep(max(0, began + ticks * TICK - time.perf_counter()))
        if time.perf_counter() - began > (ticks + 0.25) * TICK:
            return None
    return given


def main():
    sequences = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    rate = cycles_in_a_second()

    def answer(steps):
        # Where the host was interrupted for longer than the steps may take, once more.
        return next(given for given in (blocks(steps, streams, rate) for _ in range(20)) if given is not None)

    # Twice: the first time, the driver loads what it needs.
    for steps in CASES.values():
        answer(steps.split("; "))
    cases = {name: {"steps": steps, "blocks": answer(steps.split("; "))} for name, steps in CASES.items()}
    random = ["".join(chr(ord("a") + block) for block in answer(sequence(seed))) for seed in range(sequences)]
    made = {
        "device": torch.cuda.get_device_name(),
        "driver": driver(),
        "pytorch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "cases": cases,
        "sequences": random,
    }
    json.dump(made, sys.stdout, indent=1)


def driver():
    import subprocess

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.split("\n")[0]


if __name__ == "__main__":
    main()
