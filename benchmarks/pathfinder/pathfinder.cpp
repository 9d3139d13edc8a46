#include "benchmarks/pathfinder/pathfinder.hpp"

#include <algorithm>
#include <utility>

#include "benchmarks/kernel_program.hpp"
#include "embedded/pathfinder.ptx.hpp"

namespace gpumux::benchmarks::pathfinder {

std::vector<std::int32_t> reference(const std::vector<std::int32_t>& grid, std::uint32_t columns) {
  const std::size_t rows = grid.size() / columns;
  std::vector<std::int32_t> above(grid.begin(), grid.begin() + columns);
  std::vector<std::int32_t> here(columns);
  for (std::size_t r = 1; r < rows; ++r) {
    for (std::uint32_t c = 0; c < columns; ++c) {
      std::int32_t cheapest = above[c];
      if (c > 0) cheapest = std::min(cheapest, above[c - 1]);
      if (c + 1 < columns) cheapest = std::min(cheapest, above[c + 1]);
      here[c] = cheapest + grid[r * columns + c];
    }
    above.swap(here);
  }
  return above;
}

namespace {

constexpr std::uint32_t kWidth = 256;  // WIDTH of pathfinder.cu

class Pathfinder final : public KernelProgram {
 public:
  explicit Pathfinder(const Params& params)
      : columns_(params.get("columns")), rows_(params.get("rows")), pyramid_(params.get("pyramid")) {
    params.require(std::uint64_t{columns_} * rows_ <= 250'000'000,
                   fmt::format("rows={} times columns={} must be at most 250000000", rows_, columns_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"dynproc", {blocks_for(columns_, kWidth - 2 * pyramid_)}, {kWidth}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    cells_.resize(std::size_t{columns_} * rows_);
    for (std::int32_t& cell : cells_) cell = static_cast<std::int32_t>(random.below(10));
  }
  void start(KernelRun& run) override {
    const auto cells = run.upload(cells_);
    auto from = run.allocate<std::int32_t>(columns_);
    auto to = run.allocate<std::int32_t>(columns_);
    run.copy(from, cells);
    for (std::uint32_t row = 1; row < rows_; row += pyramid_) {
      run.launch(std::min(pyramid_, rows_ - row), cells, from, to, columns_, row, pyramid_);
      std::swap(from, to);
    }
    run.download(cost_, from);
  }
  void check() override {
    if (expected_.empty()) expected_ = reference(cells_, columns_);
    check_equal("pathfinder: cost", cost_, expected_);
  }

 private:
  std::uint32_t columns_;
  std::uint32_t rows_;
  std::uint32_t pyramid_;
  std::vector<std::int32_t> cells_;
  std::vector<std::int32_t> cost_;
  std::vector<std::int32_t> expected_;
};

const KernelApp kPathfinder{
    .name = "pathfinder",
    .description = "cheapest way down a grid by dynamic programming with ghost zones (Rodinia PathFinder)",
    .params = {{"columns", 65536, 16, 10'000'000, "columns of the grid; rows * columns at most 250 million"},
               {"rows", 41, 2, 4096, "rows of the grid"},
               {"pyramid", 20, 1, 120,
                "rows of one launch; a block of 256 threads finishes 256 - 2 * pyramid columns"}},
    .ptx_file = "benchmarks/pathfinder/pathfinder.ptx",
    .ptx_text = embedded::pathfinder_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Pathfinder>(kPathfinder);

// A grid of several waves of blocks on a full machine.
[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Pathfinder, variant::Dai18>(
    kPathfinder.with("dai18/pf", "PathFinder as in Table 2 of dai18", {{"columns", 131072}, {"rows", 101}},
                     {.registers_per_thread = 16, .shared_bytes = 2048}));
// One launch. Registers as in Table 4.2. Table 4.4's grid is the grid of ten million columns.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Pathfinder, variant::Awatramani17>(
    kPathfinder.with("awatramani17/pathfinder", "pathfinder for awatramani17",
                     {{"columns", 884'736}, {"rows", 21}}, {.registers_per_thread = 16}));
// Rodinia's own runs.
[[maybe_unused]] const bool registered_kayiran14 = register_kernel_app<Pathfinder, variant::Kayiran14>(
    kPathfinder.with("kayiran14/path", "pathfinder for kayiran14", {{"columns", 100'000}, {"rows", 100}}));

}  // namespace
}  // namespace gpumux::benchmarks::pathfinder
