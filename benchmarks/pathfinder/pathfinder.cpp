#include "benchmarks/pathfinder/pathfinder.hpp"

#include <algorithm>
#include <utility>

#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
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

constexpr const char* kName = "pathfinder";
constexpr const char* kFile = "benchmarks/pathfinder/pathfinder.ptx";
constexpr const char* kKernel = "dynproc";
constexpr std::uint32_t kWidth = 256;  // WIDTH of pathfinder.cu

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"columns", 65536, 16, 4194304, "columns of the grid; rows * columns at most 50 million"},
      {"rows", 41, 2, 4096, "rows of the grid"},
      {"pyramid", 20, 1, 120,
       "rows of one launch; a block of 256 threads finishes 256 - 2 * pyramid columns"},
  };
  return table;
}

struct Sizes {
  std::uint32_t columns;
  std::uint32_t rows;
  std::uint32_t pyramid;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(columns, kWidth - 2 * pyramid)}; }
};

Sizes read_sizes(const runtime::AppParams& values, std::string_view app = kName) {
  const Params params(app, param_table(), values);
  const Sizes sizes{params.get("columns"), params.get("rows"), params.get("pyramid")};
  params.require(std::uint64_t{sizes.columns} * sizes.rows <= 50'000'000,
                 fmt::format("rows={} times columns={} must be at most 50000000", sizes.rows, sizes.columns));
  return sizes;
}

class Pathfinder final : public runtime::Application {
 public:
  Pathfinder(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes) {
    Random random(seed);
    cells_.resize(std::size_t{sizes.columns} * sizes.rows);
    for (std::int32_t& cell : cells_) cell = static_cast<std::int32_t>(random.below(10));
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::pathfinder_ptx, kFile);
    const auto cells = host.malloc<std::int32_t>(cells_.size());
    auto from = host.malloc<std::int32_t>(sizes_.columns);
    auto to = host.malloc<std::int32_t>(sizes_.columns);
    host.to_device(cells, cells_);
    host.copy_on_device(from.address, cells.address, sizes_.columns * sizeof(std::int32_t), 0);
    const runtime::LaunchSpec spec{.grid = sizes_.grid(), .block = {kWidth}};
    const auto columns = static_cast<std::int32_t>(sizes_.columns);
    const auto halo = static_cast<std::int32_t>(sizes_.pyramid);
    for (std::uint32_t row = 1; row < sizes_.rows; row += sizes_.pyramid) {
      const auto rows = static_cast<std::int32_t>(std::min(sizes_.pyramid, sizes_.rows - row));
      host.launch(module, kKernel, spec, rows, cells, from, to, columns, static_cast<std::int32_t>(row),
                  halo);
      std::swap(from, to);
    }
    std::vector<std::int32_t> result(sizes_.columns);
    host.from_device(result, from);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) expected_ = reference(cells_, sizes_.columns);
      check_equal("pathfinder: cost", result, expected_);
    }
    host.free(cells);
    host.free(from);
    host.free(to);
  }

 private:
  Sizes sizes_;
  std::vector<std::int32_t> cells_;
  std::vector<std::int32_t> expected_;  // computed by the first verified run
};

const bool registered = runtime::register_app({
    .name = kName,
    .description = "cheapest way down a grid by dynamic programming with ghost zones (Rodinia PathFinder)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::pathfinder_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values).grid(), {kWidth}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Pathfinder>(read_sizes(values), seed);
    },
});

// dai18/pf: several waves of blocks on a full machine.
constexpr const char* kDai18 = "dai18/pf";

[[maybe_unused]] const bool registered_dai18 = runtime::register_app({
    .name = kDai18,
    .description = "PathFinder as in Table 2 of dai18",
    .params = with_defaults(param_table(), {{"columns", 131072}, {"rows", 101}}),
    .ptx_file = kFile,
    .ptx_text = embedded::pathfinder_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values, kDai18).grid(), {kWidth}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(
          kDai18, std::make_unique<Pathfinder>(read_sizes(values, kDai18), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::pathfinder
