// awatramani17/lud: only the third kernel of lud, as in the thesis's tables. Their grids (16129 and 65025
// blocks) are the grids of the first step of 2048 and of 4096 rows. The input contains the results of the
// other two kernels.
#include <cmath>

#include "benchmarks/kernel_program.hpp"
#include "benchmarks/lud/lud_reference.hpp"
#include "embedded/lud.ptx.hpp"

namespace gpumux::benchmarks::lud {
namespace {

constexpr std::uint32_t kInternalTile = 16;

class LudInternal final : public KernelProgram {
 public:
  explicit LudInternal(const Params& params) : n_(params.get_multiple("size", kInternalTile)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    const std::uint32_t rest = n_ / kInternalTile - 1;
    return {"lud_internal", {rest, rest}, {kInternalTile, kInternalTile}};
  }
  void make_inputs(std::uint64_t seed) override {
    matrix_ = lud_matrix(n_, seed);
    const std::vector<double> begun = lud_steps(matrix_, n_, kInternalTile);
    for (std::size_t i = 0; i < matrix_.size(); ++i)
      if (is_done(i)) matrix_[i] = static_cast<float>(begun[i]);
  }
  void start(KernelRun& run) override {
    const auto matrix = run.upload(matrix_);
    run.launch(matrix, n_, 0U);
    run.download(result_, matrix);
  }
  void check() override {
    std::vector<double> expected(matrix_.begin(), matrix_.end());
    std::vector<double> allowed(matrix_.size());
    for (std::size_t i = 0; i < matrix_.size(); ++i) {
      if (is_done(i)) continue;
      double magnitude = 0;
      for (std::size_t k = 0; k < kInternalTile; ++k) {
        const double product =
            static_cast<double>(matrix_[i / n_ * n_ + k]) * static_cast<double>(matrix_[k * n_ + i % n_]);
        expected[i] -= product;
        magnitude += std::abs(product);
      }
      // Each product and its sum are rounded; the subtraction rounds the sum again.
      allowed[i] =
          sum_tolerance(kInternalTile + 1).relative * magnitude + 2 * kFloatRounding * std::abs(expected[i]);
    }
    check_within("lud: matrix", result_, expected, allowed);
  }

 private:
  /// True for an element in the first row or column of tiles, which the kernel only reads.
  [[nodiscard]] bool is_done(std::size_t i) const { return i / n_ < kInternalTile || i % n_ < kInternalTile; }

  std::uint32_t n_;
  std::vector<float> matrix_;
  std::vector<float> result_;
};

[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<LudInternal>({
    .name = "awatramani17/lud",
    .description = "update of the remaining square in the first step of lud: LUD of awatramani17",
    .params = {{"size", 1024, 32, 4096, "rows and columns of the matrix, a multiple of 16"}},
    .ptx_file = "benchmarks/lud/lud.ptx",
    .ptx_text = embedded::lud_ptx,
    .metadata = {.registers_per_thread = 16},
});

}  // namespace
}  // namespace gpumux::benchmarks::lud
