// stencil: host program of the 7-point stencil.
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "benchmarks/stencil/stencil_reference.hpp"
#include "benchmarks/tolerance.hpp"
#include "embedded/stencil.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr Dim3 kBlock{32, 4, 4};
constexpr float kCentreWeight = 0.4F;
constexpr float kNeighbourWeight = 0.1F;

struct Size {
  std::uint32_t nx;
  std::uint32_t ny;
  std::uint32_t nz;
  [[nodiscard]] std::size_t points() const { return std::size_t{nx} * ny * nz; }
  [[nodiscard]] Dim3 grid() const {
    return {blocks_for(nx - 2, kBlock.x), blocks_for(ny - 2, kBlock.y), blocks_for(nz - 2, kBlock.z)};
  }
};

class Stencil final : public runtime::Application {
 public:
  Stencil(Size size, std::uint32_t steps, std::uint64_t seed) : size_(size), steps_(steps), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    std::vector<float> grid(size_.points());
    for (float& value : grid) value = random.unit();

    const std::uint32_t module = host.load_module(embedded::stencil_ptx, "benchmarks/stencil/stencil.ptx");
    auto now = host.malloc<float>(grid.size());
    auto next = host.malloc<float>(grid.size());
    host.to_device(now, grid);
    host.to_device(next, grid);  // for the boundary, which no step writes
    for (std::uint32_t step = 0; step < steps_; ++step) {
      host.launch(module, "stencil_naive", {.grid = size_.grid(), .block = kBlock}, kCentreWeight,
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
  std::uint32_t steps_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

Size size_of(const runtime::AppParams& params) {
  return {size_param(params, "stencil", "nx"), size_param(params, "stencil", "ny"),
          size_param(params, "stencil", "nz")};
}

std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& params) {
  return {{"stencil_naive", size_of(params).grid(), kBlock}};
}

std::unique_ptr<runtime::Application> create(const runtime::AppParams& params, std::uint64_t seed) {
  const Size size = size_of(params);
  check_memory("stencil", 2 * sizeof(float) * size.points());
  return std::make_unique<Stencil>(size, size_param(params, "stencil", "steps"), seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = "stencil",
    .description =
        "7-point Jacobi stencil on a 3D grid, one thread per point (as in Parboil's naive version)",
    .params = {{"nx", 130, 3, 2050, "points along x, boundary included"},
               {"ny", 130, 3, 2050, "points along y, boundary included"},
               {"nz", 34, 3, 2050, "points along z, boundary included"},
               {"steps", 4, 1, 1000, "time steps, one launch each"}},
    .ptx_file = "benchmarks/stencil/stencil.ptx",
    .ptx_text = embedded::stencil_ptx,
    .shapes = shapes,
    .create = create,
});

}  // namespace
}  // namespace gpumux::benchmarks
