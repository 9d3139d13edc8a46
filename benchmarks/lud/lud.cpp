// lud: host program of the blocked LU decomposition.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/lud/lud_reference.hpp"
#include "embedded/lud.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks::lud {
namespace {

constexpr const char* kName = "lud";
constexpr const char* kFile = "benchmarks/lud/lud.ptx";
constexpr std::uint32_t kTile = 16;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"size", 384, 16, 4096, "rows and columns of the matrix, a multiple of 16"}};
  return table;
}

class Lud : public runtime::Application {
 public:
  Lud(std::uint32_t n, std::uint64_t seed) : n_(n), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    std::vector<float> matrix = lud_matrix(n_, seed_);
    const std::uint32_t module = host.load_module(embedded::lud_ptx, kFile);
    const auto device = host.malloc<float>(matrix.size());
    host.to_device(device, matrix);
    const auto n = static_cast<int>(n_);
    const std::uint32_t tiles = n_ / kTile;
    for (std::uint32_t step = 0; step < tiles; ++step) {
      const auto offset = static_cast<int>(step * kTile);
      const std::uint32_t rest = tiles - step - 1;
      host.launch(module, "lud_diagonal", {.grid = {1}, .block = {kTile}}, device, n, offset);
      if (rest == 0) break;
      host.launch(module, "lud_perimeter", {.grid = {rest}, .block = {2 * kTile}}, device, n, offset);
      host.launch(module, "lud_internal", {.grid = {rest, rest}, .block = {kTile, kTile}}, device, n, offset);
    }
    host.from_device(matrix, device);
    co_await host.synchronize();
    if (verify) check(matrix);
    host.free(device);
  }

 private:
  // Each element has at most n roundings of terms, whose magnitudes sum to |L||U|. For this matrix, this sum
  // is at most |u| + 2 above the diagonal and, after division by a pivot of about n, |l| + 2/n below the
  // diagonal. The factor 2 covers errors from earlier steps (L and U have condition numbers near 1).
  void check(const std::vector<float>& result) {
    if (reference_.empty()) {
      reference_ = lud_reference(lud_matrix(n_, seed_), n_);
      allowed_.resize(reference_.size());
      const double unit = 2 * n_ * kFloatRounding;
      for (std::size_t i = 0; i < reference_.size(); ++i) {
        const bool below_diagonal = i % n_ < i / n_;
        allowed_[i] = unit * (std::abs(reference_[i]) + 2.0 / (below_diagonal ? n_ : 1));
      }
    }
    check_within("lud: matrix", result, reference_, allowed_);
  }

  std::uint32_t n_;
  std::uint64_t seed_;
  std::vector<double> reference_;
  std::vector<double> allowed_;
};

std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const std::uint32_t rest = std::max(params.get_multiple("size", kTile) / kTile - 1, 1U);
  return {{"lud_diagonal", {1}, {kTile}},
          {"lud_perimeter", {rest}, {2 * kTile}},
          {"lud_internal", {rest, rest}, {kTile, kTile}}};
}

std::unique_ptr<runtime::Application> create(const runtime::AppParams& values, std::uint64_t seed) {
  const Params params(kName, param_table(), values);
  return std::make_unique<Lud>(params.get_multiple("size", kTile), seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "LU decomposition without pivoting, 16x16 tiles, three kernels a step (as in Rodinia)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::lud_ptx,
    .shapes = shapes,
    .create = create,
});

/// Blocks count for the registers and shared memory in Table 2 of chimera15.
class Chimera15Lud final : public Lud {
 public:
  using Lud::Lud;
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    return {{"lud_diagonal", {.registers_per_thread = 24, .shared_bytes = 1024}},
            {"lud_perimeter", {.registers_per_thread = 18, .shared_bytes = 3072}},
            {"lud_internal", {.registers_per_thread = 14, .shared_bytes = 2048}}};
  }
};

std::vector<runtime::AppParamInfo> chimera15_params() {
  std::vector<runtime::AppParamInfo> params = param_table();
  params[0].default_value = 512;
  return params;
}

[[maybe_unused]] const bool registered_chimera15 = runtime::register_app({
    .name = "chimera15/LUD",
    .description = "LU decomposition as in Table 2 of chimera15",
    .params = chimera15_params(),
    .ptx_file = kFile,
    .ptx_text = embedded::lud_ptx,
    .shapes = shapes,
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Chimera15Lud>(Params(kName, param_table(), values).get_multiple("size", kTile),
                                            seed);
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::lud
