// Validation of a sequence of records: each call may only name objects that exist at that time.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "bundle/records.hpp"

namespace gpumux::bundle {

/// Checks records one after the other. The writer checks all records, so that it writes no invalid bundle.
/// The reader checks them once when a bundle is opened.
class Checker {
 public:
  explicit Checker(Address base) : base_(base), placed_end_(base) {}
  /// Throws Corrupt with a message for an invalid record.
  void check(const Record& record);
  /// The address after the last byte that was ever allocated.
  [[nodiscard]] Address placed_end() const { return placed_end_; }
  [[nodiscard]] std::uint64_t streams() const { return streams_.size(); }

 private:
  struct Allocation {
    std::uint64_t bytes = 0;
    bool variable = false;  // a module's variable, never freed
  };
  void check_one(const LoadModule& r);
  void check_one(const Allocate& r);
  void check_one(const Free& r);
  void check_one(const CopyToDevice& r);
  void check_one(const CopyFromDevice& r);
  void check_one(const CopyOnDevice& r);
  void check_one(const CopyToArray& r);
  void check_one(const Fill& r);
  void check_one(const CopyToSymbol& r);
  void check_one(const HostWrite& r);
  void check_one(const CopyPinned& r);
  void check_one(const CreateTexture& r);
  void check_one(const CreateMipmapTexture& r) { check_one(r.texture); }
  void check_one(const CreateSurface& r);
  void check_one(const CopyToBox& r);
  void check_one(const CopyFromBox& r);
  void check_one(const CopyBox& r);
  void check_one(const MapHost& r);
  void check_one(const UnmapHost& r);
  void check_one(const SetRegisters& r);
  void check_one(const DestroyTexture& r);
  void check_one(const Launch& r);
  void check_one(const LaunchWithPriority& r);
  void check_one(const BeginBody& r);
  void check_one(const EndBody& r);
  void check_one(const EnqueueCondition& r);
  void check_one(const CreateStream& r);
  void check_one(const CreateEvent& r);
  void check_one(const RecordEvent& r);
  void check_one(const StreamWaitEvent& r);
  void check_one(const Synchronize& r);
  void check_one(const HostTime&) {}
  void check_one(const LimitLaunches&) {}
  void check_one(const Result& r);

  void place(Address address, Allocation allocation);
  void check_new_object(std::uint64_t handle);
  void check_resource(const char* what, const workload::TextureResource& resource,
                      const workload::TextureSettings& settings) const;
  void check_box(const workload::BoxEnd& end, const workload::BoxSize& size) const;
  void check_range(Address address, std::uint64_t bytes) const;
  /// Throws Corrupt unless the stream exists and belongs to the host, or to the body that is being described.
  void check_stream(std::uint64_t stream);
  void check_event(std::uint64_t event);
  /// Assigns a stream or event to its user at its first use, and throws Corrupt if another owner uses it.
  /// `owners` by id: the number of a body, kHost, or kNobody before the first use.
  void claim(std::vector<std::uint32_t>& owners, std::uint64_t id, const char* what) const;
  void check_module(std::uint64_t module) const;

  Address base_;
  Address placed_end_;
  std::map<Address, Allocation> allocations_;
  std::map<Address, std::uint64_t> host_pieces_;  // bytes by host address
  std::set<std::uint64_t> textures_;
  std::uint64_t modules_ = 0;
  std::uint64_t ptx_bytes_ = 0;
  static constexpr std::uint32_t kHost = ~0U;
  static constexpr std::uint32_t kNobody = ~1U;
  std::vector<std::uint32_t> streams_{kHost};  // owner by stream
  std::vector<std::uint32_t> events_;
  std::uint32_t bodies_ = 0;
  bool in_body_ = false;
  std::uint64_t copies_ = 0;  // number of copies from the device
  std::map<std::uint64_t, runtime::StreamId>
      under_way_;                    // copies from the device that were not waited for: their streams
  std::set<std::uint64_t> arrived_;  // copies that were waited for and have no result yet
};

}  // namespace gpumux::bundle
