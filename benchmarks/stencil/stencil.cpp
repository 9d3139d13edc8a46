// stencil: host program of the 7-point stencil.
#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/stencil/stencil_reference.hpp"
#include "embedded/stencil.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr const char* kName = "stencil";
constexpr const char* kFile = "benchmarks/stencil/stencil.ptx";
constexpr Dim3 kBlock{32, 4, 4};
constexpr float kCentreWeight = 0.4F;
constexpr float kNeighbourWeight = 0.1F;

struct Size {
  std::uint32_t nx;
  std::uint32_t ny;
  std::uint32_t nz;
  [[nodiscard]] std::size_t points() const { return std::size_t{nx} * ny * nz; }
};

/// The kernel that makes a step, and its launch.
struct Step {
  const char* kernel;
  Dim3 grid;
  Dim3 block;
};

Step naive_step(const Size& size) {
  return {"stencil_naive",
          {blocks_for(size.nx - 2, kBlock.x), blocks_for(size.ny - 2, kBlock.y),
           blocks_for(size.nz - 2, kBlock.z)},
          kBlock};
}

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"nx", 130, 3, 2050, "points along x, boundary included"},
      {"ny", 130, 3, 2050, "points along y, boundary included"},
      {"nz", 34, 3, 2050, "points along z, boundary included"},
      {"steps", 4, 1, 1000, "time steps, one launch each"}};
  return table;
}

class Stencil final : public runtime::Application {
 public:
  Stencil(Size size, const Step& kernel, std::uint32_t steps, std::uint64_t seed)
      : size_(size), kernel_(kernel), steps_(steps), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    const std::vector<float> grid = random_floats(random, size_.points(), 0.0F, 1.0F);

    const std::uint32_t module = host.load_module(embedded::stencil_ptx, kFile);
    auto now = host.malloc<float>(grid.size());
    auto next = host.malloc<float>(grid.size());
    host.to_device(now, grid);
    host.to_device(next, grid);  // for the boundary, which no step writes
    for (std::uint32_t step = 0; step < steps_; ++step) {
      host.launch(module, kernel_.kernel, {.grid = kernel_.grid, .block = kernel_.block}, kCentreWeight,
                  kNeighbourWeight, now, next, static_cast<int>(size_.nx), static_cast<int>(size_.ny),
                  static_cast<int>(size_.nz));
      std::swap(now, next);
    }
    std::vector<float> result(grid.size());
    host.from_device(result, now);
    co_await host.synchronize();
    if (verify) {
      if (reference_.empty()) {
        reference_ =
            stencil_reference(grid, size_.nx, size_.ny, size_.nz, kCentreWeight, kNeighbourWeight, steps_);
      }
      // All terms are non-negative and pass at most 8 roundings a step.
      check_close("stencil: grid", result, reference_, sum_tolerance(8ULL * steps_));
    }
    host.free(now);
    host.free(next);
  }

 private:
  Size size_;
  Step kernel_;
  std::uint32_t steps_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

Size size_of(const Params& params) { return {params.get("nx"), params.get("ny"), params.get("nz")}; }

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description =
        "7-point Jacobi stencil on a 3D grid, one thread per point (as in Parboil's naive version)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::stencil_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      const Step step = naive_step(size_of({kName, param_table(), values}));
      return {{step.kernel, step.grid, step.block}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      const Params params(kName, param_table(), values);
      const Size size = size_of(params);
      check_memory(kName, 2 * sizeof(float) * size.points());
      return std::make_unique<Stencil>(size, naive_step(size), params.get("steps"), seed);
    },
});

// dai18/st: blocks of 512 threads that lie in rows, which is what makes a load one request.
constexpr const char* kDai18 = "dai18/st";
constexpr std::uint32_t kDai18Threads = 512;

const std::vector<runtime::AppParamInfo>& dai18_table() {
  static const std::vector<runtime::AppParamInfo> table = [] {
    std::vector<runtime::AppParamInfo> params =
        with_defaults(param_table(), {{"nx", 128}, {"ny", 64}, {"nz", 12}, {"steps", 1000}});
    params.push_back(
        {"block_x", 128, 32, 512, "threads of a block along x, a divisor of 512; the others lie along y"});
    return params;
  }();
  return table;
}

Step rows_step(const Params& params) {
  const Size size = size_of(params);
  const std::uint32_t block_x = params.get("block_x");
  params.require(kDai18Threads % block_x == 0, fmt::format("block_x={} must divide 512", block_x));
  const Dim3 block{block_x, kDai18Threads / block_x, 1};
  return {"stencil_rows", {blocks_for(size.nx, block.x), blocks_for(size.ny, block.y), size.nz - 2}, block};
}

[[maybe_unused]] const bool registered_dai18 = runtime::register_app({
    .name = kDai18,
    .description = "7-point stencil as in Table 2 of dai18",
    .params = dai18_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::stencil_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      const Step step = rows_step({kDai18, dai18_table(), values});
      return {{step.kernel, step.grid, step.block}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      const Params params(kDai18, dai18_table(), values);
      const Size size = size_of(params);
      check_memory(kDai18, 2 * sizeof(float) * size.points());
      return std::make_unique<Dai18Application>(
          kDai18, std::make_unique<Stencil>(size, rows_step(params), params.get("steps"), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks
