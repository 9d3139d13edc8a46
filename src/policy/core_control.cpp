#include "policy/core_control.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::policy {
namespace {

std::vector<CoreControlInfo>& table() {
  static std::vector<CoreControlInfo> controls;
  return controls;
}

}  // namespace

bool register_core_control(CoreControlInfo info, std::string_view path) {
  info.file = path.substr(path.rfind('/') + 1);
  std::vector<CoreControlInfo>& all = table();
  const auto at =
      std::lower_bound(all.begin(), all.end(), info.name,
                       [](const CoreControlInfo& a, const std::string& name) { return a.name < name; });
  GPUMUX_CHECK(info.name != kAllCores && (at == all.end() || at->name != info.name));
  all.insert(at, std::move(info));
  return true;
}

const std::vector<CoreControlInfo>& core_controls() { return table(); }

const CoreControlInfo* core_control(std::string_view text) {
  const std::string name(text.substr(0, text.find(':')));
  if (text.empty() || text == kAllCores) return nullptr;
  if (name == kAllCores) throw UserError(fmt::format("cores={}: all takes no argument", text));
  std::vector<std::string> known{std::string(kAllCores)};
  for (const CoreControlInfo& info : table()) {
    if (info.name == name) return &info;
    known.push_back(info.name);
  }
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
