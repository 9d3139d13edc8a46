// stencil: host program of the 7-point stencil.
#include <utility>
#include <vector>

#include "benchmarks/kernel_program.hpp"
#include "benchmarks/stencil/stencil_reference.hpp"
#include "embedded/stencil.ptx.hpp"

namespace gpumux::benchmarks::stencil {
namespace {

constexpr float kCentreWeight = 0.4F;
constexpr float kNeighbourWeight = 0.1F;

class Stencil : public KernelProgram {
 public:
  explicit Stencil(const Params& params)
      : nx_(params.get("nx")), ny_(params.get("ny")), nz_(params.get("nz")), steps_(params.get("steps")) {
    params.require_memory(2 * sizeof(float) * points());
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    constexpr Dim3 kBlock{32, 4, 4};
    return {"stencil_naive",
            {blocks_for(nx_ - 2, kBlock.x), blocks_for(ny_ - 2, kBlock.y), blocks_for(nz_ - 2, kBlock.z)},
            kBlock};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    grid_ = random_floats(random, points(), 0.0F, 1.0F);
  }
  void start(KernelRun& run) override {
    auto now = run.upload(grid_);
    auto next = run.upload(grid_);  // has the boundary, which no step writes
    for (std::uint32_t step = 0; step < steps_; ++step) {
      run.launch(centre_argument(), kNeighbourWeight, now, next, nx_, ny_, nz_);
      std::swap(now, next);
    }
    run.download(result_, now);
  }
  void check() override {
    if (expected_.empty()) {
      expected_ = stencil_reference(grid_, nx_, ny_, nz_, kCentreWeight, kNeighbourWeight, steps_);
    }
    // All terms are non-negative and pass at most 8 roundings per step.
    check_close("stencil: grid", result_, expected_, sum_tolerance(8ULL * steps_));
  }

 protected:
  /// The value of the kernel's parameter centre_weight.
  [[nodiscard]] virtual float centre_argument() const { return kCentreWeight; }
  [[nodiscard]] std::size_t points() const { return std::size_t{nx_} * ny_ * nz_; }

  std::uint32_t nx_;
  std::uint32_t ny_;
  std::uint32_t nz_;

 private:
  std::uint32_t steps_;
  std::vector<float> grid_;
  std::vector<float> result_;
  std::vector<double> expected_;
};

/// Base for the kernels that subtract the weighted centre, so the parameter has the opposite sign.
class SubtractingStencil : public Stencil {
 public:
  using Stencil::Stencil;

 private:
  [[nodiscard]] float centre_argument() const override { return -kCentreWeight; }
};

/// One block per row of the interior.
class RowStencil final : public SubtractingStencil {
 public:
  explicit RowStencil(const Params& params) : SubtractingStencil(params) {
    params.require(nx_ <= kMostThreads + 1,
                   fmt::format("nx={} must be at most 1025: a block is nx-1 threads", nx_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"stencil_row", {ny_ - 2, nz_ - 2}, {nx_ - 1}};
  }

 private:
  static constexpr std::uint32_t kMostThreads = 1024;  // per block
};

/// Columns of the grid, two per thread.
class ColumnStencil final : public SubtractingStencil {
 public:
  using SubtractingStencil::SubtractingStencil;
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    constexpr Dim3 kBlock{32, 4};
    return {"stencil_columns",
            {blocks_for(nx_, 2 * kBlock.x), blocks_for(ny_, kBlock.y)},
            kBlock,
            2 * kBlock.x * kBlock.y * static_cast<std::uint32_t>(sizeof(float))};
  }
};

const KernelApp kStencil{
    .name = "stencil",
    .description =
        "7-point Jacobi stencil on a 3D grid, one thread per point (as in Parboil's naive version)",
    .params = {{"nx", 130, 3, 2050, "points along x, boundary included"},
               {"ny", 130, 3, 2050, "points along y, boundary included"},
               {"nz", 34, 3, 2050, "points along z, boundary included"},
               {"steps", 4, 1, 1000, "time steps, one launch each"}},
    .ptx_file = "benchmarks/stencil/stencil.ptx",
    .ptx_text = embedded::stencil_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Stencil>(kStencil);

// Parboil's default input, which is its largest input.
[[maybe_unused]] const bool registered_dai18 = register_kernel_app<RowStencil>(
    kStencil.with("dai18/st", "7-point stencil as in Table 2 of dai18",
                  {{"nx", 512}, {"ny", 512}, {"nz", 64}, {"steps", 100}}, {.registers_per_thread = 16}));
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<ColumnStencil>(
    kStencil.with("chimera15/ST", "7-point stencil as in Table 2 of chimera15",
                  {{"nx", 512}, {"ny", 512}, {"nz", 64}, {"steps", 10}},
                  {.registers_per_thread = 20, .shared_bytes = 1280}));
[[maybe_unused]] const bool registered_wang17 =
    register_kernel_app<ColumnStencil, variant::Wang17>(kStencil.with(
        "wang17/stencil", "stencil for wang17", {{"nx", 512}, {"ny", 512}, {"nz", 64}, {"steps", 100}}));

}  // namespace
}  // namespace gpumux::benchmarks::stencil
