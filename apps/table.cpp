#include "table.hpp"

#include <algorithm>
#include <numeric>

#include "terminal.hpp"

namespace gpumux::cli {
namespace {

constexpr std::size_t kGap = 2;
/// Names are not shortened below this number of columns.
constexpr std::size_t kShortestName = 12;

}  // namespace

std::string Table::part(const std::vector<std::size_t>& width, const std::vector<std::size_t>& shown,
                        bool colour) const {
  std::string out;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::vector<std::string>& row = rows_[r];
    std::string line;
    for (const std::size_t c : shown) {
      const std::string cell = row.empty() ? std::string(width[c], '-') : shortened(row[c], width[c]);
      const std::string space(width[c] - columns(cell), ' ');
      if (!line.empty()) line.append(kGap, ' ');
      line += c < left_ ? cell + space : space + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += styled(line, Style::Bold, colour && r == 0) + "\n";
  }
  return out;
}

std::string Table::text(std::optional<std::size_t> limit, bool colour) const {
  const std::size_t count = rows_.front().size();
  std::vector<std::size_t> width(count, 1);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], columns(row[c]));
  }
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto total = [&](const std::vector<std::size_t>& shown) {
    std::size_t sum = 0;
    for (const std::size_t c : shown) sum += width[c] + kGap;
    return sum - std::min(sum, kGap);
  };
  if (!limit || total(all) <= *limit) return part(width, all, colour);

  while (total(all) > *limit) {
    const auto longest = std::max_element(width.begin(), width.begin() + static_cast<std::ptrdiff_t>(left_));
    if (left_ == 0 || *longest <= kShortestName) break;
    --*longest;
  }
  const std::vector<std::size_t> names(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(left_));
  std::string out;
  std::vector<std::size_t> shown = names;
  for (std::size_t c = left_; c < count; ++c) {
    shown.push_back(c);
    if (total(shown) <= *limit || shown.size() == left_ + 1) continue;
    shown.pop_back();
    out += part(width, shown, colour) + "\n";
    shown = names;
    shown.push_back(c);
  }
  return out + part(width, shown, colour);
}

}  // namespace gpumux::cli
