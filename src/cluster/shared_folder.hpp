// What the submitter and the tasks tell each other: files in a folder that all nodes see. Each appears whole
// under its name; none is ever changed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sweep/expand.hpp"

namespace gpumux::cluster {

/// A run's hash, and what is wanted beside its counters, which the hash leaves out: "HASH.s100.t" is with a
/// series and a timeline.
[[nodiscard]] std::string run_name(const sweep::SweepRun& run);
[[nodiscard]] std::string hash_of(const std::string& run_name);

/// A run that a task is to do.
struct TaskRun {
  std::string name;              // see run_name()
  unsigned attempt = 1;          // how often it has been submitted, this time included
  std::vector<double> isolated;  // as database::Claim::isolated
};

/// What a job array is to do, in submissions/NAME.json. Tasks plan the sweep anew from its text, and find
/// their runs by their names: so what they simulate is what was submitted, or an error.
struct Submission {
  std::string name;     // of the array
  std::string program;  // version and sources of who submits
  std::string file;     // of the sweep, absolute: files that it names are found from there
  std::string text;     // of the sweep
  std::string scale;
  std::vector<std::vector<TaskRun>> tasks;
};

/// A run that ended, in results/NAME.json.
struct TaskResult {
  std::string name;
  bool good = false;
  int exit_code = 0;
  std::string text;  // of sweep::perform(), or the error
};

class SharedFolder {
 public:
  /// Makes it. Throws UserError when it cannot be made, or nothing be written in it.
  static SharedFolder make(const std::string& path);
  /// One that is there.
  explicit SharedFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string submission_path(const std::string& name) const;
  /// Of the task at `position` of an array; sbatch's pattern with "%a" for it.
  [[nodiscard]] std::string log_path(const std::string& name, const std::string& position) const;

  void put(const Submission& submission) const;
  void put(const TaskResult& result) const;
  /// Those that can be read.
  [[nodiscard]] std::vector<Submission> submissions() const;
  /// Names of the runs that have a result.
  [[nodiscard]] std::vector<std::string> results() const;
  [[nodiscard]] bool has_result(const std::string& run) const;
  /// Nothing when there is none, or when it is damaged, and then it is removed.
  [[nodiscard]] std::optional<TaskResult> result(const std::string& run) const;
  /// The last line that a task printed, or nothing.
  [[nodiscard]] std::string last_words(const std::string& name, std::size_t position) const;

  /// With its logs.
  void remove_submission(const Submission& submission) const;
  void remove_result(const std::string& run) const;
  /// Results that are errors: their runs are to be tried again.
  void remove_failures() const;
  /// Makes network file systems look at the folder of results again.
  void refresh() const;
  /// Without submissions, logs and files that were never finished are of no use; the folder goes when it is
  /// empty. No file of anybody else's is removed.
  void remove_if_unused() const;

 private:
  /// 0, or why not (errno).
  [[nodiscard]] int write_whole(const std::string& path, const std::string& bytes) const;
  /// The same; makes the folder again when another process has just found it unused.
  [[nodiscard]] int try_publish(const std::string& path, const std::string& bytes) const;
  void publish(const std::string& path, const std::string& bytes) const;
  [[nodiscard]] std::error_code make_parts() const;
  [[nodiscard]] std::string probe() const;
  [[nodiscard]] std::string result_path(const std::string& run) const;

  std::string path_;
};

/// Throws UserError, with the file's name, when there is none or it is damaged.
[[nodiscard]] Submission read_submission(const std::string& path);

}  // namespace gpumux::cluster
