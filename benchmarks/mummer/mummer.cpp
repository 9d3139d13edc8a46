// mummer: host program that finds exact matches by a suffix tree.
#include "benchmarks/mummer/mummer.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/mummer.ptx.hpp"

namespace gpumux::benchmarks::mummer {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kLetters = 4;
constexpr std::string_view kAlphabet = "ACGT";
constexpr std::uint32_t kTextureWidth = 4096;
constexpr std::uint32_t kTextureBlock = 32;  // rows over which nodes with consecutive numbers are distributed

/// A texel of the kernels' textures: five numbers of three bytes each.
using Texel = std::array<std::uint8_t, 16>;
void put(Texel& texel, std::size_t number, std::uint32_t value) {
  for (std::size_t byte = 0; byte < 3; ++byte)
    texel[3 * number + byte] = static_cast<std::uint8_t>(value >> (8 * byte));
}

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
  /// Makes the reference and the queries. Queries are pieces of the reference; half of them have one changed
  /// letter.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    reference_.resize(size_);
    for (std::uint8_t& letter : reference_) letter = static_cast<std::uint8_t>(random.below(kLetters));
    tree_ = suffix_tree(reference_);
    number_nodes();
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
    std::vector<char> text(1, 's');  // letters count from 1
    for (const std::uint8_t letter : reference_) text.push_back(kAlphabet[letter]);
    text.push_back('$');  // a letter that no query contains
    std::vector<char> query_text;
    std::vector<std::int32_t> query_begins;
    for (std::uint32_t q = 0; q < count_; ++q) {
      query_begins.push_back(static_cast<std::int32_t>(query_text.size()));
      query_text.push_back('q');
      for (std::uint32_t i = 0; i < letters_; ++i)
        query_text.push_back(kAlphabet[queries_[std::size_t{q} * letters_ + i]]);
      query_text.push_back('\0');
    }
    const auto reference = run.upload(text);
    const auto texture = [&](const std::vector<Texel>& texels) {
      const workload::TextureArray array =
          run.array({workload::ChannelKind::Unsigned, 32, 4}, kTextureWidth,
                    static_cast<std::uint32_t>(texels.size()) / kTextureWidth);
      run.fill(array, texels);
      return run.texture(workload::TextureResource::of(array), {});
    };
    const auto [node_texels, child_texels] = texels();
    const runtime::TextureObject nodes = texture(node_texels);
    const runtime::TextureObject children = texture(child_texels);
    const auto queries = run.upload(query_text);
    const auto begins = run.upload(query_begins);
    const auto lengths = run.upload(std::vector<std::int32_t>(count_, static_cast<std::int32_t>(letters_)));
    const auto matches = run.zeros<Match>(std::size_t{count_} * starts());
    const auto tops = run.allocate<std::int32_t>(std::size_t{count_} * starts());
    run.launch(reference, nodes, children, queries, begins, lengths, count_, least_, matches);
    run.launch_as(shapes()[1], nodes, matches, count_, starts(), least_, tops);
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
        const std::int32_t top = top_of(tree_, match, static_cast<std::int32_t>(least_));
        const bool found = top >= 0;
        expected_nodes.push_back(found ? place(match.node) : 0);
        expected_lengths.push_back(found ? match.length : 0);
        expected_tops.push_back(found ? place(top) : 0);
      }
    }
    check_equal("mummer: lengths", lengths, expected_lengths);
    check_equal("mummer: nodes", nodes, expected_nodes);
    check_equal("mummer: tops", tops_, expected_tops);
  }

 private:
  [[nodiscard]] std::uint32_t starts() const { return letters_ - least_ + 1; }
  /// Numbers the nodes level by level, starting with 1 for the root. Children of a node are then close to
  /// each other in the textures.
  void number_nodes() {
    numbers_.assign(tree_.edges.size(), 0);
    std::vector<std::size_t> open = {0};
    std::uint32_t next = 1;
    for (std::size_t i = 0; i < open.size(); ++i) {
      numbers_[open[i]] = next++;
      for (const std::int32_t child : tree_.children[open[i]])
        if (child != 0) open.push_back(static_cast<std::size_t>(child));
    }
  }
  /// Place of a node in the textures: 12 bits for x, then 12 bits for y. As in MUMmerGPU, blocks of 32 rows.
  [[nodiscard]] std::uint32_t packed(std::int32_t node) const {
    const std::uint32_t number = numbers_[static_cast<std::size_t>(node)];
    const std::uint32_t in_block = number % (kTextureWidth * kTextureBlock);
    const std::uint32_t y =
        number / (kTextureWidth * kTextureBlock) * kTextureBlock + in_block % kTextureBlock;
    return in_block / kTextureBlock | y << 12;
  }
  /// Place of a node as in the kernels, with y above 16 bits.
  [[nodiscard]] std::int32_t place(std::int32_t node) const {
    const std::uint32_t at = packed(node);
    return static_cast<std::int32_t>((at & 0xfff) | (at >> 12) << 16);
  }
  /// Place of a node as three bytes, as in the textures: of x, of y, and the upper four bits of both.
  [[nodiscard]] std::uint32_t bytes_of(std::int32_t node) const {
    const std::uint32_t at = packed(node);
    const std::uint32_t x = at & 0xfff;
    const std::uint32_t y = at >> 12;
    return (x & 0xff) | (y & 0xff) << 8 | (x >> 8) << 16 | (y >> 8) << 20;
  }
  [[nodiscard]] std::pair<std::vector<Texel>, std::vector<Texel>> texels() const {
    const std::size_t blocks = tree_.edges.size() / (std::size_t{kTextureWidth} * kTextureBlock) + 1;
    std::vector<Texel> nodes(blocks * kTextureWidth * kTextureBlock);
    std::vector<Texel> children = nodes;
    for (std::size_t node = 0; node < tree_.edges.size(); ++node) {
      if (numbers_[node] == 0) continue;  // the path to this node ends with the letter behind the reference
      const auto [first, behind, link, parent] = tree_.edges[node];
      const std::uint32_t at = packed(static_cast<std::int32_t>(node));
      const std::size_t index = std::size_t{at >> 12} * kTextureWidth + (at & 0xfff);
      put(nodes[index], 0, node == 0 ? 0 : bytes_of(parent));
      put(nodes[index], 1, node == 0 ? 0 : bytes_of(link));
      put(nodes[index], 2, static_cast<std::uint32_t>(first) + 1);
      put(nodes[index], 3, static_cast<std::uint32_t>(behind));
      put(nodes[index], 4, static_cast<std::uint32_t>(tree_.depths[node]));
      for (std::size_t letter = 0; letter < kLetters; ++letter)
        if (const std::int32_t child = tree_.children[node][letter]; child != 0)
          put(children[index], letter, bytes_of(child));
    }
    return {std::move(nodes), std::move(children)};
  }
  std::uint32_t size_, count_, letters_, least_;
  std::vector<std::uint8_t> reference_, queries_;
  SuffixTree tree_;
  std::vector<std::uint32_t> numbers_;  // of nodes in the textures; 0: not in the textures
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
// Twelve blocks for each of 28 SMs, and the tree of chimera15/MUM, of about 50 MB.
[[maybe_unused]] const bool registered_kayiran14 = register_kernel_app<Mummer, variant::Kayiran14>(
    kMummer.with("kayiran14/mum", "MUMmerGPU for kayiran14", {{"reference", 1'000'000}, {"queries", 86016}}));

}  // namespace
}  // namespace gpumux::benchmarks::mummer
