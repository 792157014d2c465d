// The problems that every kernel is checked on: small, and between them full of edges.
#pragma once

#include <cstddef>
#include <vector>

#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// For each precision: sizes around tile edges, layouts, scalars, padding and batches, such that
/// any two values of different properties meet in some problem (m, n and k among themselves
/// excepted). Half of the list has any sizes; the other half has rows that divide by eight
/// elements, for kernels that need aligned rows. A GPU's list reaches the edges of larger tiles.
std::vector<Problem> check_problems(Space space);

/// The regimes in which kernels meet problem i of that list: the base ones, and special ones in
/// turn, such that each meets every layout, pair of scalars, padding and batch in each precision.
std::vector<Regime> check_regimes(std::size_t i);

/// Scalars that the list above leaves out, to be met in every regime: neither operand read nor C
/// (alpha = beta = 0), a negative alpha, and no powers of two.
std::vector<Problem> scalar_problems();

/// For kernels whose blocks stay on their SM: more tiles than a GPU of 132 SMs takes in two rounds,
/// with and without a C that is read first, in one layout of each kind and every precision.
std::vector<Problem> wave_problems();

/// A few problems that end inside tiles, in every layout and precision, for a tool that slows a GPU
/// down a hundredfold.
std::vector<Problem> sanitizer_problems();

/// For CUDA rungs that an emulator runs, far slower than a GPU: a few tiles, full ones and clipped,
/// of few panels and of many, in every layout and precision.
std::vector<Problem> emulation_problems();

}  // namespace gemm
