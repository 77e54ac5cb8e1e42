"""Copies between two GPUs: the edge of one half of a river goes to the other, after the step or beside it, over the link or
by way of the host.

    python peers.py

PyTorch lets each GPU use the other's memory before its first copy between the two. Such a copy is in the current stream of
the GPU that it comes from, and the current stream of the other one waits for it, and it for that. To have a copy beside
kernels, both current streams have to be other ones while the copy is issued.
"""

import torch

import timing

STEPS = 4
KERNELS = 3
EDGE = 8 << 20  # elements: 32 MiB

first, second = torch.device("cuda:0"), torch.device("cuda:1")
weights = [torch.randn(2048, 2048, device=it) for it in (first, second)]
inside = [torch.empty(2048, 2048, device=it) for it in (first, second)]
edge = torch.zeros(EDGE, device=first)
halo = torch.zeros(EDGE, device=second)
staged = torch.zeros(EDGE).pin_memory()
travel = [torch.cuda.Stream(it) for it in (first, second)]


def compute():
    for _ in range(KERNELS):
        for it in range(2):
            torch.mm(weights[it], weights[it], out=inside[it])


# ANCHOR: puzzle
def then():
    for _ in range(STEPS):
        edge.add_(1)
        compute()
        halo.copy_(edge, non_blocking=True)


def beside():
    for _ in range(STEPS):
        edge.add_(1)
        for stream in travel:
            stream.wait_stream(torch.cuda.current_stream(stream.device))
        with torch.cuda.stream(travel[0]), torch.cuda.stream(travel[1]):
            halo.copy_(edge, non_blocking=True)
        compute()
        for stream in travel:
            torch.cuda.current_stream(stream.device).wait_stream(stream)
# ANCHOR_END: puzzle


def by_the_host():
    for _ in range(STEPS):
        edge.add_(1)
        compute()
        staged.copy_(edge)
        halo.copy_(staged, non_blocking=True)


def both(program):
    """Waits for both GPUs at the end."""

    def run():
        program()
        torch.cuda.synchronize(first)
        torch.cuda.synchronize(second)

    return run


print(timing.machine(), torch.cuda.device_count(), "GPUs")
print("access:", torch.cuda.can_device_access_peer(0, 1))
for name, program in {
    "compute": lambda: [compute() for _ in range(STEPS)],
    "then": then,
    "beside": beside,
    "by the host": by_the_host,
}.items():
    print(f"{name}: {timing.median(both(program))[0]:.2f} ms")
timing.median(both(then))
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
halo.copy_(edge, non_blocking=True)
end.record()
torch.cuda.synchronize()
print(f"one copy: {1e3 * start.elapsed_time(end):.0f} us")
