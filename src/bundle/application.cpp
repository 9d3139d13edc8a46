#include "bundle/application.hpp"

#include <cmath>
#include <map>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "bundle/writer.hpp"

namespace gpumux::bundle {
namespace {

/// Performs records, except for waits.
class Replay {
 public:
  Replay(const Bundle& bundle, runtime::Host& host, bool verify)
      : bundle_(bundle), host_(host), verify_(verify) {}

  void perform(const Record& record) {
    std::visit([&](const auto& r) { perform_one(r); }, record);
  }

 private:
  /// The bytes of a copy from the device, kept until the copy's Result is read.
  struct Arrived {
    Address from = 0;
    std::string bytes;
  };

  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }

  void perform_one(const LoadModule& r) {
    (void)host_.load_module_at(bundle_.content(r.ptx), fmt::format("{}:{}", bundle_.name(), r.name),
                               r.variables);
  }
  void perform_one(const Allocate& r) { host_.malloc_at(r.address, r.bytes); }
  void perform_one(const Free& r) { host_.free(r.address); }
  void perform_one(const CopyToDevice& r) {
    host_.copy_to_device(r.to, bytes_of(bundle_.content(r.from)), r.stream);
  }
  void perform_one(const CopyFromDevice& r) {
    if (verify_) {
      host_.copy_from_device(expect(r.from, r.bytes), r.from, r.stream);
    } else {  // takes the same time; the bytes are not needed
      host_.copy_unseen(false, 0, r.bytes, r.stream);
    }
    ++copies_;
  }
  void perform_one(const CopyFromBox& r) {
    if (verify_) {
      workload::check_box(host_.memory(), r.from, r.size);  // before allocating room for its bytes
      host_.copy_from_box(expect(r.from.array.address, r.size.total()), r.from, r.size, r.stream);
    } else {
      host_.copy_unseen(false, 0, r.size.total(), r.stream);
    }
    ++copies_;
  }
  void perform_one(const CopyToBox& r) {
    host_.copy_to_box(r.to, r.size, bytes_of(bundle_.content(r.from)), r.stream);
  }
  void perform_one(const CopyBox& r) { host_.copy_box(r.to, r.from, r.size, r.link, r.stream); }
  /// Room for the bytes of the next copy from the device.
  std::span<std::byte> expect(Address from, std::uint64_t bytes) {
    Arrived& arrived = arrived_[copies_];
    arrived = {from, std::string(bytes, '\0')};
    return std::as_writable_bytes(std::span(arrived.bytes));
  }
  void perform_one(const CopyOnDevice& r) { host_.copy_on_device(r.to, r.from, r.bytes, r.stream); }
  void perform_one(const CopyToArray& r) { host_.copy_on_device_to_array(r.to, r.from, r.stream); }
  void perform_one(const Fill& r) { host_.fill(r.to, r.value, r.bytes, r.stream); }
  void perform_one(const CopyToSymbol& r) {
    host_.copy_to_symbol(r.module, r.symbol, r.offset, bytes_of(bundle_.content(r.from)), r.stream);
  }
  void perform_one(const HostWrite& r) { host_.host_write(r.to, bytes_of(bundle_.content(r.from))); }
  void perform_one(const MapHost& r) { host_.map_host(r.host, r.bytes, r.device); }
  void perform_one(const UnmapHost& r) { host_.unmap_host(r.host); }
  void perform_one(const SetRegisters& r) { host_.set_registers(r.module, r.kernel, r.registers); }
  void perform_one(const CopyPinned& r) { host_.copy_pinned(r.direction, r.to, r.from, r.bytes, r.stream); }
  void perform_one(const CreateTexture& r) {
    check_handle(r.handle, host_.create_texture(r.resource, r.settings).handle);
  }
  void perform_one(const CreateMipmapTexture& r) { perform_one(r.texture); }
  void perform_one(const CreateSurface& r) { check_handle(r.handle, host_.create_surface(r.array).handle); }
  void check_handle(std::uint64_t recorded, std::uint64_t here) const {
    if (here == recorded) return;
    throw UserError(
        {bundle_.name()},
        fmt::format("texture 0x{:x} of the recorded program is 0x{:x} here; record the program again "
                    "with this version",
                    recorded, here));
  }
  void perform_one(const DestroyTexture& r) { host_.destroy_texture({r.handle}); }
  void perform_one(const Launch& r) {
    host_.launch_raw(r.module, r.kernel,
                     {r.grid, r.block, r.shared_bytes, r.stream, r.cooperative, r.heap_bytes, r.priority},
                     r.parameters);
  }
  void perform_one(const LaunchWithPriority& r) { perform_one(r.launch); }
  void perform_one(const BeginBody&) { host_.begin_body(); }
  void perform_one(const EndBody&) { (void)host_.end_body(); }
  void perform_one(const EnqueueCondition& r) { host_.enqueue_condition(r.condition, r.stream); }
  void perform_one(const LimitLaunches& r) { host_.limit_pending_launches(r.launches); }
  void perform_one(const CreateStream&) { (void)host_.create_stream(); }
  void perform_one(const CreateEvent&) { (void)host_.create_event(); }
  void perform_one(const RecordEvent& r) { host_.record_event(r.event, r.stream); }
  void perform_one(const StreamWaitEvent& r) { host_.stream_wait_event(r.stream, r.event); }
  void perform_one(const Synchronize&) {}
  void perform_one(const HostTime&) {}
  void perform_one(const Result& r) {
    if (!verify_) return;
    const auto found = arrived_.find(r.copy);
    GPUMUX_CHECK(found != arrived_.end());
    if (digest(bytes_of(found->second.bytes)) != r.digest) {
      throw SimulationFault(
          fmt::format("error: copy {} from the device, {} bytes at 0x{:x}, brought other bytes than when the "
                      "program was recorded",
                      r.copy + 1, found->second.bytes.size(), found->second.from));
    }
    arrived_.erase(found);
  }

  const Bundle& bundle_;
  runtime::Host& host_;
  bool verify_;
  std::uint64_t copies_ = 0;
  std::map<std::uint64_t, Arrived> arrived_;  // pointers to elements stay valid
};

}  // namespace

runtime::Task BundleApplication::run(runtime::Host& host, bool verify) {
  Reader reader(bundle_);
  Replay replay(*bundle_, host, verify);
  Record record;
  while (reader.next(record)) {
    replay.perform(record);
    if (const auto* wait = std::get_if<Synchronize>(&record)) {
      switch (wait->what) {
        case Synchronize::What::Device: co_await host.synchronize(); break;
        case Synchronize::What::Stream: co_await host.synchronize(wait->id); break;
        case Synchronize::What::Event: co_await host.synchronize_event(wait->id); break;
      }
    } else if (const auto* computed = std::get_if<HostTime>(&record); computed != nullptr && host_time_ > 0) {
      co_await host.host_time(
          static_cast<std::uint64_t>(std::llround(host_time_ * static_cast<double>(computed->ns))));
    }
  }
  co_await host.synchronize();  // `replay` must outlive the copies from the device
}

}  // namespace gpumux::bundle
