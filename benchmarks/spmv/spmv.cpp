// spmv: host program of the sparse matrix-vector product.
#include <algorithm>
#include <vector>

#include "benchmarks/kernel_program.hpp"
#include "benchmarks/spmv/spmv_reference.hpp"
#include "embedded/spmv.ptx.hpp"

namespace gpumux::benchmarks::spmv {
namespace {

constexpr std::uint32_t kBlock = 192;
constexpr std::int64_t kMaxRows = 32 * 8192;     // size of the kernel's constant array of groups, times 32
constexpr std::int64_t kMaxMeanNonzeros = 2048;  // rows reach twice the mean: size of its array of diagonals
constexpr std::uint32_t kBand = 512;  // largest distance from the diagonal of a region's common elements
constexpr std::uint32_t kRegion = 32;

class Spmv final : public KernelProgram {
 public:
  explicit Spmv(const Params& params)
      : rows_(params.get("rows")), nonzeros_(params.get("nonzeros")), repeats_(params.get("repeats")) {
    params.require_memory(std::uint64_t{rows_} * nonzeros_ * 8 + std::uint64_t{rows_} * 12);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"spmv_jds", {blocks_for(rows_, kBlock)}, {kBlock}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    matrix_ = make_matrix(random);
    x_ = random_floats(random, rows_, 0.0F, 1.0F);
  }
  void start(KernelRun& run) override {
    const JaggedDiagonals jds = to_jagged_diagonals(matrix_);
    const auto value = run.upload(jds.value);
    const auto column = run.upload(jds.column);
    const auto permutation = run.upload(jds.permutation);
    const auto x = run.upload(x_);
    const auto y = run.allocate<float>(rows_);
    run.set_symbol("diagonal_start", jds.diagonal_start);
    run.set_symbol("group_length", jds.group_length);
    for (std::uint32_t i = 0; i < repeats_; ++i) run.launch(y, value, column, permutation, x, rows_);
    run.download(y_, y);
  }
  void check() override {
    if (expected_.empty()) expected_ = spmv_reference(matrix_, x_);
    // No term is negative; a row has fewer than 2 * nonzeros of them, and padding adds exact zeros.
    check_close("spmv: y", y_, expected_, sum_tolerance(2 * nonzeros_ + 1));
  }

 private:
  // A matrix like that of a mesh. 32 neighbouring rows have one length, uniform in [1, 2 * nonzeros_), and
  // the same offsets from the diagonal; but one of eight elements of each row is anywhere. Elements that
  // would repeat a column or leave the matrix are omitted.
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
  SparseRows matrix_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<double> expected_;
};

const KernelApp kSpmv{
    .name = "spmv",
    .description =
        "sparse matrix-vector product, padded jagged diagonals, indices in constant memory "
        "(as in Parboil)",
    .params = {{"rows", 147456, 1, kMaxRows, "rows and columns of the matrix"},
               {"nonzeros", 24, 1, kMaxMeanNonzeros, "mean nonzeros of a row"},
               {"repeats", 1, 1, 1000, "products with the same matrix"}},
    .ptx_file = "benchmarks/spmv/spmv.ptx",
    .ptx_text = embedded::spmv_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Spmv>(kSpmv);

// Parboil's large matrix has about as many rows.
[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Spmv, variant::Dai18>(
    kSpmv.with("dai18/sv", "sparse matrix-vector product as in Table 2 of dai18", {{"repeats", 2}},
               {.registers_per_thread = 16}));
[[maybe_unused]] const bool registered_wang17 = register_kernel_app<Spmv, variant::Wang17>(
    kSpmv.with("wang17/spmv", "spmv for wang17", {{"rows", 146'689}, {"nonzeros", 25}, {"repeats", 50}}));

}  // namespace
}  // namespace gpumux::benchmarks::spmv
