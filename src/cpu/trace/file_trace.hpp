// A ChampSim trace in a file as a core's instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_stream.hpp"
#include "cpu/trace/source.hpp"

namespace gpumux::cpu {

/// Reads a trace of Records, plain or compressed (`open_bytes`), in chunks; begins anew when it has ended, as
/// multi-programmed studies do. Needs the same memory for any length.
class FileTrace final : public TraceSource {
 public:
  /// Reads the first chunk, so that what is no trace is refused here. Throws UserError, in one line with the
  /// file and the byte: for what `open_bytes` refuses, an empty file, one that ends within a record, and
  /// bytes that no record can have.
  explicit FileTrace(std::string path);
  /// The same errors for what comes later in the file.
  std::span<const Record> next() override;
  /// How often the trace has begun anew.
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }

 private:
  [[nodiscard]] std::span<const Record> read_chunk();
  void check(std::span<const Record> records) const;
  static constexpr std::size_t kChunk = 1024;  // records: 64 KiB
  std::string path_;
  std::unique_ptr<ByteStream> bytes_;
  std::vector<Record> chunk_;
  std::span<const Record> first_;  // read by the constructor, and not given yet
  std::uint64_t offset_ = 0;       // decompressed bytes in front of what is read next
  std::uint64_t restarts_ = 0;
};

/// Reads a trace once to its end: the number of its records. Throws UserError as FileTrace does.
[[nodiscard]] std::uint64_t check_trace(const std::string& path);

}  // namespace gpumux::cpu
