#include "experiment/bundle_app.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "bundle/application.hpp"

namespace gpumux::experiment {
namespace {

constexpr double kMostHostTime = 1000;

/// The value of "host_time=1"; 0 for empty settings.
double host_time_of(const std::string& text, std::string_view settings) {
  double host_time = 0;
  if (settings.empty()) return host_time;
  for (const std::string& setting : split(settings, ',')) {
    const std::size_t equals = setting.find('=');
    const std::string key(trim(setting.substr(0, equals)));
    if (key != "host_time")
      throw UserError(
          fmt::format("{}: {}", text, unknown_choice("setting", key, std::vector<std::string>{"host_time"})));
    const std::string value(equals == std::string::npos ? "" : trim(setting.substr(equals + 1)));
    const std::optional<double> number = parse_double(value);
    if (!number || !(*number >= 0 && *number <= kMostHostTime))
      throw UserError(
          fmt::format("{}: host_time='{}' must be a number from 0 to {}", text, value, kMostHostTime));
    host_time = *number;
  }
  return host_time;
}

}  // namespace

std::string bundle_path(std::string_view text) {
  constexpr std::string_view kEnding = ".gmx";
  if (text.ends_with(kEnding)) return std::string(text);
  const std::size_t at = text.rfind(".gmx:");
  return at == std::string_view::npos ? "" : std::string(text.substr(0, at + kEnding.size()));
}

AppSpec bundle_app(const std::string& text, const std::shared_ptr<const bundle::Bundle>& opened,
                   double host_time) {
  AppSpec app;
  app.text = app.name = text;
  app.identity = opened->identity();
  if (host_time > 0) app.identity += fmt::format(" host_time={}", host_time);
  app.create = [opened, host_time](std::uint64_t) {
    return std::make_unique<bundle::BundleApplication>(opened, host_time);
  };
  return app;
}

AppSpec bundle_app(const std::string& text, const std::string& folder, bool verify) {
  const std::string path = bundle_path(text);
  const double host_time =
      host_time_of(text, std::string_view(text).substr(std::min(text.size(), path.size() + 1)));
  const bool here = folder.empty() || path.starts_with('/');
  const auto opened = bundle::Bundle::open(here ? path : (std::filesystem::path(folder) / path).string());
  if (verify && opened->results() == 0) {
    throw UserError({path},
                    "--verify has nothing to check: the recorded program copied nothing back that it "
                    "then waited for");
  }
  return bundle_app(text, opened, host_time);
}

}  // namespace gpumux::experiment
