#include "runtime/application.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::runtime {
namespace {

std::vector<AppInfo>& table() {
  static std::vector<AppInfo> apps;
  return apps;
}

}  // namespace

bool register_app(AppInfo info) {
  std::vector<AppInfo>& apps = table();
  const auto at = std::lower_bound(apps.begin(), apps.end(), info.name,
                                   [](const AppInfo& a, const std::string& name) { return a.name < name; });
  GPUMUX_CHECK(at == apps.end() || at->name != info.name);
  apps.insert(at, std::move(info));
  return true;
}

const std::vector<AppInfo>& apps() { return table(); }

const AppInfo* find_app(const std::string& name) {
  for (const AppInfo& info : table()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

AppParams parse_params(const AppInfo& info, std::string_view settings) {
  AppParams params;
  std::vector<std::string> known;
  for (const AppParamInfo& param : info.params) {
    params[param.name] = param.default_value;
    known.push_back(param.name);
  }
  if (trim(settings).empty()) return params;
  for (const std::string& setting : split(settings, ',')) {
    const std::size_t equals = setting.find('=');
    const std::string key(trim(setting.substr(0, equals)));
    const auto param = std::find_if(info.params.begin(), info.params.end(),
                                    [&](const AppParamInfo& p) { return p.name == key; });
    if (param == info.params.end()) {
      throw UserError(fmt::format("app {}: {}", info.name, unknown_choice("parameter", key, known)));
    }
    const std::string text(equals == std::string::npos ? "" : trim(setting.substr(equals + 1)));
    const std::optional<std::int64_t> value = parse_int(text);
    if (!value || *value < param->minimum || *value > param->maximum) {
      throw UserError(fmt::format("app {}: {}='{}' must be an integer from {} to {}", info.name, key, text,
                                  param->minimum, param->maximum));
    }
    params[key] = *value;
  }
  return params;
}

}  // namespace gpumux::runtime
