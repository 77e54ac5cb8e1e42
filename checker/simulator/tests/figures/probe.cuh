// What the programs here have in common: a check of calls, and a kernel that keeps streams from starting.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define OK(x)                                                                                                          \
    do {                                                                                                               \
        int status = (int)(x);                                                                                         \
        if (status) {                                                                                                  \
            printf("%s: %d\n", #x, status);                                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

// Runs until the host says so.
__global__ void closed(volatile int* open)
{
    while (!*open) {
    }
}
