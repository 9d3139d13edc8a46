// Log of races that were found in the kernels of a run, with one entry per pair of instructions
// (docs/races.md).
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

/// Events that order the lanes of a warp among each other.
enum class RaceMode : std::uint8_t {
  Lockstep,  // also the joint execution of an instruction
  Warp       // only barriers and instructions with a member mask
};

/// One of the two accesses of a race.
struct RaceAccess {
  const char* what = "";  // "read", "write", "atomic"
  std::string place;      // "reduce.cu:12, reduce.ptx:34"
  Dim3 block;
  Dim3 thread;
};

/// The races of one pair of instructions, with the details of the first one in order of execution.
struct Race {
  AppId app = 0;
  std::string app_name;  // prefix of messages: "app NAME", or the module file's stem
  std::string kernel;
  isa::Space space = isa::Space::Global;  // Global or Shared
  RaceAccess first;
  RaceAccess second;
  Address address = 0;      // first byte of the race; Shared: offset in the block's memory
  std::uint32_t bytes = 0;  // number of bytes
  std::string where;        // "16 bytes into the allocation of 64 bytes at 0x..."; Shared: empty
  std::uint64_t read_after_write = 0;
  std::uint64_t write_after_read = 0;
  std::uint64_t write_after_write = 0;  // includes atomics that write
  std::uint64_t same_value = 0;         // writes among write_after_write that stored the present value
  [[nodiscard]] std::uint64_t count() const {
    return read_after_write + write_after_read + write_after_write;
  }
};

class RaceLog {
 public:
  explicit RaceLog(RaceMode mode) : mode_(mode) {}
  [[nodiscard]] RaceMode mode() const { return mode_; }

  /// Identifies a pair: application, module file, kernel, space, and the two places in the PTX, the smaller
  /// first.
  using Key = std::tuple<AppId, std::string, std::string, isa::Space, std::uint64_t, std::uint64_t>;
  /// Index of a pair. If it is new, the caller must fill in `race(index)`.
  struct Entry {
    std::size_t index;
    bool is_new;
  };
  Entry enter(const Key& key);
  /// The entry is valid until the next enter().
  [[nodiscard]] Race& race(std::size_t index) { return races_[index]; }
  void launched() { ++launches_; }

  /// All races, sorted by application, module, kernel and place.
  [[nodiscard]] std::vector<Race> sorted() const;
  /// Number of watched launches.
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

 private:
  RaceMode mode_;
  std::map<Key, std::size_t> index_;
  std::vector<Race> races_;
  std::uint64_t launches_ = 0;
};

/// Text of a race's kinds: "write-after-read, write-after-write (the same value each time)".
[[nodiscard]] std::string kinds_text(const Race& race);
/// A report for users: a line for each of the first `most` pairs, and a summary.
[[nodiscard]] std::string races_text(const RaceLog& log, std::size_t most);

}  // namespace gpumux::emulator
