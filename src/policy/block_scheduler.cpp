#include "policy/block_scheduler.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::policy {
namespace {

std::vector<BlockSchedulerInfo>& table() {
  static std::vector<BlockSchedulerInfo> schedulers;
  return schedulers;
}

}  // namespace

bool register_block_scheduler(BlockSchedulerInfo info, std::string_view path) {
  info.file = path.substr(path.rfind('/') + 1);
  std::vector<BlockSchedulerInfo>& all = table();
  const auto at =
      std::lower_bound(all.begin(), all.end(), info.name,
                       [](const BlockSchedulerInfo& a, const std::string& name) { return a.name < name; });
  GPUMUX_CHECK(at == all.end() || at->name != info.name);
  all.insert(at, std::move(info));
  return true;
}

const std::vector<BlockSchedulerInfo>& block_schedulers() { return table(); }

const BlockSchedulerInfo& block_scheduler(std::string_view text) {
  const std::string name(text.empty() ? kUsualBlockScheduler : text.substr(0, text.find(':')));
  std::vector<std::string> known;
  for (const BlockSchedulerInfo& info : table()) {
    if (info.name == name) return info;
    known.push_back(info.name);
  }
  throw UserError(unknown_choice("block scheduler", name, known));
}

std::unique_ptr<BlockScheduler> create_block_scheduler(std::string_view text) {
  const BlockSchedulerInfo& info = block_scheduler(text);
  const std::size_t colon = text.find(':');
  const std::string argument(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (info.argument.empty() && colon != std::string_view::npos)
    throw UserError(fmt::format("blocks={}: {} takes no argument", text, info.name));
  return info.create(argument);
}

}  // namespace gpumux::policy
