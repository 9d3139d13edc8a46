// sad: host program of the SADs of larger blocks.
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/sad/sad_reference.hpp"
#include "embedded/sad.ptx.hpp"

namespace gpumux::benchmarks::sad {
namespace {

constexpr const char* kName = "dai18/s2";
constexpr const char* kFile = "benchmarks/sad/sad.ptx";
constexpr const char* kKernel = "sad_larger";
constexpr Dim3 kBlock{32, 4};

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"width", 32, 1, 256, "macroblocks of 16x16 pixels along x, a block each"},
      {"height", 24, 1, 256, "macroblocks along y; width * height at most 3000"}};
  return table;
}

Dim3 read_grid(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Dim3 grid{params.get("width"), params.get("height")};
  params.require(grid.count() <= 3000,
                 fmt::format("width={} times height={} must be at most 3000", grid.x, grid.y));
  return grid;
}

class Sad final : public runtime::Application {
 public:
  Sad(Dim3 grid, std::uint64_t seed) : grid_(grid), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    if (small_.empty()) make_small();
    const std::size_t quadrants = grid_.count() * kQuadrants;
    const std::uint32_t module = host.load_module(embedded::sad_ptx, kFile);
    const auto small = host.malloc<std::uint16_t>(small_.size());
    const auto wide = host.malloc<std::uint16_t>(2 * quadrants * kRow);
    const auto tall = host.malloc<std::uint16_t>(2 * quadrants * kRow);
    const auto square = host.malloc<std::uint16_t>(quadrants * kRow);
    host.to_device(small, small_);
    host.fill(wide.address, 0, 2 * sizeof(std::uint16_t) * quadrants * kRow, 0);
    host.fill(tall.address, 0, 2 * sizeof(std::uint16_t) * quadrants * kRow, 0);
    host.fill(square.address, 0, sizeof(std::uint16_t) * quadrants * kRow, 0);
    host.launch(module, kKernel, {.grid = grid_, .block = kBlock}, small, wide, tall, square);
    co_await host.synchronize();
    if (verify) {
      Sads result{std::vector<std::uint16_t>(2 * quadrants * kRow),
                  std::vector<std::uint16_t>(2 * quadrants * kRow),
                  std::vector<std::uint16_t>(quadrants * kRow)};
      host.from_device(result.wide, wide);
      host.from_device(result.tall, tall);
      host.from_device(result.square, square);
      co_await host.synchronize();
      const Sads expected = larger_sads(small_);
      check_equal("sad: wide", result.wide, expected.wide);
      check_equal("sad: tall", result.tall, expected.tall);
      check_equal("sad: square", result.square, expected.square);
    }
    host.free(small);
    host.free(wide);
    host.free(tall);
    host.free(square);
  }

 private:
  /// What the first kernel of the program would leave: any sums that 16 differences of bytes can have.
  void make_small() {
    Random random(seed_);
    small_.resize(grid_.count() * kQuadrants * 4 * kRow);
    for (std::size_t i = 0; i < small_.size(); ++i) {
      if (i % kRow < kPositions) small_[i] = static_cast<std::uint16_t>(random.below(kLargest + 1));
    }
  }

  Dim3 grid_;
  std::uint64_t seed_;
  std::vector<std::uint16_t> small_;
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "SADs of larger blocks of a video frame from those of 4x4 blocks (as in Parboil's sad)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::sad_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_grid(values), kBlock}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName, std::make_unique<Sad>(read_grid(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::sad
