// Starts sweeps as a user does, and reads the databases that the sweeps leave.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "database/sqlite.hpp"

namespace gpumux::test {

/// A sweep of 18 short runs: 6 baselines and 12 pairs.
inline constexpr const char* kSmallSweep = R"(name = "small"
policies = ["leftover", "even"]
apps = ["add", "stream", "pathfinder", "stencil"]
combine = "pairs"
cycles = 2000
set.sms = 2
)";

class SweepTest : public CliTest {
 protected:
  /// Starts the program in its own process, with output to stdout.log and stderr.log in the test's folder.
  [[nodiscard]] pid_t start(const std::vector<std::string>& words) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::chdir(folder_.c_str()) != 0) ::_exit(99);
    ::dup2(::open("stdout.log", O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    ::dup2(::open("stderr.log", O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    std::vector<char*> argv = {const_cast<char*>(GPUMUX_PROGRAM)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(GPUMUX_PROGRAM, argv.data());
    ::_exit(99);
  }
  /// Waits for the process. Returns its exit code, or -1 if a signal ended it.
  static int wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] std::string text(const std::string& db, const std::string& sql) const {
    database::Connection connection(path(db), database::Access::Write);
    database::Statement query = connection.prepare(sql);
    return query.step() ? query.text(0) : "";
  }
  [[nodiscard]] std::int64_t number(const std::string& db, const std::string& sql) const {
    return std::stoll(text(db, sql));
  }
  /// Number of finished runs in the database; 0 if the database does not exist yet.
  [[nodiscard]] std::int64_t done(const std::string& db) const {
    try {
      return number(db, "SELECT count(*) FROM runs WHERE state = 'done'");
    } catch (const std::exception&) {
      return 0;
    }
  }
  /// The database's runs, without times.
  [[nodiscard]] nlohmann::json rows(const std::string& db) const {
    const Outcome o = gpumux({"export", db, "--json"});
    EXPECT_EQ(o.code, 0) << o.err;
    nlohmann::json all = nlohmann::json::parse(o.out)["runs"];
    for (nlohmann::json& run : all) {
      run.erase("finished_at");
      run.erase("wall_seconds");
    }
    return all;
  }
};

}  // namespace gpumux::test
