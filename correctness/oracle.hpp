// The oracle: what C is in FP64, and how far a sound FP32 accumulation may be from it.
#pragma once

#include "correctness/expected.hpp"
#include "correctness/inputs.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Writes alpha A B + beta C0 and the allowed deviation T of each element of these rows, packed, to
/// memory in the space of the inputs. Complete on return, so that the caller may change the inputs
/// on any stream.
void solve(const Problem& problem, const Inputs& inputs, const Rows& rows, double* exact,
           float* allowed);

/// (|A||B|) of one element, for a message. k must not be 0.
double absolute_sum(const Problem& problem, const Inputs& inputs, std::int64_t batch,
                    std::int64_t row, std::int64_t column);

}  // namespace gemm
