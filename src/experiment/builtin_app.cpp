#include "base/error.hpp"
#include "base/text.hpp"
#include "embedded/sources.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {
namespace {

/// Hash of the application's folder in benchmarks/: host program, kernels and reference.
std::string_view sources_of(const runtime::AppInfo& info) {
  for (const auto& [folder, hash] : embedded::benchmark_sources) {
    if (info.ptx_file.starts_with(fmt::format("benchmarks/{}/", folder))) return hash;
  }
  throw InternalError(fmt::format("app {}: no sources of {}", info.name, info.ptx_file));
}

}  // namespace

AppSpec builtin_app(std::string_view typed) {
  const auto [text, arrivals] = split_arrivals(typed);
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  const runtime::AppInfo* info = runtime::find_app(name);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const runtime::AppInfo& app : runtime::apps()) known.push_back(app.name);
    throw UserError(unknown_choice("app", name, known) + " (`gpumux list apps` shows all)");
  }
  const runtime::AppParams params =
      runtime::parse_params(*info, colon == std::string::npos ? "" : text.substr(colon + 1));
  AppSpec spec;
  spec.text = std::string(typed);
  spec.name = name;
  spec.identity = fmt::format("{} sources {}", name, sources_of(*info));
  for (const auto& [key, value] : params) spec.identity += fmt::format(",{}={}", key, value);
  spec.use(arrivals);
  spec.create = [info, params](std::uint64_t seed) { return info->create(params, seed); };
  (void)spec.create(1);  // contradictory parameters are an error now
  return spec;
}

}  // namespace gpumux::experiment
