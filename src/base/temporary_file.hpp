// Names of files that are being written: removed when a signal ends the program.
#pragma once

#include <string>

namespace gpumux {

/// Holds the name of a file that is about to appear under another one. Nothing is made or removed by it
/// alone, but when a signal ends the program while it lives, the file is removed.
class TemporaryName {
 public:
  explicit TemporaryName(std::string path);
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int slot_;  // -1: all are taken, and it is not removed
};

/// From now on SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU and SIGQUIT remove what TemporaryNames name, and end
/// the program as they do. Signals that are ignored stay so.
void remove_temporaries_on_signals();
/// For one signal.
void remove_temporaries_on(int signal);
/// In a child process: what its parent writes is none of its business.
void forget_temporaries();

}  // namespace gpumux
