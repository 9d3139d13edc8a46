// Opening, checking and reading of bundles. Bundles come from strangers, so they are checked before use: a
// bundle that opens can be read to its end, and memory is bounded by checked sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/coding.hpp"
#include "bundle/records.hpp"
#include "workload/address_space.hpp"

namespace gpumux::bundle {

/// An opened bundle. Immutable, and shared by all applications that replay it.
class Bundle {
 public:
  /// Opens a file. Throws UserError with the byte position of the first error.
  [[nodiscard]] static std::shared_ptr<const Bundle> open(const std::string& path);
  /// Opens a bundle in memory. `name` is for messages. Throws UserError.
  [[nodiscard]] static std::shared_ptr<const Bundle> from_bytes(std::string bytes, std::string name);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// A digest of the file, which identifies the bundle in results.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  /// The address range of the recorded program and the end of its allocations.
  [[nodiscard]] const workload::AddressSpace& addresses() const { return addresses_; }
  [[nodiscard]] std::uint64_t records() const { return record_count_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  /// Number of copies from the device whose result is recorded.
  [[nodiscard]] std::uint64_t results() const { return results_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return bytes_.size(); }

  /// The bytes of a content that a record refers to.
  [[nodiscard]] std::string content(const Content& content) const;

 private:
  friend class Reader;
  struct Chunk {
    std::uint64_t offset = 0;  // position in the file
    std::uint64_t stored = 0;  // bytes in the file
    std::uint32_t raw = 0;     // unpacked bytes
    bool packed = false;
  };
  explicit Bundle(std::string name) : name_(std::move(name)) {}
  void read();
  void read_index(std::string_view index, std::uint64_t offset);
  void check_records();
  void unpack(const Chunk& chunk, char* to) const;
  [[noreturn]] void fail(std::uint64_t byte, const std::string& what) const;

  std::string name_;
  std::string storage_;      // used by from_bytes()
  void* mapping_ = nullptr;  // used by open()
  std::string_view bytes_;
  std::string identity_;
  workload::AddressSpace addresses_;
  std::uint64_t record_count_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t results_ = 0;
  std::vector<Chunk> pieces_;
  std::vector<Chunk> record_chunks_;
};

/// Reads the records of a bundle in order. Not thread safe.
class Reader {
 public:
  explicit Reader(std::shared_ptr<const Bundle> bundle)
      : bundle_(std::move(bundle)), coding_{bundle_->addresses_.base, 0} {}
  /// Reads the next record. Returns false at the end.
  bool next(Record& record);

 private:
  friend class Bundle;
  /// A reader for Bundle::open(), before the bundle is shared.
  explicit Reader(const Bundle& bundle)
      : bundle_(std::shared_ptr<const Bundle>(), &bundle), coding_{bundle.addresses_.base, 0} {}
  /// Throws UserError for the record that was read last.
  [[noreturn]] void fail(const Corrupt& corrupt) const;
  std::shared_ptr<const Bundle> bundle_;
  CodingState coding_;
  std::size_t chunk_ = 0;  // index of the next chunk
  std::string unpacked_;
  Bytes left_{std::string_view()};
  std::uint64_t record_at_ = 0;  // start of the last record in unpacked_
};

}  // namespace gpumux::bundle
