// The records of warps: expanded once for warps that share a path, otherwise decoded by chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/trace_file.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Decodes the runs of a path. A run is a sequence of consecutive instructions with the same lanes.
class RunReader {
 public:
  RunReader() = default;
  RunReader(const Path& path, const Code& code) : reader_(path.runs), code_(&code), left_(path.records) {}
  [[nodiscard]] std::uint32_t left() const { return left_; }
  /// Writes the next `count` records (at most left()). Returns the number of memory instructions among them.
  /// Throws CorruptTrace.
  std::uint32_t read(workload::ExecRecord* out, std::uint32_t count);

 private:
  void next_run();
  ByteReader reader_;
  const Code* code_ = nullptr;
  std::uint32_t left_ = 0;  // in records
  std::uint64_t next_ = 0;  // index of an entry of the code
  std::uint32_t run_left_ = 0;
  LaneMask mask_ = kAllLanes;
};

/// The decoded records of a path that warps share.
struct ExpandedPath {
  /// Memory instructions are counted at every multiple of this number of records.
  static constexpr std::uint32_t kStep = 64;
  std::vector<workload::ExecRecord> records;
  std::vector<std::uint32_t> memory_before;  // [k]: number in the first k * kStep records; last: in all
  std::uint32_t users = 0;                   // number of warps of resident blocks that use the path
};

/// The expanded paths of a launch.
class PathStore {
 public:
  PathStore(const LaunchTables& tables, const Code& code)
      : tables_(tables), code_(code), expanded_(tables.paths.size()) {}
  /// The path with this number. Throws CorruptTrace if there is none.
  [[nodiscard]] const Path& path(std::uint64_t number) const {
    if (number >= tables_.paths.size()) throw CorruptTrace{"a warp's instructions are missing"};
    return tables_.paths[number];
  }
  /// The expanded path, or nullptr for a path that is used once or is too long to keep. Such a path is read
  /// with a RunReader.
  ExpandedPath* acquire(std::uint64_t path);
  static void release(ExpandedPath& path) { --path.users; }

 private:
  void make_room();
  const LaunchTables& tables_;
  const Code& code_;
  std::vector<std::unique_ptr<ExpandedPath>> expanded_;
  std::uint64_t records_ = 0;  // number of expanded records
};

}  // namespace gpumux::trace
