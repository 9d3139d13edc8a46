// Races that were found in the kernels of a run, one entry per pair of instructions (docs/races.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/types.hpp"
#include "isa/instruction.hpp"

namespace gpumux::emulator {

/// What orders the lanes of a warp among each other.
enum class RaceMode : std::uint8_t {
  Lockstep,  // executing an instruction together does: they go on as one
  Warp       // only barriers, and instructions with a member mask
};

/// One of the two accesses of a race.
struct RaceAccess {
  const char* what = "";  // "read", "write", "atomic"
  std::string place;      // "reduce.cu:12, reduce.ptx:34"
  Dim3 block;
  Dim3 thread;
};

/// The races of one pair of instructions, and the first of them in the order of execution.
struct Race {
  AppId app = 0;
  std::string app_name;  // as messages begin: "app NAME", or the module file's stem
  std::string kernel;
  isa::Space space = isa::Space::Global;  // or Shared
  RaceAccess first;
  RaceAccess second;
  Address address = 0;      // of the bytes in question; Shared: their offset in the block's
  std::uint32_t bytes = 0;  // so many
  std::string where;        // "16 bytes into the allocation of 64 bytes at 0x..."; Shared: empty
  std::uint64_t read_after_write = 0;
  std::uint64_t write_after_read = 0;
  std::uint64_t write_after_write = 0;  // atomics that write count as writes
  std::uint64_t same_value = 0;         // of write_after_write: stores of what was there already
  [[nodiscard]] std::uint64_t count() const {
    return read_after_write + write_after_read + write_after_write;
  }
};

class RaceLog {
 public:
  explicit RaceLog(RaceMode mode) : mode_(mode) {}
  [[nodiscard]] RaceMode mode() const { return mode_; }

  /// What tells pairs apart: application, module file, kernel, space, and the two places in the PTX, the
  /// smaller first.
  using Key = std::tuple<AppId, std::string, std::string, isa::Space, std::uint64_t, std::uint64_t>;
  /// The pair's index, and whether it is new: then `race(index)` is to be filled in.
  struct Entry {
    std::size_t index;
    bool is_new;
  };
  Entry enter(const Key& key);
  /// Valid until the next enter().
  [[nodiscard]] Race& race(std::size_t index) { return races_[index]; }
  void launched() { ++launches_; }

  /// By application, module, kernel and place.
  [[nodiscard]] std::vector<Race> sorted() const;
  /// Launches that were watched.
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

 private:
  RaceMode mode_;
  std::map<Key, std::size_t> index_;
  std::vector<Race> races_;
  std::uint64_t launches_ = 0;
};

/// "write-after-read, write-after-write (the same value each time)".
[[nodiscard]] std::string kinds_text(const Race& race);
/// What was found, for people: a line for each of the first `most` pairs, and one that sums up.
[[nodiscard]] std::string races_text(const RaceLog& log, std::size_t most);

}  // namespace gpumux::emulator
