#include "bundle/recorder.hpp"

#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace gpumux::bundle {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Synchronize::What recorded(runtime::Host::WaitFor::What what) {
  switch (what) {
    case runtime::Host::WaitFor::What::Stream: return Synchronize::What::Stream;
    case runtime::Host::WaitFor::What::Event: return Synchronize::What::Event;
    default: return Synchronize::What::Device;
  }
}

class Recorded final : public runtime::Application {
 public:
  Recorded(std::unique_ptr<runtime::Application> application, Writer& writer)
      : application_(std::move(application)), writer_(writer) {}
  runtime::Task run(runtime::Host& host, bool verify) override {
    if (++runs_ > 1) return application_->run(host, verify);
    host_ = std::make_unique<RecordingHost>(host, writer_);
    return application_->run(*host_, verify);
  }
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    return application_->block_metadata();
  }
  [[nodiscard]] std::optional<workload::AddressSpace> address_space() const override {
    return application_->address_space();
  }
  [[nodiscard]] int memory_file() override { return application_->memory_file(); }
  [[nodiscard]] bool writes_while_it_waits() const override { return application_->writes_while_it_waits(); }
  [[nodiscard]] emulator::PrintSink* print_sink() override { return application_->print_sink(); }
  [[nodiscard]] emulator::KernelErrors* kernel_errors() override { return application_->kernel_errors(); }
  [[nodiscard]] bool has_gone() const override { return application_->has_gone(); }

 private:
  std::unique_ptr<RecordingHost> host_;  // must outlive the program that runs on it
  std::unique_ptr<runtime::Application> application_;
  Writer& writer_;
  std::uint64_t runs_ = 0;
};

}  // namespace

// Calls go to the real host first, so that calls which it refuses are not recorded.

std::uint32_t RecordingHost::load_module_at(std::string_view ptx_text, const std::string& file,
                                            std::span<const workload::PlacedVariable> places) {
  const std::uint32_t module = host_.load_module_at(ptx_text, file, places);
  writer_.add(LoadModule{file, writer_.keep(bytes_of(ptx_text)), host_.variables(module)});
  return module;
}

Address RecordingHost::malloc_bytes(std::uint64_t bytes) {
  const Address address = host_.malloc_bytes(bytes);
  if (bytes != 0) writer_.add(Allocate{address, bytes});
  return address;
}

void RecordingHost::malloc_at(Address address, std::uint64_t bytes) {
  host_.malloc_at(address, bytes);
  if (bytes != 0) writer_.add(Allocate{address, bytes});
}

void RecordingHost::free(Address address) {
  host_.free(address);
  if (address != 0) writer_.add(Free{address});
}

void RecordingHost::copy_to_device(Address to, std::span<const std::byte> from, runtime::StreamId stream) {
  host_.copy_to_device(to, from, stream);
  if (!from.empty()) writer_.add(CopyToDevice{to, writer_.keep(from), stream});
}

void RecordingHost::copy_from_device(std::span<std::byte> to, Address from, runtime::StreamId stream) {
  host_.copy_from_device(to, from, stream);
  if (to.empty()) return;
  writer_.add(CopyFromDevice{from, to.size(), stream});
  outstanding_.push_back({copies_++, stream, to});
}

void RecordingHost::copy_on_device(Address to, Address from, std::uint64_t bytes, runtime::StreamId stream) {
  host_.copy_on_device(to, from, bytes, stream);
  if (bytes != 0) writer_.add(CopyOnDevice{to, from, bytes, stream});
}

void RecordingHost::copy_on_device_to_array(const workload::TextureArray& array, Address from,
                                            runtime::StreamId stream) {
  host_.copy_on_device_to_array(array, from, stream);
  writer_.add(CopyToArray{array, from, stream});
}

void RecordingHost::copy_to_box(const workload::BoxEnd& to, const workload::BoxSize& size,
                                std::span<const std::byte> from, runtime::StreamId stream) {
  host_.copy_to_box(to, size, from, stream);
  writer_.add(CopyToBox{to, size, writer_.keep(from), stream});
}

void RecordingHost::copy_from_box(std::span<std::byte> to, const workload::BoxEnd& from,
                                  const workload::BoxSize& size, runtime::StreamId stream) {
  host_.copy_from_box(to, from, size, stream);
  writer_.add(CopyFromBox{from, size, stream});
  outstanding_.push_back({copies_++, stream, to});
}

void RecordingHost::copy_box(const workload::BoxEnd& to, const workload::BoxEnd& from,
                             const workload::BoxSize& size, std::optional<runtime::HostCopy> link,
                             runtime::StreamId stream) {
  host_.copy_box(to, from, size, link, stream);
  writer_.add(CopyBox{to, from, size, link, stream});
}

void RecordingHost::fill(Address to, std::uint8_t value, std::uint64_t bytes, runtime::StreamId stream) {
  host_.fill(to, value, bytes, stream);
  if (bytes != 0) writer_.add(Fill{to, value, bytes, stream});
}

void RecordingHost::copy_to_symbol(std::uint32_t module, const std::string& symbol, std::uint64_t offset,
                                   std::span<const std::byte> from, runtime::StreamId stream) {
  host_.copy_to_symbol(module, symbol, offset, from, stream);
  if (!from.empty()) writer_.add(CopyToSymbol{module, symbol, offset, writer_.keep(from), stream});
}

void RecordingHost::host_write(Address to, std::span<const std::byte> from) {
  host_.host_write(to, from);
  if (!from.empty()) writer_.add(HostWrite{to, writer_.keep(from)});
}

void RecordingHost::map_host(Address host, std::uint64_t bytes, Address device) {
  host_.map_host(host, bytes, device);
  writer_.add(MapHost{host, bytes, device});
}

void RecordingHost::unmap_host(Address host) {
  host_.unmap_host(host);
  writer_.add(UnmapHost{host});
}

void RecordingHost::set_registers(std::uint32_t module, const std::string& kernel, std::uint32_t registers) {
  host_.set_registers(module, kernel, registers);
  writer_.add(SetRegisters{module, kernel, registers});
}

void RecordingHost::copy_pinned(runtime::HostCopy direction, Address to, Address from, std::uint64_t bytes,
                                runtime::StreamId stream) {
  host_.copy_pinned(direction, to, from, bytes, stream);
  if (bytes != 0) writer_.add(CopyPinned{direction, to, from, bytes, stream});
}

void RecordingHost::launch_raw(std::uint32_t module, const std::string& kernel,
                               const runtime::LaunchSpec& spec, std::string parameters) {
  Launch launch{module,           kernel,     spec.grid,   spec.block,      spec.shared_bytes,
                spec.cooperative, parameters, spec.stream, spec.heap_bytes, spec.priority};
  host_.launch_raw(module, kernel, spec, std::move(parameters));
  if (spec.priority != 0)
    writer_.add(LaunchWithPriority{launch});
  else
    writer_.add(launch);
}

void RecordingHost::limit_pending_launches(std::uint64_t launches) {
  host_.limit_pending_launches(launches);
  writer_.add(LimitLaunches{launches});
}

void RecordingHost::launch_source(const runtime::KernelMaker&, runtime::StreamId) {
  throw UserError("a bundle holds launches of PTX kernels; a trace has none");
}

void RecordingHost::copy_unseen(bool, std::uint64_t, std::uint64_t, runtime::StreamId) {
  throw UserError("a bundle holds copies with their contents; a trace has none");
}

void RecordingHost::texture_created(const workload::TextureResource& resource,
                                    const workload::TextureSettings& settings,
                                    runtime::TextureObject texture) {
  const CreateTexture made{resource, settings, texture.handle};
  if (resource.levels > 1)
    writer_.add(CreateMipmapTexture{made});
  else
    writer_.add(made);
}

void RecordingHost::surface_created(const workload::TextureArray& array, runtime::SurfaceObject surface) {
  writer_.add(CreateSurface{array, surface.handle});
}

void RecordingHost::texture_destroyed(runtime::TextureObject texture) {
  writer_.add(DestroyTexture{texture.handle});
}

void RecordingHost::begin_body() {
  host_.begin_body();
  writer_.add(BeginBody{});
}

runtime::BodyId RecordingHost::end_body() {
  writer_.add(EndBody{});
  return host_.end_body();
}

void RecordingHost::enqueue_condition(const runtime::Condition& condition, runtime::StreamId stream) {
  host_.enqueue_condition(condition, stream);
  writer_.add(EnqueueCondition{condition, stream});
}

runtime::StreamId RecordingHost::create_stream() {
  writer_.add(CreateStream{});
  return host_.create_stream();
}

runtime::EventId RecordingHost::create_event() {
  writer_.add(CreateEvent{});
  return host_.create_event();
}

void RecordingHost::record_event(runtime::EventId event, runtime::StreamId stream) {
  host_.record_event(event, stream);
  writer_.add(RecordEvent{event, stream});
}

void RecordingHost::stream_wait_event(runtime::StreamId stream, runtime::EventId event) {
  host_.stream_wait_event(stream, event);
  writer_.add(StreamWaitEvent{stream, event});
}

void RecordingHost::host_time_begins(std::uint64_t ns) {
  (void)host_.host_time(ns);  // is_idle() detects its end
  writer_.add(HostTime{ns});
}

void RecordingHost::wait_begins(WaitFor::What what, std::uint32_t id) {
  if (what == WaitFor::What::HostTime) return;  // recorded when it began
  // A program that polls for the end of operations ends its loop with a recorded wait, so single polls are
  // not recorded.
  if (what == WaitFor::What::Operation) return;
  writer_.add(Synchronize{recorded(what), id});
}

bool RecordingHost::is_idle(WaitFor::What what, std::uint32_t id) const {
  return WaitFor{&host_, what, id}.over();
}

void RecordingHost::wait_until_idle(WaitFor::What what, std::uint32_t id) {
  WaitFor{&host_, what, id}.await_suspend({});
}

void RecordingHost::wait_ends(WaitFor::What what, std::uint32_t id) {
  WaitFor{&host_, what, id}.await_resume();
  // The copies whose bytes have arrived. Waiting for an event does not tell which copies preceded it.
  const auto known = [&](const Outstanding& copy) {
    return what == WaitFor::What::Device || (what == WaitFor::What::Stream && copy.stream == id);
  };
  for (const Outstanding& copy : outstanding_)
    if (known(copy)) writer_.add(Result{copy.copy, digest(copy.to)});
  std::erase_if(outstanding_, known);
}

std::unique_ptr<runtime::Application> record(std::unique_ptr<runtime::Application> application,
                                             Writer& writer) {
  return std::make_unique<Recorded>(std::move(application), writer);
}

}  // namespace gpumux::bundle
