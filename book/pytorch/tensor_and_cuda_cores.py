"""Tensor cores and CUDA cores: what a second stream gains when one kernel multiplies and another one does not.

    python tensor_and_cuda_cores.py

First many small kernels: products of 1024 x 1024 matrices on tensor cores, and cubes of as many numbers. Then two large ones: a
product that takes about as long as a map over an array of 2 GiB, in both orders. PyTorch's operators choose their grids
themselves, and nearly all of them fill the device.
"""

import torch

import timing

KERNELS = 1000
SMALL, LARGE = 1024, 8192
WORDS = 1 << 29

torch.set_float32_matmul_precision("high")  # products of 32-bit floats may use tensor cores, as TF32
a, b = (torch.rand((SMALL, SMALL), device="cuda") for _ in range(2))
x = torch.rand((SMALL, SMALL), device="cuda")
left, right = (torch.rand((LARGE, LARGE), device="cuda", dtype=torch.float16) for _ in range(2))
array = torch.rand(WORDS, device="cuda")
product, cubes, large, mapped = torch.empty_like(a), torch.empty_like(x), torch.empty_like(left), torch.empty_like(array)
one, other = torch.cuda.Stream(), torch.cuda.Stream()


# ANCHOR: puzzle
def small(products, maps):
    with torch.cuda.stream(products):
        for _ in range(KERNELS):
            torch.matmul(a, b, out=product)
    with torch.cuda.stream(maps):
        for _ in range(KERNELS):
            torch.pow(x, 3.0, out=cubes)
# ANCHOR_END: puzzle


def interleaved(products, maps):
    for _ in range(KERNELS):
        with torch.cuda.stream(products):
            torch.matmul(a, b, out=product)
        with torch.cuda.stream(maps):
            torch.pow(x, 3.0, out=cubes)


def product_first(products, maps):
    with torch.cuda.stream(products):
        torch.matmul(left, right, out=large)
    with torch.cuda.stream(maps):
        torch.add(array, 1.0, out=mapped)


def map_first(products, maps):
    with torch.cuda.stream(maps):
        torch.add(array, 1.0, out=mapped)
    with torch.cuda.stream(products):
        torch.matmul(left, right, out=large)


def alone(operator, *operands, times, out):
    return timing.median(lambda: [operator(*operands, out=out) for _ in range(times)])[0]


print(timing.machine())
torch.cuda.synchronize()
print(f"{KERNELS} small products alone {alone(torch.matmul, a, b, times=KERNELS, out=product):.2f} ms, "
      f"maps {alone(torch.pow, x, 3.0, times=KERNELS, out=cubes):.2f} ms")
print(f"a large product alone {alone(torch.matmul, left, right, times=1, out=large):.2f} ms, "
      f"map {alone(torch.add, array, 1.0, times=1, out=mapped):.2f} ms")
for program in (small, interleaved, product_first, map_first):
    first, shortest, longest = timing.median(lambda: program(one, one))
    print(f"{program.__name__}: one stream {first:.2f} ms ({shortest:.2f} to {longest:.2f})", end=", ")
    second, shortest, longest = timing.median(lambda: program(one, other))
    print(f"two streams {second:.2f} ms ({shortest:.2f} to {longest:.2f})")
torch.testing.assert_close(large, left @ right)
torch.testing.assert_close(mapped, array + 1.0)
