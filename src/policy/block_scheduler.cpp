#include "policy/block_scheduler.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/mechanism_table.hpp"

namespace gpumux::policy {
namespace {

MechanismTable<BlockSchedulerInfo>& block_scheduler_table() {
  static MechanismTable<BlockSchedulerInfo> schedulers;
  return schedulers;
}

}  // namespace

bool register_block_scheduler(BlockSchedulerInfo info, std::string_view path) {
  return block_scheduler_table().add(std::move(info), path);
}

const std::vector<BlockSchedulerInfo>& block_schedulers() { return block_scheduler_table().all(); }

const BlockSchedulerInfo& block_scheduler(std::string_view text) {
  const std::string name(text.empty() ? kUsualBlockScheduler : text.substr(0, text.find(':')));
  if (const BlockSchedulerInfo* info = block_scheduler_table().find(name)) return *info;
  throw UserError(unknown_choice("block scheduler", name, block_scheduler_table().names()));
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
