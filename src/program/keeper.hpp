// What a program's keeper (cudart/keeper/) tells gpumux over its socket. The keeper is a process between
// both: it starts the program and, when gpumux has ended or closed the socket, ends all that the program has
// started.
#pragma once

#include <cstdint>

namespace gpumux::program {

/// Its file, beside the run-time library. Arguments: the number of the socket's descriptor, kHeard or
/// kSilent, NAME=VALUE for each variable that the program's environment has besides the keeper's, --, the
/// program's path, and its arguments from its name on.
inline constexpr const char* kKeeperFile = "gpumux-keeper";
inline constexpr const char* kHeard = "heard";
/// The program reads nothing, and what it prints is dropped.
inline constexpr const char* kSilent = "silent";

struct KeeperMessage {
  enum class What : std::int32_t {
    Started,
    CannotStart,  // value: errno; nothing follows
    Ended         // value: the program's status as waitpid() gives it; what it started may live
  };
  What what;
  std::int32_t value;
};

}  // namespace gpumux::program
