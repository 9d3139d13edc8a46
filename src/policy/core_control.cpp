#include "policy/core_control.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/mechanism_table.hpp"

namespace gpumux::policy {
namespace {

MechanismTable<CoreControlInfo>& core_control_table() {
  static MechanismTable<CoreControlInfo> controls;
  return controls;
}

}  // namespace

bool register_core_control(CoreControlInfo info, std::string_view path) {
  GPUMUX_CHECK(info.name != kAllCores);
  return core_control_table().add(std::move(info), path);
}

const std::vector<CoreControlInfo>& core_controls() { return core_control_table().all(); }

const CoreControlInfo* core_control(std::string_view text) {
  const std::string name(text.substr(0, text.find(':')));
  if (text.empty() || text == kAllCores) return nullptr;
  if (name == kAllCores) throw UserError(fmt::format("cores={}: all takes no argument", text));
  if (const CoreControlInfo* info = core_control_table().find(name)) return info;
  std::vector<std::string> known = core_control_table().names();
  known.insert(known.begin(), std::string(kAllCores));
  throw UserError(unknown_choice("core control", name, known));
}

std::unique_ptr<CoreControl> create_core_control(std::string_view text) {
  const CoreControlInfo* info = core_control(text);
  if (info == nullptr) return nullptr;
  const std::size_t colon = text.find(':');
  const std::string argument(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (info->argument.empty() && colon != std::string_view::npos)
    throw UserError(fmt::format("cores={}: {} takes no argument", text, info->name));
  return info->create(argument);
}

}  // namespace gpumux::policy
