// mummer: host program of exact matches by a suffix tree.
#include "benchmarks/mummer/mummer.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/mummer.ptx.hpp"

namespace gpumux::benchmarks::mummer {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kLetters = 4;

class Mummer final : public KernelProgram {
 public:
  explicit Mummer(const Params& params)
      : size_(params.get("reference")),
        count_(params.get("queries")),
        letters_(params.get("letters")),
        least_(params.get("least")) {
    params.require(least_ <= letters_, fmt::format("least={} must be at most letters={}", least_, letters_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"match_queries", {blocks_for(count_, kThreads)}, {kThreads}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {shape(), {"print_matches", shape().grid, shape().block}};
  }
  /// Queries are pieces of the reference; in half of them one letter is another.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    reference_.resize(size_);
    for (std::uint8_t& letter : reference_) letter = static_cast<std::uint8_t>(random.below(kLetters));
    tree_ = suffix_tree(reference_);
    for (std::uint32_t q = 0; q < count_; ++q) {
      const std::uint32_t from = random.below(size_ - letters_ + 1);
      queries_.insert(queries_.end(), reference_.begin() + from, reference_.begin() + from + letters_);
      if (q % 2 == 1) {
        std::uint8_t& letter = queries_[queries_.size() - 1 - random.below(letters_)];
        letter = static_cast<std::uint8_t>((letter + 1 + random.below(kLetters - 1)) % kLetters);
      }
    }
  }
  void start(KernelRun& run) override {
    std::vector<std::uint8_t> ended = reference_;
    ended.push_back(kLetters);  // no query's letter
    const auto reference = run.upload(ended);
    const auto edges = run.upload(tree_.edges);
    const auto children = run.upload(tree_.children);
    const auto depths = run.upload(tree_.depths);
    const auto queries = run.upload(queries_);
    const auto matches = run.allocate<Match>(std::size_t{count_} * starts());
    const auto tops = run.allocate<std::int32_t>(std::size_t{count_} * starts());
    run.launch(reference, edges, children, depths, queries, count_, letters_, least_, matches);
    run.launch_as(shapes()[1], edges, depths, matches, count_, starts(), least_, tops);
    if (run.verify()) run.download(matches_, matches);
    run.download(tops_, tops);
  }
  void check() override {
    std::vector<std::int32_t> nodes, lengths, expected_nodes, expected_lengths, expected_tops;
    for (const Match& match : matches_) {
      nodes.push_back(match.node);
      lengths.push_back(match.length);
    }
    for (std::uint32_t q = 0; q < count_; ++q) {
      for (std::uint32_t start = 0; start < starts(); ++start) {
        const Match match =
            longest_match(tree_, reference_, queries_.data() + std::size_t{q} * letters_ + start,
                          static_cast<std::int32_t>(letters_ - start));
        expected_nodes.push_back(match.node);
        expected_lengths.push_back(match.length);
        expected_tops.push_back(top_of(tree_, match, static_cast<std::int32_t>(least_)));
      }
    }
    check_equal("mummer: lengths", lengths, expected_lengths);
    check_equal("mummer: nodes", nodes, expected_nodes);
    check_equal("mummer: tops", tops_, expected_tops);
  }

 private:
  [[nodiscard]] std::uint32_t starts() const { return letters_ - least_ + 1; }
  std::uint32_t size_, count_, letters_, least_;
  std::vector<std::uint8_t> reference_, queries_;
  SuffixTree tree_;
  std::vector<Match> matches_;
  std::vector<std::int32_t> tops_;
};

const KernelApp kMummer{
    .name = "mummer",
    .description =
        "exact matches of short queries in a long reference, by its suffix tree (MUMmerGPU, Rodinia)",
    .params = {{"reference", 20000, 256, 4'000'000, "letters of the reference"},
               {"queries", 4000, 1, 1'000'000, "queries, a thread each"},
               {"letters", 25, 1, 256, "of a query"},
               {"least", 20, 1, 256,
                "letters of a match that is printed; no match is looked for in the last of a "
                "query that are fewer"}},
    .ptx_file = "benchmarks/mummer/mummer.ptx",
    .ptx_text = embedded::mummer_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Mummer>(kMummer);
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Mummer, variant::Chimera15>(
    kMummer
        .with("chimera15/MUM", "MUMmer as in Table 2 of chimera15",
              {{"reference", 1'000'000}, {"queries", 50'000}})
        .of({{"match_queries", {.registers_per_thread = 18}},
             {"print_matches", {.registers_per_thread = 24}}}));
// Three blocks for each of 28 SMs, and a tree of some 6 MB.
[[maybe_unused]] const bool registered_kayiran14 = register_kernel_app<Mummer, variant::Kayiran14>(
    kMummer.with("kayiran14/mum", "MUMmerGPU for kayiran14", {{"reference", 100'000}, {"queries", 21504}}));

}  // namespace
}  // namespace gpumux::benchmarks::mummer
