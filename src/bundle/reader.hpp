// Opens and checks a bundle, and reads it record by record. What comes from strangers is checked before it is
// used: a file that opens can be walked to its end, and memory is bounded by the sizes that were checked.
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

/// Immutable; shared by all applications of it.
class Bundle {
 public:
  /// Throws UserError with the byte at which it is wrong.
  [[nodiscard]] static std::shared_ptr<const Bundle> open(const std::string& path);
  /// The same of bytes in memory; `name` is for messages.
  [[nodiscard]] static std::shared_ptr<const Bundle> from_bytes(std::string bytes, std::string name);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Of its bytes.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  /// That its program had, and where its allocations end.
  [[nodiscard]] const workload::AddressSpace& addresses() const { return addresses_; }
  [[nodiscard]] std::uint64_t records() const { return record_count_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  /// Copies from the device whose outcome it has.
  [[nodiscard]] std::uint64_t results() const { return results_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return bytes_.size(); }

  /// Bytes that a record refers to.
  [[nodiscard]] std::string content(const Content& content) const;

 private:
  friend class Reader;
  struct Chunk {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t stored = 0;  // bytes there
    std::uint32_t raw = 0;     // bytes that it stands for
    bool packed = false;
  };
  explicit Bundle(std::string name) : name_(std::move(name)) {}
  void read();
  void read_index(std::string_view index, std::uint64_t offset);
  void check_records();
  void unpack(const Chunk& chunk, char* to) const;
  [[noreturn]] void fail(std::uint64_t byte, const std::string& what) const;

  std::string name_;
  std::string storage_;      // from_bytes()
  void* mapping_ = nullptr;  // open()
  std::string_view bytes_;
  std::string identity_;
  workload::AddressSpace addresses_;
  std::uint64_t record_count_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t results_ = 0;
  std::vector<Chunk> pieces_;
  std::vector<Chunk> record_chunks_;
};

/// The records of a bundle, in order. Not thread-safe.
class Reader {
 public:
  explicit Reader(std::shared_ptr<const Bundle> bundle)
      : bundle_(std::move(bundle)), coding_{bundle_->addresses_.base, 0} {}
  /// False at the end.
  bool next(Record& record);

 private:
  friend class Bundle;
  /// While it is opened.
  explicit Reader(const Bundle& bundle)
      : bundle_(std::shared_ptr<const Bundle>(), &bundle), coding_{bundle.addresses_.base, 0} {}
  /// Throws UserError: the record that was read last is wrong.
  [[noreturn]] void fail(const Corrupt& corrupt) const;
  std::shared_ptr<const Bundle> bundle_;
  CodingState coding_;
  std::size_t chunk_ = 0;  // the next
  std::string unpacked_;
  Bytes left_{std::string_view()};
  std::uint64_t record_at_ = 0;  // in unpacked_, of the last
};

}  // namespace gpumux::bundle
