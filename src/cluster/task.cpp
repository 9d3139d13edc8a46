#include "cluster/task.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <unordered_map>

#include "base/error.hpp"
#include "cluster/shared_folder.hpp"
#include "sweep/job.hpp"
#include "sweep/run_hash.hpp"
#include "sweep/worker.hpp"

namespace gpumux::cluster {
namespace {

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Writes the same error for every run without a result.
void fail_all(const SharedFolder& folder, const std::vector<TaskRun>& runs, const std::string& error) {
  constexpr int kUserFault = 2;
  for (const TaskRun& run : runs) {
    if (!folder.has_result(run.name)) folder.put({run.name, false, kUserFault, error});
  }
}

sweep::WorkerOutcome simulate(const sweep::Worker::Work& work) {
  sweep::Worker worker(work);
  while (!worker.read()) {
    pollfd polled{worker.descriptor(), POLLIN, 0};
    (void)::poll(&polled, 1, -1);
  }
  return worker.outcome();
}

}  // namespace

void perform_task(const std::string& file, std::size_t position, const Simulation& simulation) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;  // all runs are done or given up
  const Submission submission = read_submission(file);
  if (position >= submission.tasks.size()) {
    throw UserError({file},
                    fmt::format("has {} tasks; there is no task {}", submission.tasks.size(), position));
  }
  const SharedFolder folder(fs::absolute(file).parent_path().parent_path().string());
  const std::vector<TaskRun>& runs = submission.tasks[position];
  if (submission.program != sweep::program_text()) {
    return fail_all(folder, runs,
                    fmt::format("error: gpumux on {} is {}, and the sweep was submitted by {}: use the same "
                                "program on all nodes",
                                host_name(), sweep::program_text(), submission.program));
  }
  sweep::SweepPlan plan;
  try {
    plan = sweep::expand(sweep::parse_sweep(submission.text, submission.file, submission.scale));
  } catch (const UserError& error) {
    return fail_all(folder, runs, fmt::format("{} (on {})", error.what(), host_name()));
  }
  std::unordered_map<std::string, const sweep::SweepRun*> planned;
  for (const sweep::SweepRun& run : plan.runs) planned.emplace(run_name(run), &run);

  for (const TaskRun& wanted : runs) {
    if (!fs::exists(file, ignored)) return;
    if (folder.has_result(wanted.name)) continue;  // the task was requeued
    const auto found = planned.find(wanted.name);
    if (found == planned.end()) {
      fail_all(folder, {wanted},
               fmt::format(
                   "error: files that the sweep names have changed since it was submitted, or differ on {}: "
                   "run the sweep again",
                   host_name()));
      continue;
    }
    const sweep::SweepRun& run = *found->second;
    const auto work = [&] {
      return simulation ? simulation(run, wanted.isolated) : sweep::perform(run.spec, wanted.isolated);
    };
    sweep::WorkerOutcome outcome = simulate(work);
    // As in a sweep without a cluster: the first kill may be a person's mistake, the second is the run's
    // fault.
    if (outcome.was_killed) outcome = simulate(work);
    try {
      folder.put({wanted.name, outcome.good, outcome.exit_code, std::move(outcome.text)});
    } catch (const UserError&) {
      if (fs::exists(file, ignored)) throw;
      return;  // all runs were done meanwhile
    }
  }
}

}  // namespace gpumux::cluster
