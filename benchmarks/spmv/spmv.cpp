// spmv: host program of the sparse matrix-vector product.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/spmv/spmv_reference.hpp"
#include "embedded/spmv.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr const char* kName = "spmv";
constexpr const char* kFile = "benchmarks/spmv/spmv.ptx";
constexpr std::uint32_t kBlock = 192;
constexpr std::int64_t kMaxRows = 32 * 8192;     // the kernel's constant array of groups
constexpr std::int64_t kMaxMeanNonzeros = 2048;  // rows reach twice the mean: its array of diagonals
constexpr std::uint32_t kBand = 512;  // largest distance from the diagonal of a region's common elements
constexpr std::uint32_t kRegion = 32;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"rows", 147456, 1, kMaxRows, "rows and columns of the matrix"},
      {"nonzeros", 24, 1, kMaxMeanNonzeros, "mean nonzeros of a row"},
      {"repeats", 1, 1, 1000, "products with the same matrix"}};
  return table;
}

class Spmv final : public runtime::Application {
 public:
  Spmv(std::uint32_t rows, std::uint32_t nonzeros, std::uint32_t repeats, std::uint64_t seed)
      : rows_(rows), nonzeros_(nonzeros), repeats_(repeats), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    const SparseRows matrix = make_matrix(random);
    const std::vector<float> x = random_floats(random, rows_, 0.0F, 1.0F);
    const JaggedDiagonals jds = to_jagged_diagonals(matrix);

    const std::uint32_t module = host.load_module(embedded::spmv_ptx, kFile);
    const auto device_value = host.malloc<float>(jds.value.size());
    const auto device_column = host.malloc<std::int32_t>(jds.column.size());
    const auto device_permutation = host.malloc<std::int32_t>(rows_);
    const auto device_x = host.malloc<float>(rows_);
    const auto device_y = host.malloc<float>(rows_);
    host.to_device(device_value, jds.value);
    host.to_device(device_column, jds.column);
    host.to_device(device_permutation, jds.permutation);
    host.to_device(device_x, x);
    host.copy_to_symbol(module, "diagonal_start", 0, std::as_bytes(std::span(jds.diagonal_start)), 0);
    host.copy_to_symbol(module, "group_length", 0, std::as_bytes(std::span(jds.group_length)), 0);
    for (std::uint32_t i = 0; i < repeats_; ++i) {
      host.launch(module, "spmv_jds", {.grid = {blocks_for(rows_, kBlock)}, .block = {kBlock}}, device_y,
                  device_value, device_column, device_permutation, device_x, static_cast<int>(rows_));
    }
    std::vector<float> y(rows_);
    host.from_device(y, device_y);
    co_await host.synchronize();
    if (verify) {
      if (reference_.empty()) reference_ = spmv_reference(matrix, x);
      // No term is negative; a row has fewer than 2 * nonzeros of them, and padding adds exact zeros.
      check_close("spmv: y", y, reference_, sum_tolerance(2 * nonzeros_ + 1));
    }
    host.free(device_value);
    host.free(device_column);
    host.free(device_permutation);
    host.free(device_x);
    host.free(device_y);
  }

 private:
  // Like a mesh: 32 neighbouring rows have one length, uniform in [1, 2 * nonzeros_), and the same offsets
  // from the diagonal, but one element in eight of each row lies anywhere. Elements that would repeat a
  // column or leave the matrix are left out.
  [[nodiscard]] SparseRows make_matrix(Random& random) const {
    SparseRows matrix;
    const std::size_t expected = std::size_t{rows_} * nonzeros_;
    matrix.column.reserve(expected + expected / 8);
    matrix.value.reserve(expected + expected / 8);
    std::vector<std::int64_t> offsets;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (row % kRegion == 0) {
        offsets.resize(1 + random.below(2 * nonzeros_ - 1));
        for (std::int64_t& offset : offsets) offset = std::int64_t{random.below(2 * kBand)} - kBand;
      }
      const auto first = static_cast<std::ptrdiff_t>(matrix.column.size());
      for (const std::int64_t offset : offsets) {
        const bool anywhere = random.below(8) == 0;
        const std::int64_t column = anywhere ? std::int64_t{random.below(rows_)} : row + offset;
        if (column < 0 || column >= rows_) continue;
        const auto index = static_cast<std::int32_t>(column);
        if (std::find(matrix.column.begin() + first, matrix.column.end(), index) != matrix.column.end()) {
          continue;
        }
        matrix.column.push_back(index);
        matrix.value.push_back(random.unit());
      }
      matrix.start.push_back(matrix.column.size());
    }
    return matrix;
  }

  std::uint32_t rows_;
  std::uint32_t nonzeros_;
  std::uint32_t repeats_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

std::vector<runtime::AppInfo::KernelShape> shapes(const char* app, const runtime::AppParams& values) {
  const Params params(app, param_table(), values);
  return {{"spmv_jds", {blocks_for(params.get("rows"), kBlock)}, {kBlock}}};
}

std::unique_ptr<runtime::Application> create(const char* app, const runtime::AppParams& values,
                                             std::uint64_t seed) {
  const Params params(app, param_table(), values);
  const std::uint32_t rows = params.get("rows");
  const std::uint32_t nonzeros = params.get("nonzeros");
  check_memory(app, std::uint64_t{rows} * nonzeros * 8 + std::uint64_t{rows} * 12);
  return std::make_unique<Spmv>(rows, nonzeros, params.get("repeats"), seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "sparse matrix-vector product, padded jagged diagonals, indices in constant memory "
                   "(as in Parboil)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::spmv_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes(kName, values); },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) { return create(kName, values, seed); },
});

// dai18/sv: Parboil's large matrix has about as many rows.
constexpr const char* kDai18 = "dai18/sv";

[[maybe_unused]] const bool registered_dai18 = runtime::register_app({
    .name = kDai18,
    .description = "sparse matrix-vector product as in Table 2 of dai18",
    .params = with_defaults(param_table(), {{"repeats", 2}}),
    .ptx_file = kFile,
    .ptx_text = embedded::spmv_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes(kDai18, values); },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kDai18, create(kDai18, values, seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks
