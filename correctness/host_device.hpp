// Functions that a host and a GPU must run alike are written once and marked with this.
#pragma once

#ifdef __CUDACC__
#define GEMM_HOST_DEVICE __host__ __device__
#else
#define GEMM_HOST_DEVICE
#endif
