#include "sweep_dry_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "database/damage.hpp"
#include "database/sqlite.hpp"
#include "terminal.hpp"
#include "usual_runs.hpp"

namespace gpumux::cli {
namespace {

/// Seconds of the runs that the database has finished, by hash.
std::map<std::string, double> finished(const std::string& database) {
  std::map<std::string, double> seconds;
  std::error_code error;  // a new file, which SQLite takes for an empty database, has nothing either
  if (!std::filesystem::exists(database) || std::filesystem::file_size(database, error) == 0) return seconds;
  database::guarded(database, [&] {
    database::Connection connection(database, database::Access::Read);
    database::Statement rows = connection.prepare("SELECT hash, wall_seconds FROM runs WHERE state = 'done'");
    while (rows.step()) seconds[rows.text(0)] = rows.optional_real(1).value_or(0);
  });
  return seconds;
}

/// From the applications' runs alone: the slowest to simulate sets the pace of the cycles that they share.
/// Nothing when none is known.
std::optional<double> usual_seconds(const experiment::RunSpec& spec) {
  std::optional<double> most;
  if (!spec.cpus.empty()) return most;  // they may take as long
  for (const experiment::AppSpec& app : spec.apps) {
    const std::optional<UsualRun> usual = usual_run(app.name);
    if (!usual || usual->cycles == 0) continue;
    const double cycles = static_cast<double>(spec.cycles == 0 ? usual->cycles : spec.cycles);
    most = std::max(most.value_or(0), usual->seconds * cycles / static_cast<double>(usual->cycles));
  }
  return most;
}

}  // namespace

std::string dry_run_text(const sweep::SweepPlan& plan, const std::string& database, unsigned jobs) {
  const std::map<std::string, double> known = finished(database);
  std::size_t baselines = 0;
  std::size_t done = 0;
  std::size_t unknown = 0;
  double seconds = 0;  // of those to do
  double longest = 0;
  double measured = 0;  // of those done, and what was to be expected of them
  double expected = 0;
  for (const sweep::SweepRun& run : plan.runs) {
    if (run.is_baseline) ++baselines;
    const std::optional<double> usual = usual_seconds(run.spec);
    if (const auto found = known.find(run.hash); found != known.end()) {
      ++done;
      measured += usual ? found->second : 0;
      expected += usual.value_or(0);
    } else if (usual) {
      seconds += *usual;
      longest = std::max(longest, *usual);
    } else {
      ++unknown;
    }
  }
  const std::size_t all = plan.runs.size();
  std::string text =
      fmt::format("{}{}: {} runs, {} of them applications alone", plan.file.name,
                  plan.file.scale.empty() ? "" : fmt::format(" ({})", plan.file.scale), all, baselines);
  if (plan.duplicates > 0) text += fmt::format("; {} more were described twice", plan.duplicates);
  text += fmt::format("\n{} has {}; {} to do", database, done, all - done);
  // What this computer took for those that it has done says how fast it is.
  const double pace = expected > 0 ? measured / expected : 1;
  if (done + unknown < all)
    text +=
        fmt::format(", about {} with {} at a time", duration(std::max(seconds / jobs, longest) * pace), jobs);
  if (unknown > 0)
    text += fmt::format("; the time of {} is not known (traces, kernels of files, CPU programs)", unknown);
  return text + "\n";
}

}  // namespace gpumux::cli
