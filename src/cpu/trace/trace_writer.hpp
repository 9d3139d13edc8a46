// Writes trace files that FileTrace reads.
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
  /// Opens a file for writing. A name that ends in .zst is compressed; other kinds of compression cannot be
  /// written. Throws UserError for these kinds, and for a file that cannot be written.
  explicit TraceWriter(std::string path);
  /// Does not complete a file that was not closed. FileTrace rejects such a file if it is compressed.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  /// Appends a record. Throws UserError if the file cannot be written.
  void add(const Record& record) {
    buffer_.push_back(record);
    if (buffer_.size() == kBuffer) flush();
  }
  /// Completes the file. Throws UserError if the file cannot be written.
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
