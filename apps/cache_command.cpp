// gpumux cache [--limit SIZE | --clear]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "experiment/cache.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kCacheHelp = R"(
Runs of applications alone, which normalized IPC and profiles need, are kept in $GPUMUX_CACHE, else
$XDG_CACHE_HOME/gpumux, else ~/.cache/gpumux, by the content of all that determines them: an entry is never stale, and
what is removed is simulated again when it is needed.)";

std::string size_text(std::uint64_t bytes) {
  constexpr double kKilo = 1024;
  const auto size = static_cast<double>(bytes);
  if (size < kKilo) return fmt::format("{} bytes", bytes);
  return size < kKilo * kKilo ? fmt::format("{:.1f} KB", size / kKilo)
                              : fmt::format("{:.1f} MB", size / kKilo / kKilo);
}

}  // namespace

int cache_command(const Arguments& args) {
  CLI::App app("Shows what is kept of runs of applications alone, and limits or clears it.", "gpumux cache");
  app.footer(kCacheHelp);
  std::string limit;
  bool clear = false;
  bool json = false;
  CLI::Option* limit_option =
      app.add_option("--limit", limit,
                     "remove what was not used for longest until the rest takes at most this: 100M, 2G")
          ->type_name("SIZE");
  app.add_flag("--clear", clear, "remove all of it")->excludes(limit_option);
  app.add_flag("--json", json, "as a JSON document");
  if (!parse(app, args)) return 0;
  const std::string folder = experiment::default_cache_folder();
  if (folder.empty()) throw UserError("there is no place for a cache: set GPUMUX_CACHE or HOME to a folder");
  std::optional<std::uint64_t> bytes;
  if (clear) bytes = 0;
  if (*limit_option) {
    bytes = parse_bytes(limit);
    if (!bytes) throw UserError(fmt::format("--limit '{}' must be a size, such as 100M or 2G", limit));
  }
  experiment::CacheUse removed;
  if (bytes) removed = experiment::limit_cache(folder, *bytes);

  const std::vector<experiment::CacheUse> use = experiment::cache_use(folder);
  if (json) {
    nlohmann::ordered_json document = {
        {"schema", "gpumux.cache/1"}, {"folder", folder}, {"removed", removed.entries}};
    for (const experiment::CacheUse& kind : use)
      document[kind.kind] = {{"entries", kind.entries}, {"bytes", kind.bytes}};
    fmt::print("{}\n", dump_json(document, 2));
    return 0;
  }
  if (bytes) fmt::print("removed {} entries, {}\n", removed.entries, size_text(removed.bytes));
  fmt::print("{}\n", folder);
  for (const experiment::CacheUse& kind : use)
    fmt::print("  {:<9} {:>7} entries  {}\n", kind.kind, kind.entries, size_text(kind.bytes));
  return 0;
}

}  // namespace gpumux::cli
