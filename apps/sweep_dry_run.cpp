#include "sweep_dry_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "database/damage.hpp"
#include "database/sqlite.hpp"
#include "run_costs.hpp"

namespace gpumux::cli {
namespace {

/// Hashes of the completed runs in the database.
std::set<std::string> finished(const std::string& database) {
  std::set<std::string> hashes;
  std::error_code error;  // an empty file is an empty database for SQLite
  if (!std::filesystem::exists(database) || std::filesystem::file_size(database, error) == 0) return hashes;
  database::guarded(database, [&] {
    database::Connection connection(database, database::Access::Read);
    database::Statement rows = connection.prepare("SELECT hash FROM runs WHERE state = 'done'");
    while (rows.step()) hashes.insert(rows.text(0));
  });
  return hashes;
}

}  // namespace

std::string name_with_scale(const std::string& name, const std::string& scale) {
  return scale.empty() ? name : fmt::format("{} ({})", name, scale);
}

std::string dry_run_text(const std::string& name, const std::vector<const sweep::SweepPlan*>& plans,
                         const std::string& database, unsigned jobs, ProgressMode progress) {
  constexpr double kSecondsOfAll = 30;
  constexpr double kSecondsOfEach = 0.4;
  const std::set<std::string> known = finished(database);
  std::size_t baselines = 0;
  std::size_t done = 0;
  std::set<std::string> apps;
  std::set<std::string> seen;
  std::vector<const sweep::SweepRun*> runs;
  std::size_t duplicates = 0;
  for (const sweep::SweepPlan* plan : plans) {
    duplicates += plan->duplicates;
    for (const sweep::SweepRun& run : plan->runs) {
      if (!seen.insert(run.hash).second) continue;
      runs.push_back(&run);
      if (run.is_baseline) ++baselines;
      if (known.contains(run.hash)) ++done;
      for (const experiment::AppSpec& app : run.spec.apps) apps.insert(run.machine_hash + app.identity);
    }
  }
  const std::size_t all = runs.size();
  std::string text = fmt::format("{}: {} runs, {} of them applications alone", name, all, baselines);
  if (duplicates > 0) text += fmt::format("; {} more were described twice", duplicates);
  text += fmt::format("\n{} has {}; {} to do", database, done, all - done);
  if (done == all) return text + "\n";

  std::size_t unknown = 0;
  std::size_t looked_at = 0;
  ProgressLine line(progress);
  double seconds = 0;  // of the runs to do
  double longest = 0;
  RunCosts costs(std::min(kSecondsOfEach, kSecondsOfAll / static_cast<double>(apps.size() + 1)));
  for (const sweep::SweepRun* run : runs) {
    ++looked_at;
    if (line.due()) line.show(fmt::format("{} of {} runs looked at", looked_at, all));
    if (known.contains(run->hash)) continue;
    const std::optional<double> cost = costs.of(run->spec);
    unknown += cost ? 0 : 1;
    seconds += cost.value_or(0);
    longest = std::max(longest, cost.value_or(0));
  }
  line.clear();
  if (done + unknown < all)
    text += fmt::format(", about {} with {} at a time", duration(std::max(seconds / jobs, longest)), jobs);
  if (unknown > 0)
    text +=
        fmt::format("; the time of {} is not known (CPU programs, applications of unknown length)", unknown);
  return text + "\n";
}

}  // namespace gpumux::cli
