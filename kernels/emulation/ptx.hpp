// The instructions of device/ptx_sm80.cuh and ptx_sm90.cuh, as the emulator has them. Addresses are
// of shared memory, 32 bits. What PTX leaves undefined throws Violation.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/emulation/warpgroup.hpp"

namespace gemm::emulation {

unsigned address_of(const void* pointer);
unsigned address_in(unsigned address, unsigned rank);

// -- barriers
void block_sync();
void warp_sync(std::uint32_t lanes);
/// The bits of lane `source`, which must be one of `lanes`.
std::uint64_t shuffle(std::uint32_t lanes, std::uint64_t bits, unsigned source);
void barrier_sync(int id, int threads);
void barrier_arrive(int id, int threads);
unsigned cluster_rank();
void cluster_arrive();
void cluster_wait();
void mbarrier_init(unsigned barrier, int arrivals);
void fence_mbarrier_init();
void mbarrier_arrive_expect_tx(unsigned barrier, int bytes);
void mbarrier_arrive(unsigned barrier);
void mbarrier_arrive_cluster(unsigned barrier);
void mbarrier_wait_parity(unsigned barrier, unsigned parity);
void fence_proxy_async_shared();
void set_registers(int count, bool more);

/// The grids before are always over. But a grid that may overlap them must not read before.
void griddepcontrol_wait();

// -- copies
void cp_async(unsigned to, const void* from, int bytes, int valid);
void cp_async_commit_group();
void cp_async_wait_group(int pending);
void tensor_load_3d(unsigned to, const CUtensorMap* map, int along, int line, int batch,
                    unsigned barrier);
void tensor_load_3d_multicast(unsigned to, const CUtensorMap* map, int along, int line, int batch,
                              unsigned barrier, std::uint16_t blocks);
void tensor_store_3d(const CUtensorMap* map, int along, int line, int batch, unsigned from);
void bulk_commit_group();
void bulk_wait_group(int pending, bool only_read);

// -- matrices
void ldmatrix_x4(unsigned (&to)[4], unsigned address, bool transposed);
void stmatrix_x4(unsigned address, const unsigned (&from)[4]);
void mma_16x8(Element element, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
/// d += a b for fragments of wmma: of each operand, row by row, a lane has a 32nd.
void multiply_fragments(Element element, int m, int n, int k, float* d, const void* a,
                        const void* b);
void wgmma(const WgmmaShape& shape, float* d);
void wgmma_fence();
void wgmma_commit_group();
void wgmma_wait_group(int pending);

}  // namespace gemm::emulation
