#include "cluster/slurm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cluster/command.hpp"

namespace gpumux::cluster {
namespace {

using std::chrono::seconds;

/// Shorter than the lease of a claim, because a waiting process sends no heartbeat.
constexpr seconds kLimit{60};

/// The last line, without the name of the command that printed it: "Invalid partition name specified".
std::string last_error(std::string_view printed) {
  std::string_view line = trim(printed);
  line = line.substr(line.rfind('\n') + 1);
  for (const std::string_view prefix : {"sbatch: ", "squeue: ", "error: ", "fatal: ",
                                        "Batch job submission failed: ", "slurm_load_jobs error: "}) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  }
  return std::string(line);
}

bool contains_any(std::string_view text, const auto& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

}  // namespace

std::optional<QueuedTask> parse_queue_line(std::string_view line) {
  const std::vector<std::string> fields = split(trim(line), '|');
  constexpr std::size_t kFields = 5;
  if (fields.size() < kFields) return std::nullopt;
  const std::optional<std::uint64_t> position = parse_uint(fields[1]);
  if (!position) return std::nullopt;
  QueuedTask task{fields[0], *position, TaskState::Running, fields[2], fields[4], fields[3]};
  constexpr std::array<std::string_view, 9> kEnded = {"COMPLETED", "FAILED",    "CANCELLED",
                                                      "TIMEOUT",   "NODE_FAIL", "OUT_OF_MEMORY",
                                                      "PREEMPTED", "BOOT_FAIL", "DEADLINE"};
  if (std::find(kEnded.begin(), kEnded.end(), task.word) != kEnded.end()) {
    task.state = TaskState::Ended;
  } else if (task.word == "PENDING" || task.word.starts_with("REQUEUE")) {
    // If a node cannot start a task, Slurm holds the task until somebody acts. This program acts on it.
    const bool stuck = task.reason.find("requeued held") != std::string::npos ||
                       task.reason.find("requeued_held") != std::string::npos ||
                       task.reason == "DependencyNeverSatisfied" || task.reason == "BadConstraints";
    task.state = stuck ? TaskState::Stuck : TaskState::Waiting;
  }
  return task;
}

Submitted parse_refusal(std::string_view printed) {
  constexpr std::array<std::string_view, 8> kSilence = {
      "Unable to contact", "timed out",          "Connection refused",      "Zero Bytes",
      "connect failure",   "Transport endpoint", "Slurm backup controller", "temporarily u"};
  constexpr std::array<std::string_view, 3> kLater = {"violates accounting/QOS policy", "job submit limit",
                                                      "Too many"};
  Submitted submitted{Submitted::Answer::Refused, last_error(printed)};
  if (contains_any(printed, kSilence)) submitted.answer = Submitted::Answer::Silence;
  if (contains_any(printed, kLater)) submitted.answer = Submitted::Answer::Later;
  return submitted;
}

Slurm::Slurm() {
  for (const char* command : {"sbatch", "squeue", "scancel"}) {
    if (!run_command({command, "--version"}, "", kLimit)) {
      throw UserError(fmt::format("--slurm needs Slurm's commands, and there is no {} on PATH", command));
    }
  }
}

Submitted Slurm::submit(const JobArray& array) const {
  std::vector<std::string> words = {"sbatch", "--parsable", "--job-name=" + array.name};
  std::string range = fmt::format("--array=0-{}", array.tasks - 1);
  if (array.at_a_time > 0) range += fmt::format("%{}", array.at_a_time);
  words.push_back(std::move(range));
  words.push_back("--chdir=" + array.folder);
  words.push_back("--output=" + array.log);
  words.emplace_back("--open-mode=append");  // a requeued task continues its log
  words.emplace_back("--requeue");
  if (!array.partition.empty()) words.push_back("--partition=" + array.partition);
  words.insert(words.end(), array.arguments.begin(), array.arguments.end());
  const std::optional<CommandOutcome> outcome = run_command(words, array.script, kLimit);
  if (!outcome) throw UserError("there is no sbatch on PATH any more");
  if (outcome->too_late) return {Submitted::Answer::Silence, "no answer to sbatch"};
  if (outcome->exit_code == 0) return {};
  constexpr int kSignal = 128;
  constexpr int kSignals = 64;
  if (outcome->exit_code > kSignal && outcome->exit_code <= kSignal + kSignals) {
    return {Submitted::Answer::Silence, "sbatch was killed"};
  }
  return parse_refusal(outcome->err);
}

std::optional<std::vector<QueuedTask>> Slurm::tasks(const std::vector<std::string>& names) {
  std::vector<QueuedTask> tasks;
  silence_.clear();
  std::string list = names.empty() ? "gpumux" : "";  // a name without jobs, only to see whether Slurm answers
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  const std::optional<CommandOutcome> outcome = run_command(
      {"squeue", "--noheader", "--array", "--states=all", "--name=" + list, "--format=%j|%K|%T|%i|%r"}, "",
      kLimit, "SQUEUE_");
  if (!outcome || outcome->too_late || outcome->exit_code != 0) {
    silence_ = !outcome || outcome->too_late ? "no answer to squeue" : last_error(outcome->err);
    return std::nullopt;
  }
  for (const std::string& line : split(outcome->out, '\n')) {
    if (std::optional<QueuedTask> task = parse_queue_line(line)) tasks.push_back(std::move(*task));
  }
  return tasks;
}

void Slurm::cancel(const std::string& name) const {
  (void)run_command({"scancel", "--quiet", "--name=" + name}, "", kLimit);
}

void Slurm::cancel(const QueuedTask& task) const {
  // The name is checked as well, because the id may now belong to another job.
  (void)run_command({"scancel", "--quiet", "--name=" + task.name, task.id}, "", kLimit);
}

std::size_t Slurm::most_tasks() const {
  constexpr std::size_t kUsual = 1000;
  const std::optional<CommandOutcome> outcome = run_command({"scontrol", "show", "config"}, "", kLimit);
  if (!outcome) return kUsual;
  for (const std::string& line : split(outcome->out, '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::optional<std::uint64_t> size =
        parse_uint(trim(std::string_view(line).substr(line.find('=') + 1)));
    // MaxArraySize bounds the positions. 0 forbids arrays, which sbatch then reports.
    return size && *size > 1 ? std::min<std::size_t>(*size, kUsual) : kUsual;
  }
  return kUsual;
}

}  // namespace gpumux::cluster
