// A ChampSim trace in a file, as the instructions of a core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_stream.hpp"
#include "cpu/trace/source.hpp"

namespace gpumux::cpu {

/// Reads a trace of Records, plain or compressed (`open_bytes`), in chunks. Restarts at the end of the trace,
/// as is usual in multi-programmed studies. The memory used does not depend on the trace's length.
class FileTrace final : public TraceSource {
 public:
  /// Reads the first chunk, so that a file that is no trace is rejected here. Throws UserError with the file
  /// and the byte, in one line, for a file that `open_bytes` rejects, an empty file, a file that ends within
  /// a record, and bytes that no record can have.
  explicit FileTrace(std::string path);
  /// Throws the errors of the constructor for the rest of the file.
  std::span<const Record> next() override;
  /// Number of times that the trace has restarted.
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }

 private:
  [[nodiscard]] std::span<const Record> read_chunk();
  void check(std::span<const Record> records) const;
  static constexpr std::size_t kChunk = 1024;  // records: 64 KiB
  std::string path_;
  std::unique_ptr<ByteStream> bytes_;
  std::vector<Record> chunk_;
  std::span<const Record> first_;  // the chunk that the constructor has read and next() has not returned yet
  std::uint64_t offset_ = 0;       // decompressed bytes before the next chunk
  std::uint64_t restarts_ = 0;
};

/// Reads a trace once to its end and returns its number of records. Throws UserError as FileTrace does.
[[nodiscard]] std::uint64_t check_trace(const std::string& path);

}  // namespace gpumux::cpu
