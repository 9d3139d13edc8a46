#include "arch/placement.hpp"

#include <fmt/core.h>

#include <string_view>

#include "base/error.hpp"

namespace gpumux::arch {
namespace {

constexpr std::uint32_t kMostNodes = 256;      // most nodes in a row, and most rows
constexpr std::uint32_t kMostAtANode = 16;     // most endpoints of a node (noc::Mesh)
constexpr std::string_view kLetters = "GCM.";  // in the order of `who`
constexpr std::size_t kKinds = 3;

std::vector<std::uint16_t> spread(std::uint32_t count, const std::vector<std::uint16_t>& nodes, char letter,
                                  std::string_view key) {
  if (nodes.empty() && count == 0) return {};
  if (nodes.empty() || count % nodes.size() != 0 || count / nodes.size() > kMostAtANode || count == 0) {
    throw UserError(
        fmt::format("noc.nodes has {} of the letter {} for {} = {}; each has the same number, 1 to {}",
                    nodes.size(), letter, key, count, kMostAtANode));
  }
  std::vector<std::uint16_t> at;
  for (const std::uint16_t node : nodes) at.insert(at.end(), count / nodes.size(), node);
  return at;
}

}  // namespace

Placement placement(const MachineConfig& config) {
  Placement result;
  std::vector<std::vector<std::uint16_t>> who(kKinds);
  std::uint32_t column = 0;
  const auto end_row = [&] {
    if (column == 0) return;
    if (result.height > 0 && column != result.width) {
      throw UserError(fmt::format("noc.nodes: row {} has {} letters; the rows before have {}",
                                  result.height + 1, column, result.width));
    }
    result.width = column;
    ++result.height;
    column = 0;
  };
  for (const char letter : config.noc.nodes) {
    if (letter == ' ') {
      end_row();
      continue;
    }
    const std::size_t kind = kLetters.find(letter);
    if (kind == std::string_view::npos) {
      throw UserError(fmt::format(
          "noc.nodes: '{}' is no letter of a node: G SMs, C CPU cores, M memory partitions, . none", letter));
    }
    // Unknown before the end of the first row, but not needed in that row.
    if (kind < kKinds) who[kind].push_back(static_cast<std::uint16_t>(result.height * result.width + column));
    if (++column > kMostNodes || result.height >= kMostNodes)
      throw UserError(fmt::format("noc.nodes: at most {} rows and columns", kMostNodes));
  }
  end_row();
  result.sms = spread(config.sms, who[0], kLetters[0], "sms");
  result.cpus = spread(config.cpus, who[1], kLetters[1], "cpus");
  result.partitions = spread(config.l2.partitions, who[2], kLetters[2], "l2.partitions");
  return result;
}

}  // namespace gpumux::arch
