// The records of warps: expanded once where warps share them, else a chunk at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/trace_file.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Decodes the runs of a path: consecutive instructions with the same lanes.
class RunReader {
 public:
  RunReader() = default;
  RunReader(const Path& path, const Code& code) : reader_(path.runs), code_(&code), left_(path.records) {}
  [[nodiscard]] std::uint32_t left() const { return left_; }
  /// Writes the next `count` records (at most left()); returns how many of them are memory instructions.
  /// Throws CorruptTrace.
  std::uint32_t read(workload::ExecRecord* out, std::uint32_t count);

 private:
  void next_run();
  ByteReader reader_;
  const Code* code_ = nullptr;
  std::uint32_t left_ = 0;  // records
  std::uint64_t next_ = 0;  // entry of the code
  std::uint32_t run_left_ = 0;
  LaneMask mask_ = kAllLanes;
};

/// A path that warps share.
struct ExpandedPath {
  /// Memory instructions are counted at every multiple of this many records.
  static constexpr std::uint32_t kStep = 64;
  std::vector<workload::ExecRecord> records;
  std::vector<std::uint32_t> memory_before;  // [k]: among the first k * kStep records; the last: all
  std::uint32_t users = 0;                   // warps of resident blocks
};

/// The shared paths of a launch.
class PathStore {
 public:
  PathStore(const LaunchTables& tables, const Code& code)
      : tables_(tables), code_(code), expanded_(tables.paths.size()) {}
  /// Throws CorruptTrace.
  [[nodiscard]] const Path& path(std::uint64_t number) const {
    if (number >= tables_.paths.size()) throw CorruptTrace{"a warp's instructions are missing"};
    return tables_.paths[number];
  }
  /// Null when the path is used once, or is too long to be worth keeping: read it with a RunReader.
  ExpandedPath* acquire(std::uint64_t path);
  static void release(ExpandedPath& path) { --path.users; }

 private:
  void make_room();
  const LaunchTables& tables_;
  const Code& code_;
  std::vector<std::unique_ptr<ExpandedPath>> expanded_;
  std::uint64_t records_ = 0;  // expanded
};

}  // namespace gpumux::trace
