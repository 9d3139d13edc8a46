// Messages between the submitter and its tasks: files in a folder that all nodes see. Each file appears whole
// under its name, and is never changed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sweep/expand.hpp"

namespace gpumux::cluster {

/// The name of a run in the folder: its hash, and the outputs beside counters, which the hash leaves out.
/// "HASH.s100.t": with a series (interval 100) and a timeline.
[[nodiscard]] std::string run_name(const sweep::SweepRun& run);
[[nodiscard]] std::string hash_of(const std::string& run_name);

/// A run that a task has to do.
struct TaskRun {
  std::string name;              // see run_name()
  unsigned attempt = 1;          // number of this submission of the run, from 1
  std::vector<double> isolated;  // as in database::Claim
};

/// The work of a job array, in submissions/NAME.json. Tasks expand the sweep again from its text, and find
/// their runs by name. Thus they simulate exactly what was submitted, or report an error.
struct Submission {
  std::string name;     // of the array
  std::string program;  // version and sources of the submitter
  std::string file;     // path of the sweep file, absolute; files that it names are relative to it
  std::string text;     // of the sweep
  std::string scale;
  std::vector<std::vector<TaskRun>> tasks;
};

/// The result of a run, in results/NAME.json.
struct TaskResult {
  std::string name;
  bool good = false;
  int exit_code = 0;
  std::string text;  // result of sweep::perform(), or the error
};

class SharedFolder {
 public:
  /// Creates the folder. Throws UserError if it cannot be created, or cannot be written to.
  static SharedFolder make(const std::string& path);
  /// Opens an existing folder.
  explicit SharedFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string submission_path(const std::string& name) const;
  /// Log of the task at `position` of an array. With "%a" as position: the pattern for sbatch.
  [[nodiscard]] std::string log_path(const std::string& name, const std::string& position) const;

  void put(const Submission& submission) const;
  void put(const TaskResult& result) const;
  /// All submissions that can be read.
  [[nodiscard]] std::vector<Submission> submissions() const;
  /// Names of the runs with a result.
  [[nodiscard]] std::vector<std::string> results() const;
  [[nodiscard]] bool has_result(const std::string& run) const;
  /// The result of a run; nothing if there is none. A damaged result is removed, and counts as none.
  [[nodiscard]] std::optional<TaskResult> result(const std::string& run) const;
  /// The last line that a task printed; empty if there is none.
  [[nodiscard]] std::string last_words(const std::string& name, std::size_t position) const;

  /// Removes a submission with its logs.
  void remove_submission(const Submission& submission) const;
  void remove_result(const std::string& run) const;
  /// Removes results that are errors, so that their runs are tried again.
  void remove_failures() const;
  /// Makes network file systems read the folder of results again.
  void refresh() const;
  /// If there are no submissions, removes logs and unfinished files, and the folder if it is then empty.
  /// Files of others stay.
  void remove_if_unused() const;

 private:
  /// Writes a file. Returns 0, or the errno of the failure.
  [[nodiscard]] int write_whole(const std::string& path, const std::string& bytes) const;
  /// Writes a file, and creates the folder again if another process has just removed it as unused. Returns 0
  /// or errno.
  [[nodiscard]] int try_publish(const std::string& path, const std::string& bytes) const;
  void publish(const std::string& path, const std::string& bytes) const;
  [[nodiscard]] std::error_code make_parts() const;
  [[nodiscard]] std::string probe() const;
  [[nodiscard]] std::string result_path(const std::string& run) const;

  std::string path_;
};

/// Reads a submission. Throws UserError, with the file's name, if the file is missing or damaged.
[[nodiscard]] Submission read_submission(const std::string& path);

}  // namespace gpumux::cluster
