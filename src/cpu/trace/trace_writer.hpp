// Writes the files that FileTrace reads.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cpu/trace/record.hpp"

namespace gpumux::cpu {

class TraceWriter {
 public:
  /// A name that ends in .zst is compressed; other compressed kinds cannot be written. Throws UserError for
  /// these, and for a file that cannot be written.
  explicit TraceWriter(std::string path);
  /// Leaves a file that was not closed as it is: without its end, it is refused if it is compressed.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  /// Throws UserError when the file cannot be written.
  void add(const Record& record) {
    buffer_.push_back(record);
    if (buffer_.size() == kBuffer) flush();
  }
  /// Ends the file. Throws UserError when it cannot be written.
  void close();
  [[nodiscard]] std::uint64_t records() const { return flushed_ + buffer_.size(); }

 private:
  struct Compressor;
  static constexpr std::size_t kBuffer = 4096;  // records: 256 KiB
  void flush();
  void write(const char* bytes, std::size_t size);
  std::string path_;
  std::vector<Record> buffer_;
  std::uint64_t flushed_ = 0;
  std::FILE* file_ = nullptr;
  std::unique_ptr<Compressor> compressor_;
};

}  // namespace gpumux::cpu
