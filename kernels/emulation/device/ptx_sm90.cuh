// In place of kernels/device/ptx_sm90.cuh: the same names, emulated. wgmma_descriptor alone is the
// original's, since its bits are what the emulated wgmma decodes.
#pragma once

#include "ptx_sm80.cuh"
#include "ptx_sm90_descriptor.cuh"

namespace gemm::device {

using emulation::cluster_arrive;
using emulation::cluster_rank;
using emulation::cluster_wait;
using emulation::fence_mbarrier_init;
using emulation::fence_proxy_async_shared;
using emulation::mbarrier_arrive;
using emulation::mbarrier_arrive_cluster;
using emulation::mbarrier_arrive_expect_tx;
using emulation::mbarrier_init;
using emulation::mbarrier_wait_parity;

inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
inline void prefetch_tensormap(const CUtensorMap*) {}
inline std::uint64_t l2_evict_last() { return 0; }
inline unsigned in_cluster(unsigned shared, unsigned rank) {
  return emulation::address_in(shared, rank);
}

inline void griddepcontrol_launch_dependents() {}
using emulation::griddepcontrol_wait;

using emulation::barrier_arrive;
using emulation::barrier_sync;

inline void cp_async_bulk_tensor_3d(unsigned to, const CUtensorMap* map, int along, int line,
                                    int batch, unsigned barrier) {
  emulation::tensor_load_3d(to, map, along, line, batch, barrier);
}
inline void cp_async_bulk_tensor_3d(unsigned to, const CUtensorMap* map, int along, int line,
                                    int batch, unsigned barrier, std::uint64_t) {
  emulation::tensor_load_3d(to, map, along, line, batch, barrier);
}
inline void cp_async_bulk_tensor_3d_multicast(unsigned to, const CUtensorMap* map, int along,
                                              int line, int batch, unsigned barrier,
                                              std::uint16_t blocks) {
  emulation::tensor_load_3d_multicast(to, map, along, line, batch, barrier, blocks);
}
inline void cp_async_bulk_tensor_3d_store(const CUtensorMap* map, int along, int line, int batch,
                                          unsigned from) {
  emulation::tensor_store_3d(map, along, line, batch, from);
}
inline void cp_async_bulk_commit_group() { emulation::bulk_commit_group(); }
template <int pending>
void cp_async_bulk_wait_group_read() {
  emulation::bulk_wait_group(pending, true);
}
template <int pending>
void cp_async_bulk_wait_group() {
  emulation::bulk_wait_group(pending, false);
}

using emulation::stmatrix_x4;

template <int count>
void setmaxnreg_dec() {
  static_assert(count % 8 == 0 && count >= 24 && count <= 256, "setmaxnreg takes no such count");
  emulation::set_registers(count, false);
}
template <int count>
void setmaxnreg_inc() {
  static_assert(count % 8 == 0 && count >= 24 && count <= 256, "setmaxnreg takes no such count");
  emulation::set_registers(count, true);
}

using emulation::wgmma_commit_group;
using emulation::wgmma_fence;
template <int pending>
void wgmma_wait_group() {
  emulation::wgmma_wait_group(pending);
}

template <class Storage, int n, bool a_m_contiguous, bool b_n_contiguous>
void wgmma_64xn(float (&d)[n / 2], std::uint64_t a, std::uint64_t b) {
  static_assert(n % 8 == 0 && n >= 8 && n <= 256, "wgmma takes no such n");
  static_assert(sizeof(Storage) == 2 || (!a_m_contiguous && !b_n_contiguous),
                "tf32 operands are contiguous along k");
  emulation::wgmma({tensor_core_element<Storage>, n, a_m_contiguous, b_n_contiguous, a, b}, d);
}

}  // namespace gemm::device
