// needle: host program of the Needleman-Wunsch algorithm.
#include "benchmarks/needle/needle.hpp"

#include <algorithm>
#include <array>

#include "benchmarks/kernel_program.hpp"
#include "embedded/needle.ptx.hpp"

namespace gpumux::benchmarks::needle {

namespace {

/// A matrix of scores with row 0 and column 0 filled.
std::vector<std::int32_t> borders(std::uint32_t n, std::int32_t penalty) {
  const std::size_t columns = std::size_t{n} + 1;
  std::vector<std::int32_t> scores(columns * columns);
  for (std::size_t i = 1; i < columns; ++i)
    scores[i] = scores[i * columns] = -static_cast<std::int32_t>(i) * penalty;
  return scores;
}

}  // namespace

std::vector<std::int32_t> align(const std::vector<std::int32_t>& similarity, std::uint32_t n,
                                std::int32_t penalty) {
  const std::size_t columns = std::size_t{n} + 1;
  std::vector<std::int32_t> scores = borders(n, penalty);
  for (std::size_t y = 1; y < columns; ++y) {
    for (std::size_t x = 1; x < columns; ++x) {
      const std::size_t at = y * columns + x;
      scores[at] = std::max({scores[at - columns - 1] + similarity[at], scores[at - 1] - penalty,
                             scores[at - columns] - penalty});
    }
  }
  return scores;
}

namespace {

constexpr std::uint32_t kTile = 16;
constexpr std::uint32_t kLetters = 20;  // number of amino acids
constexpr std::int32_t kPenalty = 10;

class Needle final : public KernelProgram {
 public:
  explicit Needle(const Params& params) : n_(params.get_multiple("size", kTile)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"needle_first", {n_ / kTile}, {kTile}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {shape(), {"needle_second", {std::max(n_ / kTile - 1, 1U)}, {kTile}}};
  }
  /// Makes two random sequences, and a random similarity of letters, as for amino acids. Equal letters score
  /// highest.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    std::array<std::array<std::int32_t, kLetters>, kLetters> table{};
    for (std::uint32_t a = 0; a < kLetters; ++a)
      for (std::uint32_t b = 0; b <= a; ++b)
        table[a][b] = table[b][a] = a == b ? 4 + static_cast<std::int32_t>(random.below(8))
                                           : static_cast<std::int32_t>(random.below(8)) - 4;
    std::vector<std::uint32_t> first(n_);
    std::vector<std::uint32_t> second(n_);
    for (std::uint32_t& letter : first) letter = random.below(kLetters);
    for (std::uint32_t& letter : second) letter = random.below(kLetters);
    similarity_.assign(cells(), 0);
    for (std::size_t y = 1; y <= n_; ++y)
      for (std::size_t x = 1; x <= n_; ++x)
        similarity_[y * (std::size_t{n_} + 1) + x] = table[first[y - 1]][second[x - 1]];
  }
  void start(KernelRun& run) override {
    const auto scores = run.upload(borders(n_, kPenalty));
    const auto similarity = run.upload(similarity_);
    const std::uint32_t tiles = n_ / kTile;
    for (std::uint32_t diagonal = 1; diagonal <= tiles; ++diagonal)
      run.launch_as({"needle_first", {diagonal}, {kTile}}, scores, similarity, n_ + 1, kPenalty, diagonal);
    for (std::uint32_t diagonal = tiles - 1; diagonal >= 1; --diagonal)
      run.launch_as({"needle_second", {diagonal}, {kTile}}, scores, similarity, n_ + 1, kPenalty, diagonal,
                    tiles);
    run.download(scores_, scores);
  }
  void check() override { check_equal("needle: scores", scores_, align(similarity_, n_, kPenalty)); }

 private:
  [[nodiscard]] std::size_t cells() const { return (std::size_t{n_} + 1) * (std::size_t{n_} + 1); }
  std::uint32_t n_;
  std::vector<std::int32_t> similarity_;
  std::vector<std::int32_t> scores_;
};

const KernelApp kNeedle{
    .name = "needle",
    .description = "Needleman-Wunsch alignment of two sequences, tile by tile in place (Rodinia nw)",
    .params = {{"size", 1024, 16, 4096, "letters of each sequence, a multiple of 16"}},
    .ptx_file = "benchmarks/needle/needle.ptx",
    .ptx_text = embedded::needle_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Needle>(kNeedle);
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Needle, variant::Chimera15>(
    kNeedle.with("chimera15/NW", "Needleman-Wunsch as in Table 2 of chimera15", {{"size", 4096}})
        .of({{"needle_first", {.registers_per_thread = 46, .shared_bytes = 2304}},
             {"needle_second", {.registers_per_thread = 46, .shared_bytes = 2304}}}));

}  // namespace
}  // namespace gpumux::benchmarks::needle
