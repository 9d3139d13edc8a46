#include "cluster/shared_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace gpumux::cluster {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kSubmissions = "submissions";
constexpr const char* kResults = "results";
constexpr const char* kLogs = "logs";
constexpr const char* kPartial = "partial";
constexpr const char* kSubmissionSchema = "gpumux.tasks/2";
constexpr const char* kResultSchema = "gpumux.task-result/2";
constexpr std::string_view kEnd = ".json";

/// Names of the files in a folder, without ending. Unfinished files, and files of others, are left out.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kEnd)) names.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void remove(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

/// Removes the files in a folder whose names are ours, and the folder if it is then empty.
void remove_ours(const std::string& folder, bool (*is_ours)(std::string_view)) {
  std::error_code ignored;
  std::vector<std::string> ours;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (is_ours(name)) ours.push_back(entry->path().string());
  }
  for (const std::string& path : ours) {
    if (fs::symlink_status(path, ignored).type() == fs::file_type::regular) remove(path);
  }
  remove(folder);
}

bool is_log(std::string_view name) { return name.starts_with("gpumux-") && name.ends_with(".log"); }
bool is_partial(std::string_view name) {
  return name.starts_with("probe.") || name.find(".json.") != std::string_view::npos;
}

}  // namespace

std::string run_name(const sweep::SweepRun& run) {
  std::string name = run.hash;
  if (run.spec.series > 0) name += fmt::format(".s{}", run.spec.series);
  if (run.spec.timeline) name += ".t";
  return name;
}

std::string hash_of(const std::string& run_name) { return run_name.substr(0, run_name.find('.')); }

SharedFolder SharedFolder::make(const std::string& path) {
  SharedFolder folder(fs::absolute(path).lexically_normal().string());
  if (const std::error_code error = folder.make_parts()) {
    throw UserError({path}, fmt::format("the shared folder cannot be made ({})", error.message()));
  }
  if (const int reason = folder.try_publish(folder.probe(), ""); reason != 0) {
    throw UserError({path},
                    fmt::format("nothing can be written in the shared folder ({})", std::strerror(reason)));
  }
  remove(folder.probe());
  return folder;
}

std::error_code SharedFolder::make_parts() const {
  std::error_code error;
  for (const char* part : {kSubmissions, kResults, kLogs, kPartial}) {
    fs::create_directories(fs::path(path_) / part, error);
    if (error) break;
  }
  return error;
}

std::string SharedFolder::submission_path(const std::string& name) const {
  return fmt::format("{}/{}/{}{}", path_, kSubmissions, name, kEnd);
}

std::string SharedFolder::log_path(const std::string& name, const std::string& position) const {
  return fmt::format("{}/{}/{}_{}.log", path_, kLogs, name, position);
}

/// Writes to a temporary name that no other process of any node uses, flushes to disk, then renames.
int SharedFolder::write_whole(const std::string& path, const std::string& bytes) const {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  const std::string temporary = fmt::format("{}/{}/{}.{}.{}", path_, kPartial,
                                            fs::path(path).filename().string(), host.data(), ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = file >= 0;
  std::size_t at = 0;
  while (good && at < bytes.size()) {
    const ssize_t written = ::write(file, bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) at += static_cast<std::size_t>(written);
  }
  good = good && ::fsync(file) == 0;
  int reason = errno;
  // Network file systems may report only here that the disk is full.
  if (file >= 0 && ::close(file) != 0 && good) {
    good = false;
    reason = errno;
  }
  if (good && std::rename(temporary.c_str(), path.c_str()) == 0) return 0;
  if (good) reason = errno;
  remove(temporary);
  return reason;
}

int SharedFolder::try_publish(const std::string& path, const std::string& bytes) const {
  constexpr int kTries = 10;  // the other process needs a moment
  int reason = write_whole(path, bytes);
  for (int i = 1; i < kTries && reason == ENOENT; ++i) {
    if (make_parts()) break;
    reason = write_whole(path, bytes);
  }
  return reason;
}

void SharedFolder::publish(const std::string& path, const std::string& bytes) const {
  const int reason = try_publish(path, bytes);
  if (reason != 0) throw UserError({path}, fmt::format("cannot be written ({})", std::strerror(reason)));
}

void SharedFolder::put(const Submission& submission) const {
  ordered_json tasks = ordered_json::array();
  for (const std::vector<TaskRun>& task : submission.tasks) {
    ordered_json runs = ordered_json::array();
    for (const TaskRun& run : task) {
      runs.push_back({{"run", run.name}, {"attempt", run.attempt}, {"isolated", run.isolated}});
    }
    tasks.push_back(std::move(runs));
  }
  publish(submission_path(submission.name), dump_json({{"schema", kSubmissionSchema},
                                                       {"name", submission.name},
                                                       {"program", submission.program},
                                                       {"file", submission.file},
                                                       {"scale", submission.scale},
                                                       {"text", submission.text},
                                                       {"tasks", std::move(tasks)}}));
  (void)make_parts();  // with a submission in it, no process removes them
}

Submission read_submission(const std::string& path) {
  const std::string text = read_file(path);
  try {
    const ordered_json document = ordered_json::parse(text);
    Submission submission;
    if (document.at("schema") != kSubmissionSchema) {
      throw UserError({path}, fmt::format("is no {}: it is another version's", kSubmissionSchema));
    }
    submission.name = document.at("name").get<std::string>();
    submission.program = document.at("program").get<std::string>();
    submission.file = document.at("file").get<std::string>();
    submission.scale = document.at("scale").get<std::string>();
    submission.text = document.at("text").get<std::string>();
    for (const ordered_json& task : document.at("tasks")) {
      std::vector<TaskRun>& runs = submission.tasks.emplace_back();
      for (const ordered_json& run : task) {
        runs.push_back({run.at("run").get<std::string>(), run.at("attempt").get<unsigned>(),
                        run.at("isolated").get<std::vector<double>>()});
      }
    }
    return submission;
  } catch (const nlohmann::json::exception& error) {
    throw UserError({path}, fmt::format("is damaged ({})", error.what()));
  }
}

std::vector<Submission> SharedFolder::submissions() const {
  std::vector<Submission> submissions;
  for (const std::string& name : names_in(fmt::format("{}/{}", path_, kSubmissions))) {
    try {
      submissions.push_back(read_submission(submission_path(name)));
    } catch (const UserError&) {  // removed by another submitter, or of another version: not ours to follow
    }
  }
  return submissions;
}

void SharedFolder::put(const TaskResult& result) const {
  const std::string path = result_path(result.name);
  const std::string bytes = dump_json({{"schema", kResultSchema},
                                       {"run", result.name},
                                       {"good", result.good},
                                       {"exit_code", result.exit_code},
                                       {"text", result.text}});
  // Does not create the folder: whoever removed it does not want results.
  if (const int reason = write_whole(path, bytes); reason != 0) {
    throw UserError({path}, fmt::format("cannot be written ({})", std::strerror(reason)));
  }
}

std::string SharedFolder::result_path(const std::string& run) const {
  return fmt::format("{}/{}/{}{}", path_, kResults, run, kEnd);
}

std::vector<std::string> SharedFolder::results() const {
  std::vector<std::string> names = names_in(fmt::format("{}/{}", path_, kResults));
  std::erase_if(names, [](const std::string& name) {  // names of others
    const std::string hash = hash_of(name);
    return hash.empty() || hash.find_first_not_of("0123456789abcdef") != std::string::npos;
  });
  return names;
}

bool SharedFolder::has_result(const std::string& run) const {
  std::error_code ignored;
  return fs::exists(result_path(run), ignored);
}

std::optional<TaskResult> SharedFolder::result(const std::string& run) const {
  const std::string path = result_path(run);
  std::string bytes;
  try {
    bytes = read_file(path);
  } catch (const UserError&) {
    return std::nullopt;
  }
  try {
    const ordered_json document = ordered_json::parse(bytes);
    TaskResult result;
    result.name = document.at("run").get<std::string>();
    result.good = document.at("good").get<bool>();
    result.exit_code = document.at("exit_code").get<int>();
    result.text = document.at("text").get<std::string>();
    const bool sound = document.at("schema") == kResultSchema && result.name == run &&
                       (result.good ? result.exit_code == 0 : result.exit_code >= 1 && result.exit_code <= 3);
    if (sound) return result;
  } catch (const nlohmann::json::exception&) {
  }
  remove(path);
  return std::nullopt;
}

std::string SharedFolder::last_words(const std::string& name, std::size_t position) const {
  constexpr std::size_t kMost = 300;
  std::string text;
  try {
    text = read_file(log_path(name, std::to_string(position)));
  } catch (const UserError&) {
    return "";
  }
  std::string_view line = trim(text);
  line = line.substr(line.rfind('\n') + 1);
  return std::string(line.substr(0, kMost));
}

void SharedFolder::remove_submission(const Submission& submission) const {
  remove(submission_path(submission.name));
  for (std::size_t i = 0; i < submission.tasks.size(); ++i)
    remove(log_path(submission.name, std::to_string(i)));
}

void SharedFolder::remove_result(const std::string& run) const { remove(result_path(run)); }

void SharedFolder::remove_failures() const {
  for (const std::string& run : results()) {
    const std::optional<TaskResult> kept = result(run);
    if (kept && !kept->good) remove_result(run);
  }
}

void SharedFolder::refresh() const {
  publish(probe(), "");
  remove(probe());
}

std::string SharedFolder::probe() const { return fmt::format("{}/{}/probe.{}", path_, kResults, ::getpid()); }

void SharedFolder::remove_if_unused() const {
  // A folder with files stays. Without the folder of submissions, none can be added meanwhile.
  std::error_code error;
  const bool removed = fs::remove(fmt::format("{}/{}", path_, kSubmissions), error);
  if (!removed && error) return;
  remove_ours(fmt::format("{}/{}", path_, kLogs), is_log);
  remove_ours(fmt::format("{}/{}", path_, kPartial), is_partial);
  remove(fmt::format("{}/{}", path_, kResults));
  remove(path_);
}

}  // namespace gpumux::cluster
