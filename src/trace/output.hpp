// Destination of the compact form: memory, or a file that appears when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/growing_file.hpp"
#include "trace/format.hpp"

namespace gpumux::trace {

class Output {
 public:
  virtual ~Output() = default;
  /// Appends bytes after the header.
  void append(std::string_view bytes) {
    checksum_.add(bytes);
    size_ += bytes.size();
    write(bytes);
  }
  /// Offset in the file of the next byte to append.
  [[nodiscard]] std::uint64_t position() const { return kHeaderBytes + size_; }
  /// Completes the output by writing the header.
  void finish(std::uint64_t index_offset);

 private:
  virtual void write(std::string_view bytes) = 0;
  virtual void close(std::string_view header) = 0;
  Checksum checksum_;
  std::uint64_t size_ = 0;
};

class MemoryOutput final : public Output {
 public:
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  void write(std::string_view bytes) override { bytes_ += bytes; }
  void close(std::string_view header) override { bytes_.replace(0, header.size(), header); }
  std::string bytes_ = std::string(kHeaderBytes, '\0');
};

/// Output to a file. Throws UserError that names the path when the file cannot be written. Leaves no
/// temporary file behind.
class FileOutput final : public Output {
 public:
  explicit FileOutput(std::string path);

 private:
  void write(std::string_view bytes) override { file_.write(bytes); }
  void close(std::string_view header) override { file_.complete(header); }
  GrowingFile file_;
};

}  // namespace gpumux::trace
