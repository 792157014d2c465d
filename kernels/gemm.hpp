// The vocabulary of the suite and the registry of its kernels.
//
// Everything that is passed between the kernels, the checks, the benchmark and the lists is named
// here. Standard library only: a host rung, a CUDA rung and a vendor library look the same from
// outside, and this header compiles on a machine that has never seen a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gemm {

// ---------------------------------------------------------------------------------------------
// Problem: what is to be computed
// ---------------------------------------------------------------------------------------------

/// C is m x n, the summed dimension is k; all in elements, all >= 0.
struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// Which operands are stored transposed. Storage is row-major: A is m x k, or k x m when its letter
/// is t; B is k x n, or n x k when its letter is t. C is always m x n.
enum class Layout { nn, nt, tn, tt };

/// Storage of A, B and C. Accumulation is FP32 in all of them, and C has the storage type of A and
/// B. tf32 is stored as FP32 whose values fit TF32's 10-bit mantissa, so that products are exact.
enum class Precision { fp32, tf32, fp16, bf16 };

/// What happens to the accumulator before the store. linear: C = alpha A B + beta C.
enum class Epilogue { linear };

/// Named sets of problems, for selections and scoreboards. A problem may belong to several.
enum Group : unsigned {
  square = 1u << 0,     ///< m = n = k
  narrow = 1u << 1,     ///< few rows against 4096 x 4096 weights
  llm = 1u << 2,        ///< a projection of a named language model
  attention = 1u << 3,  ///< score and value products, strided batch
  large = 1u << 4,      ///< by rule: no side below 512 and at least 2048^3 multiply-adds
  decode = 1u << 5,     ///< by rule: at most 16 rows of a wide product
  ladder = 1u << 6,     ///< the whole ladder climbs it
  smoke_set = 1u << 7,  ///< small enough for a CPU: seconds for all of them
  pr_set = 1u << 8,     ///< measured on every pull request
  tune_set = 1u << 9,   ///< measured with every tile, for dispatch to choose by
};

/// Elements added to the packed leading dimension of each matrix.
struct Padding {
  std::int64_t a = 0, b = 0, c = 0;
};

/// One GEMM: C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for i < batch.
///
/// id() names everything that changes the result or the work and nothing else; baselines and
/// history are keyed by it, so its spelling never changes.
struct Problem {
  Shape shape;
  Precision precision = Precision::fp32;
  Layout layout = Layout::nn;
  Epilogue epilogue = Epilogue::linear;
  std::int64_t batch = 1;
  double alpha = 1.0, beta = 0.0;
  Padding pad{};
  unsigned groups = 0;     ///< bits of Group; not part of the identity
  std::string_view why{};  ///< why the sweep visits it; not part of the identity

  bool a_transposed() const { return layout == Layout::tn || layout == Layout::tt; }
  bool b_transposed() const { return layout == Layout::nt || layout == Layout::tt; }

  // Rows and leading dimensions as stored, in elements.
  std::int64_t a_rows() const { return a_transposed() ? shape.k : shape.m; }
  std::int64_t b_rows() const { return b_transposed() ? shape.n : shape.k; }
  std::int64_t lda() const { return (a_transposed() ? shape.m : shape.k) + pad.a; }
  std::int64_t ldb() const { return (b_transposed() ? shape.k : shape.n) + pad.b; }
  std::int64_t ldc() const { return shape.n + pad.c; }

  // Elements from one matrix of the batch to the next.
  std::int64_t a_stride() const { return a_rows() * lda(); }
  std::int64_t b_stride() const { return b_rows() * ldb(); }
  std::int64_t c_stride() const { return shape.m * ldc(); }

  double flops() const;  ///< 2 m n k batch
  double bytes() const;  ///< each of A and B read once, C written once (and read if beta != 0)

  /// "bf16/nt/4096x4096x4096", then only what differs from the default:
  /// "/batch=32", "/alpha=0.5", "/beta=neg2", "/pad=3.0.8".
  std::string id() const;
};

/// The inverse of Problem::id(). Throws std::invalid_argument that names the part it cannot read.
Problem parse_problem(std::string_view id);

std::string_view name(Precision);
std::string_view name(Layout);
std::size_t element_bytes(Precision);

/// The names of the set bits, in the order of Group.
std::vector<std::string_view> group_names(unsigned groups);

/// The problems that the sweep visits: kernels/problems.cpp, a line a shape.
const std::vector<Problem>& problems();

// ---------------------------------------------------------------------------------------------
// Kernel: something that computes a problem
// ---------------------------------------------------------------------------------------------

/// The rungs of the ladder, in its order. A stage is a lesson; several kernels may share one.
enum class Stage {
  cpu_naive,
  cpu_tiled,
  cpu_packed,
  cpu_threaded,
  cpu_vendor,
  naive,
  coalesced,
  tiled,
  register_tiled_1d,
  register_tiled_2d,
  vectorized,
  double_buffered,
  warp_tiled,
  pretransposed,
  autotuned,
  wmma,
  mma_pipelined,
  wgmma_tma,
  wgmma_specialized,
  wgmma_pingpong,
  wgmma_persistent,
  narrow,
  dispatch,
  vendor,
};

/// What is known of a stage before anything is measured.
struct StageInfo {
  std::string_view name;
  std::string_view title;
  /// A rate that any kernel of the stage exceeds on a current machine, TFLOP/s. The plan refuses a
  /// problem that would take too long at this rate, so that what is refused depends on the rule
  /// and never on the day.
  double slowest_tflops;
};
const StageInfo& info(Stage);

/// Where a kernel runs. any: every GPU from sm_80.
enum class Arch { host, any, sm80, sm90a };
std::string_view name(Arch);

/// Memory that the operands live in.
enum class Space { host, gpu };
inline Space space(Arch arch) { return arch == Arch::host ? Space::host : Space::gpu; }

/// Scratch memory that every kernel is lent, rung and library alike, so that none wins by more.
inline constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

/// Where the matrices of one launch are. Alignment is 256 bytes for each base pointer. The kernel
/// never writes A or B, nor the elements of C beyond column n, and never reads C when beta is 0.
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  void* workspace = nullptr;  ///< workspace_bytes of scratch, contents unspecified
  void* stream = nullptr;     ///< a cudaStream_t for Space::gpu; unused on the host
  int variant = 0;            ///< which of the kernel's own variants, see Kernel::variants
};

/// The tile of C that a block computes, and how many blocks, one above the other, are started as
/// one.
struct Tile {
  int m = 0, n = 0, blocks = 1;
};

/// A reason in words, or nothing.
using Refusal = std::optional<std::string>;

struct Kernel {
  std::string_view name;
  Stage stage;
  std::string_view idea;  ///< one line
  Arch arch;

  /// Why this kernel cannot compute the problem correctly, or nothing. Pure.
  Refusal (*refuses)(const Problem&);

  /// Enqueues (GPU) or performs (host) the product. A GPU launch neither synchronises nor
  /// allocates, so that it can be captured in a graph. Throws std::runtime_error on failure.
  void (*launch)(const Problem&, const Operands&);

  /// How many interchangeable algorithms the kernel offers for the problem, for those that have a
  /// choice (a library's heuristics). The benchmark measures them once a run and keeps the best.
  int (*variants)(const Problem&) = nullptr;

  /// For kernels that dispatch may pick; one without rows is none of them.
  Tile tile{};

  /// Another form of a kernel of the same file, which only selections that are about such forms
  /// visit: another tile, which dispatch may pick and `tune` measures, or the pitfall of a lesson.
  bool configuration = false;

  /// True for the vendor kernel that is measured beside each kernel of its space.
  bool control = false;

  /// False if launches on equal inputs may differ in their bits, as when partial sums are added in
  /// the order in which blocks finish. Each launch is then checked against the bound instead.
  bool deterministic = true;

  bool vendor() const { return stage == Stage::cpu_vendor || stage == Stage::vendor; }
};

// Ends the names of the kernels of a file that is compiled once more, with a planted fault.
#ifndef GEMMWATCH_NAME_SUFFIX
#define GEMMWATCH_NAME_SUFFIX ""
#endif

/// Registers a kernel at program start; the last lines of its file.
class Register {
 public:
  /// The suffix is that of the file which registers, and ends the kernel's name. With one the
  /// kernel is a configuration that dispatch does not know.
  explicit Register(const Kernel& kernel, std::string_view suffix = GEMMWATCH_NAME_SUFFIX);
};

/// All registered kernels, by stage, then name. Throws std::logic_error if two share a name.
const std::vector<Kernel>& kernels();

/// Throws std::invalid_argument that lists the known names if there is none of this name.
const Kernel& find_kernel(std::string_view name);

/// The workspace has room for the panels of so many threads.
inline constexpr int most_host_threads = 32;

/// How many threads a host kernel may use, the control as well as a rung, so that neither wins by
/// more: what OpenBLAS chose when the process started, up to most_host_threads. OpenBLAS chooses
/// OPENBLAS_NUM_THREADS or OMP_NUM_THREADS if one is set, and never more than the processors that
/// the process may run on.
int host_threads();

/// The vendor kernel that is measured beside every kernel of the space. Throws std::logic_error if
/// none is registered.
const Kernel& control_of(Space);

// ---------------------------------------------------------------------------------------------
// Selection: which kernels visit which problems
// ---------------------------------------------------------------------------------------------

/// The device that a run measures. compute_capability is 10 major + minor of the GPU, 0 for a host.
struct Device {
  Space space = Space::host;
  int compute_capability = 0;
};

/// Seconds that a launch takes at its stage's slowest rate: an upper bound that depends on nothing
/// measured, so that a plan made from it is the same every day.
double longest_launch_s(const Kernel&, const Problem&);

/// Can code of this architecture run on the device?
bool runs_on(Arch, const Device&);

struct Point {
  const Kernel* kernel;
  Problem problem;
  std::string id() const;  ///< "<kernel>/<problem id>"
};

struct RefusedPoint {
  Point point;
  std::string reason;
};

struct Plan {
  std::vector<Point> points;
  std::vector<RefusedPoint> refused;
};

/// smoke: the small problems. pr: the problems of a pull request. full: all problems.
/// On each, the whole ladder climbs the ladder problems, while the top rung that accepts a problem
/// and the vendor kernels visit everything.
/// tune: what dispatch chooses by. All kernels that it may pick, and dispatch, visit its problems.
/// lessons: the points of lesson.hpp.
enum class Selection { smoke, pr, full, tune, lessons };
Selection parse_selection(std::string_view);

Plan select(Selection, const Device&);

/// The point of this id. Throws std::invalid_argument that names the part it cannot read.
Point parse_point(std::string_view id);

}  // namespace gemm
