// Names of files that are being written. A signal that ends the program removes these files.
#pragma once

#include <string>

namespace gpumux {

/// Holds the name of a file that will be renamed when it is complete. The object itself creates and removes
/// nothing. If a signal ends the program while the object exists, the file is removed.
class TemporaryName {
 public:
  explicit TemporaryName(std::string path);
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int slot_;  // -1: no slot was free, so a signal does not remove the file
};

/// From now on SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU and SIGQUIT remove the files named by TemporaryNames
/// and then end the program as usual. Ignored signals stay ignored.
void remove_temporaries_on_signals();
/// remove_temporaries_on_signals() for a single signal.
void remove_temporaries_on(int signal);
/// For a child process: its signals must not remove the files of its parent.
void forget_temporaries();

}  // namespace gpumux
