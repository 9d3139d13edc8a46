#include "policy/concurrency_control.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/mechanism_table.hpp"

namespace gpumux::policy {
namespace {

MechanismTable<ConcurrencyControlInfo>& concurrency_control_table() {
  static MechanismTable<ConcurrencyControlInfo> controls;
  return controls;
}

}  // namespace

bool register_concurrency_control(ConcurrencyControlInfo info, std::string_view path) {
  GPUMUX_CHECK(info.name != kNoConcurrencyControl);
  return concurrency_control_table().add(std::move(info), path);
}

const std::vector<ConcurrencyControlInfo>& concurrency_controls() {
  return concurrency_control_table().all();
}

const ConcurrencyControlInfo* concurrency_control(std::string_view text) {
  const std::string name(text.substr(0, text.find(':')));
  if (text.empty() || text == kNoConcurrencyControl) return nullptr;
  if (name == kNoConcurrencyControl)
    throw UserError(fmt::format("concurrency={}: none takes no argument", text));
  if (const ConcurrencyControlInfo* info = concurrency_control_table().find(name)) return info;
  std::vector<std::string> known = concurrency_control_table().names();
  known.emplace_back(kNoConcurrencyControl);
  throw UserError(unknown_choice("concurrency control", name, known));
}

std::unique_ptr<ConcurrencyControl> create_concurrency_control(std::string_view text) {
  const ConcurrencyControlInfo* info = concurrency_control(text);
  if (info == nullptr) return nullptr;
  const std::size_t colon = text.find(':');
  return info->create(std::string(colon == std::string_view::npos ? "" : text.substr(colon + 1)));
}

}  // namespace gpumux::policy
