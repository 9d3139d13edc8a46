// Recording of a host program: a Host that forwards calls to another Host and writes them to a bundle.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bundle/writer.hpp"
#include "runtime/application.hpp"
#include "runtime/host.hpp"

namespace gpumux::bundle {

/// Forwards all calls to `host` and adds them to `writer`. Both must outlive this object. A copy from the
/// device gets its Result when its stream, or the device, was waited for. Its bytes must be unchanged until
/// then. Throws UserError for launches of traces, which a bundle cannot hold.
class RecordingHost final : public runtime::Host {
 public:
  RecordingHost(runtime::Host& host, Writer& writer) : host_(host), writer_(writer) {}

  std::uint32_t load_module(std::string_view ptx_text, const std::string& file) override {
    return load_module_at(ptx_text, file, {});
  }
  std::uint32_t load_module_at(std::string_view ptx_text, const std::string& file,
                               std::span<const workload::PlacedVariable> places) override;
  [[nodiscard]] std::vector<workload::PlacedVariable> variables(std::uint32_t module) override {
    return host_.variables(module);
  }
  Address malloc_bytes(std::uint64_t bytes) override;
  void malloc_at(Address address, std::uint64_t bytes) override;
  using Host::free;
  void name_buffer(Address buffer, const std::string& name) override { host_.name_buffer(buffer, name); }
  void free(Address address) override;
  void copy_to_device(Address to, std::span<const std::byte> from, runtime::StreamId stream) override;
  void copy_from_device(std::span<std::byte> to, Address from, runtime::StreamId stream) override;
  void copy_on_device(Address to, Address from, std::uint64_t bytes, runtime::StreamId stream) override;
  void copy_on_device_to_array(const workload::TextureArray& array, Address from,
                               runtime::StreamId stream) override;
  void copy_to_box(const workload::BoxEnd& to, const workload::BoxSize& size, std::span<const std::byte> from,
                   runtime::StreamId stream) override;
  void copy_from_box(std::span<std::byte> to, const workload::BoxEnd& from, const workload::BoxSize& size,
                     runtime::StreamId stream) override;
  void copy_box(const workload::BoxEnd& to, const workload::BoxEnd& from, const workload::BoxSize& size,
                std::optional<runtime::HostCopy> link, runtime::StreamId stream) override;
  void fill(Address to, std::uint8_t value, std::uint64_t bytes, runtime::StreamId stream) override;
  void copy_to_symbol(std::uint32_t module, const std::string& symbol, std::uint64_t offset,
                      std::span<const std::byte> from, runtime::StreamId stream) override;
  void host_write(Address to, std::span<const std::byte> from) override;
  void map_host(Address host, std::uint64_t bytes, Address device) override;
  void unmap_host(Address host) override;
  void set_registers(std::uint32_t module, const std::string& kernel, std::uint32_t registers) override;
  void copy_pinned(runtime::HostCopy direction, Address to, Address from, std::uint64_t bytes,
                   runtime::StreamId stream) override;
  [[nodiscard]] bool wants_host_writes() const override { return true; }
  void end_work() override { host_.end_work(); }
  [[nodiscard]] const arch::MachineConfig& machine() const override { return host_.machine(); }
  [[nodiscard]] workload::DeviceMemory& memory() override { return host_.memory(); }
  [[nodiscard]] emulator::LoadedModule& module(std::uint32_t id) override { return host_.module(id); }
  [[nodiscard]] std::uint64_t ended_operations() const override { return host_.ended_operations(); }
  [[nodiscard]] Address symbol_address(std::uint32_t module, const std::string& symbol) override {
    return host_.symbol_address(module, symbol);
  }
  void launch_raw(std::uint32_t module, const std::string& kernel, const runtime::LaunchSpec& spec,
                  std::string parameters) override;
  void limit_pending_launches(std::uint64_t launches) override;
  void launch_source(const runtime::KernelMaker& make, runtime::StreamId stream) override;
  void copy_unseen(bool to_device, std::uint64_t offset, std::uint64_t bytes,
                   runtime::StreamId stream) override;
  [[nodiscard]] workload::TextureTable& textures() override { return host_.textures(); }
  void begin_body() override;
  runtime::BodyId end_body() override;
  void enqueue_condition(const runtime::Condition& condition, runtime::StreamId stream) override;
  runtime::StreamId create_stream() override;
  runtime::EventId create_event() override;
  void record_event(runtime::EventId event, runtime::StreamId stream) override;
  void stream_wait_event(runtime::StreamId stream, runtime::EventId event) override;
  [[nodiscard]] Cycle event_cycle(runtime::EventId event) const override { return host_.event_cycle(event); }

 protected:
  [[nodiscard]] bool is_idle(WaitFor::What what, std::uint32_t id) const override;
  void wait_until_idle(WaitFor::What what, std::uint32_t id) override;
  void host_time_begins(std::uint64_t ns) override;
  void wait_begins(WaitFor::What what, std::uint32_t id) override;
  void wait_ends(WaitFor::What what, std::uint32_t id) override;
  void texture_created(const workload::TextureResource& resource, const workload::TextureSettings& settings,
                       runtime::TextureObject texture) override;
  void surface_created(const workload::TextureArray& array, runtime::SurfaceObject surface) override;
  void texture_destroyed(runtime::TextureObject texture) override;

 private:
  struct Outstanding {
    std::uint64_t copy;  // Result::copy
    runtime::StreamId stream;
    std::span<const std::byte> to;
  };
  runtime::Host& host_;
  Writer& writer_;
  std::uint64_t copies_ = 0;
  std::deque<Outstanding> outstanding_;
};

/// Wraps an application so that its first run is recorded. The caller must call writer.finish(), and `writer`
/// must outlive the application.
[[nodiscard]] std::unique_ptr<runtime::Application> record(std::unique_ptr<runtime::Application> application,
                                                           Writer& writer);

}  // namespace gpumux::bundle
