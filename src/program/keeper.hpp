// Messages of a program's keeper (cudart/keeper/) to gpumux over a socket. The keeper is a process between
// gpumux and the program. It starts the program. When gpumux ends or closes the socket, the keeper ends the
// program and all processes that the program has started.
#pragma once

#include <cstdint>

namespace gpumux::program {

/// File name of the keeper, beside the run-time library. Arguments: number of the socket's descriptor, kHeard
/// or kSilent, NAME=VALUE for each variable to add to the keeper's environment, --, path of the program, and
/// the program's arguments from its name on.
inline constexpr const char* kKeeperFile = "gpumux-keeper";
inline constexpr const char* kHeard = "heard";
/// The program has no input, and its output is dropped.
inline constexpr const char* kSilent = "silent";

struct KeeperMessage {
  enum class What : std::int32_t {
    Started,
    CannotStart,  // value: errno; no other message follows
    Ended         // value: the program's status from waitpid(); processes that it started may still run
  };
  What what;
  std::int32_t value;
};

}  // namespace gpumux::program
