"""When does the call of a copy return? The same batch from pageable and from pinned memory.

    python pinned_memory.py [TRACE.json.gz]

`non_blocking=True` asks PyTorch not to wait. With pageable memory the host takes part in the copy all
the same.
"""

import sys
import time

import torch

import timing

COPIES = 16
WORDS = 4 << 20  # 16 MiB each

stream = torch.cuda.Stream()
pageable = [torch.rand(WORDS) for _ in range(COPIES)]
pinned = [tensor.pin_memory() for tensor in pageable]
on_device = [torch.empty(WORDS, device="cuda") for _ in range(COPIES)]


def upload(batch):
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for source, target in zip(batch, on_device):
            target.copy_(source, non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)


def host_time(batch):
    """How long the host is in the calls, in ms."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    upload(batch)
    milliseconds = 1e3 * (time.perf_counter() - start)
    torch.cuda.synchronize()
    return milliseconds


def pin_time(words):
    """How long it takes to allocate pinned memory, in ms. PyTorch keeps pinned memory that is freed, so
    each call needs a size that was not used before."""
    start = time.perf_counter()
    torch.empty(words, pin_memory=True)
    return 1e3 * (time.perf_counter() - start)


print(timing.machine())
for name, batch in (("pageable", pageable), ("pinned", pinned)):
    middle, shortest, longest = timing.median(lambda: upload(batch))
    held = sorted(host_time(batch) for _ in range(timing.RUNS))[timing.RUNS // 2]
    print(f"{name}: {middle:.2f} ms ({shortest:.2f} to {longest:.2f}), the host in the calls for {held:.2f} ms")
for source, target in zip(pinned, on_device):
    assert torch.equal(target.cpu(), source)
for mebibytes in (1, 3, 48):
    print(f"pinning {mebibytes} MiB: {pin_time(mebibytes * (1 << 18) + 1024):.2f} ms")
if len(sys.argv) > 1:
    timing.trace(lambda: upload(pinned), sys.argv[1])
