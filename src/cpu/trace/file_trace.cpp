#include "cpu/trace/file_trace.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace gpumux::cpu {
namespace {

/// Text for error messages: for compressed files, offsets of records count decompressed bytes.
[[nodiscard]] const char* of_what(const std::string& path) {
  return path.ends_with(".xz") || path.ends_with(".gz") || path.ends_with(".zst")
             ? " of the decompressed data"
             : "";
}

}  // namespace

FileTrace::FileTrace(std::string path) : path_(std::move(path)), bytes_(open_bytes(path_)), chunk_(kChunk) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path_, error);
  if (*of_what(path_) == '\0' && !error && size % kRecordBytes != 0) {
    throw UserError({path_}, fmt::format("byte {}: ends within a record; a ChampSim trace has {} bytes each",
                                         size, kRecordBytes));
  }
  first_ = read_chunk();
}

std::span<const Record> FileTrace::next() {
  if (!first_.empty()) return std::exchange(first_, {});
  const std::span<const Record> records = read_chunk();
  if (!records.empty()) return records;
  bytes_ = open_bytes(path_);
  offset_ = 0;
  ++restarts_;
  return read_chunk();
}

std::span<const Record> FileTrace::read_chunk() {
  const std::size_t got = bytes_->read(reinterpret_cast<char*>(chunk_.data()), kChunk * kRecordBytes);
  if (got == 0 && offset_ == 0) throw UserError({path_}, "byte 0: is empty; a ChampSim trace was expected");
  if (got % kRecordBytes != 0) {
    throw UserError({path_},
                    fmt::format("byte {}{}: ends within a record; a ChampSim trace has {} bytes each",
                                offset_ + got, of_what(path_), kRecordBytes));
  }
  const std::span<const Record> records(chunk_.data(), got / kRecordBytes);
  check(records);
  offset_ += got;
  return records;
}

void FileTrace::check(std::span<const Record> records) const {
  for (const Record& record : records) {
    if ((record.is_branch | record.branch_taken) <= 1) continue;
    const auto index = static_cast<std::uint64_t>(&record - records.data());
    throw UserError({path_},
                    fmt::format("byte {}{}: this is no ChampSim record (is_branch {}, branch_taken {}; both "
                                "are 0 or 1)",
                                offset_ + index * kRecordBytes + 8, of_what(path_), record.is_branch,
                                record.branch_taken));
  }
}

std::uint64_t check_trace(const std::string& path) {
  FileTrace trace(path);
  std::uint64_t records = 0;
  while (true) {
    const std::size_t count = trace.next().size();
    if (trace.restarts() > 0) return records;
    records += count;
  }
}

}  // namespace gpumux::cpu
