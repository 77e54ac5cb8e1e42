"""CUDA graphs: many small kernels issued one by one, in two streams, and as a graph; and a server that launches one graph
for each batch.

    python graphs.py [TRACE.json.gz]

A graph of PyTorch reads and writes the tensors that it was captured with. So the server copies each batch into such a
tensor. A second server only gives the name of that tensor to each batch, and answers every batch with the answers to the
first one.
"""

import sys

import torch
from torch import nn

import timing

KERNELS = 200
BATCHES = 128

torch.manual_seed(1)
tensors = [torch.zeros(256, device="cuda") for _ in range(KERNELS)]
streams = [torch.cuda.Stream(), torch.cuda.Stream()]
left, right = (nn.Sequential(*[nn.Linear(64, 64) for _ in range(8)]).cuda() for _ in range(2))


def captured(body):
    """What `body` does, as a graph. It runs a few times before, so that nothing is done for the first time."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = body()
    return graph, result


# ANCHOR: puzzle
def one_by_one():
    for tensor in tensors:
        tensor.add_(1)


def in_two_streams():
    for index, tensor in enumerate(tensors):
        with torch.cuda.stream(streams[index % 2]):
            tensor.add_(1)


graph, _ = captured(one_by_one)  # before the clock starts


def as_a_graph():
    graph.replay()
# ANCHOR_END: puzzle


def forked():
    river = torch.cuda.current_stream()
    for stream in streams:
        stream.wait_stream(river)
    in_two_streams()
    for stream in streams:
        river.wait_stream(stream)


def network(images):
    """Two branches of a batch, side by side."""
    river = torch.cuda.current_stream()
    streams[0].wait_stream(river)
    with torch.cuda.stream(streams[0]):
        other = right(images)
    own = left(images)
    river.wait_stream(streams[0])
    return own + other


@torch.no_grad()
def call_by_call(batches):
    return [network(batch.to("cuda", non_blocking=True)).to("cpu", non_blocking=True) for batch in batches]


images = torch.zeros(16, 64, device="cuda")
with torch.no_grad():
    step, answers = captured(lambda: network(images))


def with_a_graph(batches):
    result = []
    for batch in batches:
        images.copy_(batch, non_blocking=True)
        step.replay()
        result.append(answers.to("cpu", non_blocking=True))
    return result


def with_a_name(batches):
    result = []
    for batch in batches:
        given = batch.to("cuda", non_blocking=True)  # a tensor that the graph knows nothing of
        step.replay()
        result.append(answers.to("cpu", non_blocking=True))
    del given
    return result


print(timing.machine())
branches, _ = captured(forked)
for name, program in {
    "one by one": one_by_one,
    "two streams": in_two_streams,
    "graph": as_a_graph,
    "graph of two branches": branches.replay,
}.items():
    print(f"{name}: {timing.median(program)[0]:.2f} ms")

batches = [torch.randn(16, 64).pin_memory() for _ in range(BATCHES)]
expected = call_by_call(batches)
torch.cuda.synchronize()
for name, program in {"call by call": call_by_call, "with a graph": with_a_graph, "with a name": with_a_name}.items():
    found = program(batches)
    torch.cuda.synchronize()
    wrong = sum(not torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(found, expected))
    print(f"{name}: {timing.median(lambda: program(batches))[0]:.2f} ms, {wrong} of {BATCHES} answers wrong")
if len(sys.argv) > 1:
    timing.trace(lambda: with_a_graph(batches), sys.argv[1])
