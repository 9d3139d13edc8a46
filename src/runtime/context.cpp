#include "runtime/context.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::runtime {
namespace {

/// Limit in bytes for kept copy buffers. Concurrent copies of CUDA programs usually need less.
constexpr std::size_t kMostSpareBytes = std::size_t{1} << 27U;

/// The clock that kernels read. Cycles per instruction are those of dependent instructions, as in loops that
/// wait for a time.
emulator::KernelClock clock_of(const arch::MachineConfig& config) {
  const auto add = static_cast<std::size_t>(isa::LatencyClass::IntAdd);
  return {config.latency[add].latency + config.sm.operand_latency + config.sm.writeback_latency,
          config.clocks.core * 1e-3};
}

}  // namespace

Context::Context(AppId app, std::string name, std::unique_ptr<Application> application, Device& device,
                 bool verify, emulator::PrintSink* sink)
    : app_(app),
      name_(std::move(name)),
      application_(std::move(application)),
      device_(device),
      verify_(verify),
      sink_(application_->print_sink() != nullptr ? application_->print_sink() : sink),
      metadata_(application_->block_metadata()) {}

Context::~Context() = default;

void Context::start() {
  program_ = Task();  // destroys the old coroutine frame before the memory that it may refer to
  modules_.clear();
  module_files_.clear();
  const std::optional<workload::AddressSpace> space = application_->address_space();
  memory_ = space ? std::make_unique<workload::DeviceMemory>(app_, name_, *space)
                  : std::make_unique<workload::DeviceMemory>(app_, name_, application_->memory_file());
  device_launches_ = std::make_unique<DeviceLaunches>(*this, device_, *memory_);
  errors_ = application_->kernel_errors();
  streams_.clear();
  streams_.emplace_back();
  events_.clear();
  bodies_.clear();
  described_.reset();
  acting_ = kHost;
  body_textures_time_.reset();
  waiting_.reset();
  host_until_ = 0;
  abandoned_ = false;
  ended_operations_ = 0;
  program_ = application_->run(*this, verify_);
  running_ = true;
}

void Context::kill() {
  program_ = Task();
  drop_work();
  waiting_.reset();
}

void Context::drop_work() {
  for (Stream& s : streams_) {
    s.queue.clear();
    s.copy_until = 0;
  }
  device_launches_->kill();
  device_.kill(*this);
  if (waiting_) waiting_ = {WaitFor::What::Device, 0};  // the awaited event may never happen
}

bool Context::finished() const { return running_ && program_.done() && is_idle(WaitFor::What::Device, 0); }

void Context::pump() {
  try {
    move_on();
  } catch (const SimulationFault& fault) {  // a fault of the host program: add the application's name
    std::string_view what = fault.what();
    const std::string start = fmt::format("error: app {}: ", name_);
    if (what.starts_with(start)) throw;
    if (what.starts_with("error: ")) what.remove_prefix(7);
    throw SimulationFault(fmt::format("{}{}", start, what));
  }
}

void Context::move_on() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (StreamId id = 0; id < streams_.size(); ++id) moved |= pump_stream(id);
    if (!program_.done() && (!waiting_ || is_idle(waiting_->first, waiting_->second))) {
      waiting_.reset();
      program_.resume();
      moved = true;
    }
  }
}

bool Context::pump_stream(StreamId id) {
  bool moved = false;
  while (true) {
    Stream& s = streams_[id];
    if (s.kernel_running || s.queue.empty()) return moved;
    Operation& head = s.queue.front();
    if (Copy* copy = std::get_if<Copy>(&head)) {
      if (s.copy_until == 0) {
        const Cycle cycles = copy_cycles(*copy);
        const bool out = copy->kind == Copy::Kind::Out || copy->kind == Copy::Kind::UnseenOut ||
                         copy->kind == Copy::Kind::PinnedOut || copy->kind == Copy::Kind::BoxOut ||
                         copy->kind == Copy::Kind::BoxPinnedOut;
        const auto direction = out ? HostLink::Direction::FromDevice : HostLink::Direction::ToDevice;
        if (cycles > 0) s.copy_until = device_.link().transfer(direction, device_.now(), cycles);
      }
      if (s.copy_until > device_.now()) return moved;
      s.copy_until = 0;
      perform(*copy);
      give_back(std::move(copy->host_from));
    } else if (Launch* launch = std::get_if<Launch>(&head)) {
      s.kernel_running = true;
      s.family = launch->family;
      device_.submit(*this, id, std::move(launch->kernel), launch->priority);
      s.queue.pop_front();  // the operation ends in kernel_ended()
      moved = true;
      continue;
    } else if (const Record* record = std::get_if<Record>(&head)) {
      Event& recorded = events_[record->event];
      recorded.completed[record->recording] = true;
      recorded.cycle = device_.now();
    } else if (const Wait* wait = std::get_if<Wait>(&head)) {
      if (!events_[wait->event].done(wait->recording)) return moved;
    } else if (Decision* decision = std::get_if<Decision>(&head)) {
      if (!decide(*decision, moved)) return moved;
    }
    streams_[id].queue.pop_front();
    ++ended_operations_;
    moved = true;
  }
}

Cycle Context::copy_cycles(const Copy& copy) const {
  const double rate = device_.config().runtime.copy_bytes_per_second;
  const bool over_link = copy.kind != Copy::Kind::OnDevice && copy.kind != Copy::Kind::ToArray &&
                         copy.kind != Copy::Kind::BoxOnDevice && copy.kind != Copy::Kind::Fill;
  if (rate <= 0 || !over_link) return 0;
  const double seconds = static_cast<double>(copy.bytes) / rate;
  return static_cast<Cycle>(std::ceil(seconds * device_.config().clocks.core * 1e6));
}

std::vector<std::byte> Context::taken(std::span<const std::byte> from) {
  std::vector<std::byte> bytes = std::exchange(spare_bytes_, {});
  bytes.assign(from.begin(), from.end());
  return bytes;
}

void Context::give_back(std::vector<std::byte>&& bytes) {
  if (bytes.capacity() > spare_bytes_.capacity() && bytes.capacity() <= kMostSpareBytes)
    spare_bytes_ = std::move(bytes);
}

void Context::perform(Copy& copy) {
  switch (copy.kind) {
    case Copy::Kind::In:
      memory_->write(copy.to, copy.host_from);
      device_.copied_to_device(app_, memory_->cached(copy.to), copy.bytes);
      break;
    case Copy::Kind::Out: memory_->read(copy.from, std::span(copy.host_to, copy.bytes)); break;
    case Copy::Kind::UnseenIn: device_.copied_to_device(app_, copy.to, copy.bytes); break;
    case Copy::Kind::UnseenOut: break;
    case Copy::Kind::OnDevice: move_on_device(copy); break;
    case Copy::Kind::PinnedIn:
      move_on_device(copy);
      device_.copied_to_device(app_, memory_->cached(copy.to), copy.bytes);
      break;
    case Copy::Kind::PinnedOut: move_on_device(copy); break;
    case Copy::Kind::ToArray: {
      memory_->textures().check(copy.array.shape);
      std::vector<std::byte> texels(copy.array.texel_bytes());
      memory_->read(copy.from, texels);
      memory_->write(copy.array.address, workload::lay_out(copy.array, texels));
      break;
    }
    case Copy::Kind::BoxIn:
    case Copy::Kind::BoxOut:
    case Copy::Kind::BoxOnDevice:
    case Copy::Kind::BoxPinnedIn:
    case Copy::Kind::BoxPinnedOut: perform_box(copy); break;
    case Copy::Kind::Fill: memory_->fill(copy.to, std::byte{copy.value}, copy.bytes); break;
    case Copy::Kind::Symbol: {
      emulator::LoadedModule& loaded = module(copy.module);
      if (const Address address = loaded.global_address(copy.symbol); address != 0) {
        memory_->write(address + copy.to, copy.host_from);
      } else {
        loaded.write_const(copy.symbol, copy.to, copy.host_from);
      }
      break;
    }
  }
}

void Context::perform_box(const Copy& copy) {
  const auto& [to, from, size] = *copy.box;
  if (copy.kind != Copy::Kind::BoxIn) workload::check_box(*memory_, from, size);
  if (copy.kind != Copy::Kind::BoxOut) workload::check_box(*memory_, to, size);
  switch (copy.kind) {
    case Copy::Kind::BoxIn: workload::write_box(*memory_, to, size, copy.host_from); break;
    case Copy::Kind::BoxOut:
      workload::read_box(*memory_, from, size, std::span(copy.host_to, copy.bytes));
      break;
    default: workload::copy_box(*memory_, to, from, size); break;
  }
  // The whole array is marked as written, since a box of an array is not contiguous.
  if (copy.kind == Copy::Kind::BoxIn || copy.kind == Copy::Kind::BoxPinnedIn)
    device_.copied_to_device(app_, memory_->cached(to.array.address), to.array.bytes());
}

void Context::move_on_device(const Copy& copy) {
  std::vector<std::byte> bytes(copy.bytes);
  memory_->read(copy.from, bytes);
  memory_->write(copy.to, bytes);
}

Cycle Context::next_event() const {
  Cycle next = kNever;
  for (const Stream& s : streams_) {
    if (s.copy_until != 0) next = std::min(next, s.copy_until);
  }
  if (waiting_ && waiting_->first == WaitFor::What::HostTime) next = std::min(next, host_until_);
  return next;
}

bool Context::waits_for_kernels() const {
  if (next_event() != kNever || !running_ || application_->writes_while_it_waits()) return false;
  return program_.done() || (waiting_ && waiting_->first != WaitFor::What::HostTime);
}

void Context::kernel_began(StreamId id) {
  if ((id & DeviceLaunches::kChild) != 0) device_launches_->began(id & ~DeviceLaunches::kChild);
}

void Context::kernel_ended(StreamId id) {
  if ((id & DeviceLaunches::kChild) != 0) {
    device_launches_->ended(id & ~DeviceLaunches::kChild);
  } else if (const std::uint32_t family = std::exchange(stream(id).family, 0); family != 0) {
    device_launches_->ended(family);
  } else {
    family_ended(id);
  }
}

void Context::family_ended(StreamId id) {
  stream(id).kernel_running = false;
  ++ended_operations_;
}

StreamId Context::host_stream(StreamId id) const {
  return (id & DeviceLaunches::kChild) != 0 ? device_launches_->stream_of(id & ~DeviceLaunches::kChild) : id;
}

const Context::Stream& Context::stream(StreamId id) const {
  if (id >= streams_.size()) throw UserError(fmt::format("app {}: stream {} does not exist", name_, id));
  return streams_[id];
}

Context::Stream& Context::stream(StreamId id) {
  (void)std::as_const(*this).stream(id);
  return streams_[id];
}

const Context::Event& Context::event(EventId id) const {
  if (id >= events_.size()) throw UserError(fmt::format("app {}: event {} does not exist", name_, id));
  return events_[id];
}

emulator::LoadedModule& Context::module(std::uint32_t id) {
  GPUMUX_CHECK(id < modules_.size());
  return *modules_[id];
}

std::uint32_t Context::load_module_at(std::string_view ptx_text, const std::string& file,
                                      std::span<const workload::PlacedVariable> places) {
  ptx::CompileOptions options;
  options.level = device_.config().code;
  options.notices = device_.wants_notices();
  modules_.push_back(
      std::make_unique<emulator::LoadedModule>(emulator::compile_module(ptx_text, file, options), *memory_,
                                               app_, sink_, places, errors_, device_.races()));
  modules_.back()->set_device_runtime(*device_launches_);
  module_files_.push_back(file);
  return static_cast<std::uint32_t>(modules_.size() - 1);
}

std::vector<workload::PlacedVariable> Context::variables(std::uint32_t module_id) {
  return module(module_id).variables();
}

Address Context::malloc_bytes(std::uint64_t bytes) { return memory_->allocate(bytes); }

void Context::malloc_at(Address address, std::uint64_t bytes) { memory_->allocate_at(address, bytes); }

void Context::name_buffer(Address buffer, const std::string& name) { memory_->name(buffer, name); }

void Context::free(Address address) { memory_->free(address); }

void Context::copy_to_device(Address to, std::span<const std::byte> from, StreamId id) {
  refuse_in_body("a copy of bytes of the host");
  Copy copy;
  copy.kind = Copy::Kind::In;
  copy.to = to;
  copy.bytes = from.size();
  copy.host_from = taken(from);
  enter(id).queue.emplace_back(std::move(copy));
}

void Context::copy_from_device(std::span<std::byte> to, Address from, StreamId id) {
  refuse_in_body("a copy to the host");
  Copy copy;
  copy.kind = Copy::Kind::Out;
  copy.from = from;
  copy.bytes = to.size();
  copy.host_to = to.data();
  enter(id).queue.emplace_back(std::move(copy));
}

void Context::copy_on_device(Address to, Address from, std::uint64_t bytes, StreamId id) {
  if (keeps(id, [=, this] { copy_on_device(to, from, bytes, id); })) return;
  Copy copy;
  copy.kind = Copy::Kind::OnDevice;
  copy.to = to;
  copy.from = from;
  copy.bytes = bytes;
  enter(id).queue.emplace_back(std::move(copy));
}

void Context::copy_on_device_to_array(const workload::TextureArray& array, Address from, StreamId id) {
  if (keeps(id, [=, this] { copy_on_device_to_array(array, from, id); })) return;
  Copy copy;
  copy.kind = Copy::Kind::ToArray;
  copy.array = array;
  copy.from = from;
  enter(id).queue.emplace_back(std::move(copy));
}

void Context::fill(Address to, std::uint8_t value, std::uint64_t bytes, StreamId id) {
  if (keeps(id, [=, this] { fill(to, value, bytes, id); })) return;
  Copy copy;
  copy.kind = Copy::Kind::Fill;
  copy.to = to;
  copy.bytes = bytes;
  copy.value = value;
  enter(id).queue.emplace_back(std::move(copy));
}

void Context::copy_to_symbol(std::uint32_t module_id, const std::string& symbol, std::uint64_t offset,
                             std::span<const std::byte> from, StreamId id) {
  refuse_in_body("a copy of bytes of the host");
  Copy copy;
  copy.kind = Copy::Kind::Symbol;
  copy.to = offset;
  copy.bytes = from.size();
  copy.host_from = taken(from);
  copy.module = module_id;
  copy.symbol = symbol;
  enter(id).queue.emplace_back(std::move(copy));
}

void Context::host_write(Address to, std::span<const std::byte> from) { memory_->write(to, from); }

void Context::map_host(Address host, std::uint64_t bytes, Address device) {
  memory_->map_host(host, bytes, device);
}

void Context::unmap_host(Address host) { memory_->unmap_host(host); }

void Context::set_registers(std::uint32_t module_id, const std::string& kernel, std::uint32_t registers) {
  registers_[{module_id, kernel}] = registers;
}

Address Context::symbol_address(std::uint32_t module_id, const std::string& symbol) {
  return module(module_id).global_address(symbol);
}

void Context::launch_raw(std::uint32_t module_id, const std::string& kernel, const LaunchSpec& spec,
                         std::string parameters) {
  if (keeps(spec.stream, [=, this] { launch_raw(module_id, kernel, spec, parameters); })) return;
  emulator::LoadedModule& loaded = module(module_id);
  const emulator::KernelInfo* info = loaded.find(kernel);
  if (info == nullptr) {
    throw UserError({module_files_[module_id]}, unknown_choice("kernel", kernel, loaded.kernel_names()));
  }
  const std::uint64_t threads = spec.block.count();
  if (spec.grid.count() == 0 || threads == 0) {
    throw UserError(fmt::format("app {}: kernel {}: grid and block must not be empty", name_, kernel));
  }
  if (threads > 1024) {
    throw UserError(fmt::format("app {}: kernel {}: a block of {} threads; at most 1024 are possible", name_,
                                kernel, threads));
  }
  emulator::LaunchConfig config;
  config.grid = spec.grid;
  config.block = spec.block;
  config.dynamic_shared_bytes = spec.shared_bytes;
  config.parameters = std::move(parameters);
  config.cooperative = spec.cooperative;
  config.shared_banks = device_.config().shared.banks;
  config.max_warp_instructions = device_.config().runtime.max_warp_instructions;
  config.heap_bytes = spec.heap_bytes != 0 ? spec.heap_bytes : device_.config().runtime.heap_bytes;
  config.clock = clock_of(device_.config());
  config.textures_time = textures_time();
  const std::uint32_t ticket = config.ticket = device_launches_->new_ticket();
  std::unique_ptr<workload::KernelSource> source = make_kernel(loaded, *info, std::move(config));
  check_fits(*source);
  const bool family = source->launches();
  Stream& in = enter(spec.stream);
  if (family) device_launches_->begin_family(ticket, spec.stream);
  in.queue.emplace_back(Launch{std::move(source), spec.priority, family ? ticket : 0});
}

std::unique_ptr<workload::KernelSource> Context::make_kernel(emulator::LoadedModule& module,
                                                             const emulator::KernelInfo& kernel,
                                                             emulator::LaunchConfig config) const {
  const auto found = metadata_.find(kernel.code.name);
  workload::BlockMetadata metadata = found == metadata_.end() ? workload::BlockMetadata{} : found->second;
  const auto at = std::find_if(modules_.begin(), modules_.end(),
                               [&](const auto& other) { return other.get() == &module; });
  const auto id = static_cast<std::uint32_t>(at - modules_.begin());
  if (const auto known = registers_.find({id, kernel.code.name}); known != registers_.end())
    metadata.registers_per_thread = known->second;
  std::unique_ptr<workload::KernelSource> source = module.launch(kernel, std::move(config), metadata);
  check_tensor_units(kernel);
  return source;
}

void Context::check_tensor_units(const emulator::KernelInfo& kernel) const {
  const arch::MachineConfig& config = device_.config();
  if (config.units[static_cast<std::size_t>(isa::Unit::Tensor)].count > 0) return;
  const auto product = std::find_if(kernel.code.code.begin(), kernel.code.code.end(),
                                    [](const auto& inst) { return inst.op == isa::Opcode::Mma; });
  if (product == kernel.code.code.end()) return;
  throw UserError(
      fmt::format("app {}: kernel {}: it multiplies matrices (line {} of its PTX), and {} has no tensor "
                  "units (unit.tensor.count "
                  "is 0); v100, rtx2060, a100-measured and h100-measured have",
                  name_, kernel.code.name, product->line, config.name));
}

void Context::check_fits(const workload::KernelSource& kernel) const {
  const workload::BlockResources need = kernel.resources();
  const arch::SmConfig& sm = device_.config().sm;
  const arch::Occupancy occupancy =
      arch::occupancy(sm, need.threads, need.registers_per_thread, need.shared_bytes);
  if (occupancy.blocks == 0) {
    throw UserError(
        fmt::format("app {}: kernel {}: no SM of {} can hold a block of {} threads with {} registers each "
                    "and {} bytes of "
                    "shared memory (limited by {}; an SM has {} threads, {} registers, {} bytes)",
                    name_, kernel.name(), device_.config().name, need.threads, need.registers_per_thread,
                    need.shared_bytes, occupancy.limited_by, sm.max_threads, sm.registers, sm.shared_bytes));
  }
  if (!kernel.is_cooperative()) return;
  const std::uint64_t room = std::uint64_t{occupancy.blocks} * device_.config().sms;
  if (kernel.blocks() > room) {
    throw UserError(fmt::format(
        "app {}: kernel {}: a cooperative launch of {} blocks; {} has room for {} at a time, {} on "
        "each of {} SMs (limited by {})",
        name_, kernel.name(), kernel.blocks(), device_.config().name, room, occupancy.blocks,
        device_.config().sms, occupancy.limited_by));
  }
  const MostPlaces most = device_.most_places(app_);
  const std::uint32_t blocks = std::min(occupancy.blocks, most.blocks_per_sm);
  const std::uint64_t shared_room = std::uint64_t{blocks} * most.sms;
  if (kernel.blocks() > shared_room) {
    throw UserError(
        fmt::format("policy {}: app {}: kernel {}: a cooperative launch of {} blocks, which have to be "
                    "resident together; the policy has room for {} at a time, {} on each of {} SMs",
                    most.choice, name_, kernel.name(), kernel.blocks(), shared_room, blocks, most.sms));
  }
}

void Context::check_products(const workload::KernelSource& kernel) const {
  const arch::MachineConfig& config = device_.config();
  for (const isa::StaticInst& inst : kernel.static_table()) {
    if (inst.unit != isa::Unit::Tensor || config.tensor_cycles(inst) <= config.most_tensor_cycles()) continue;
    throw UserError(fmt::format(
        "app {}: kernel {}: a matrix product of {} multiply-adds a warp would take {} cycles on {} "
        "(unit.tensor.multiply_adds is {}); at most {}",
        name_, kernel.name(), inst.multiply_adds, config.tensor_cycles(inst), config.name,
        config.tensor_multiply_adds, config.most_tensor_cycles()));
  }
}

void Context::launch_source(const KernelMaker& make, StreamId on) {
  refuse_in_body("a launch of a trace");
  std::unique_ptr<workload::KernelSource> source = make(*memory_, device_.config().shared.banks);
  check_fits(*source);
  check_products(*source);
  enter(on).queue.emplace_back(Launch{std::move(source)});
}

void Context::copy_unseen(bool to_device, std::uint64_t offset, std::uint64_t bytes, StreamId on) {
  refuse_in_body("a copy of bytes of the host");
  Copy copy;
  copy.kind = to_device ? Copy::Kind::UnseenIn : Copy::Kind::UnseenOut;
  copy.to = memory_->cached(memory_->base()) + offset;
  copy.bytes = bytes;
  enter(on).queue.emplace_back(std::move(copy));
}

void Context::copy_pinned(HostCopy direction, Address to, Address from, std::uint64_t bytes, StreamId on) {
  if (keeps(on, [=, this] { copy_pinned(direction, to, from, bytes, on); })) return;
  Copy copy;
  copy.kind = direction == HostCopy::ToDevice ? Copy::Kind::PinnedIn : Copy::Kind::PinnedOut;
  copy.to = to;
  copy.from = from;
  copy.bytes = bytes;
  enter(on).queue.emplace_back(std::move(copy));
}

void Context::copy_to_box(const workload::BoxEnd& to, const workload::BoxSize& size,
                          std::span<const std::byte> from, StreamId on) {
  refuse_in_body("a copy of bytes of the host");
  workload::check_box(*memory_, to, size);
  Copy copy;
  copy.kind = Copy::Kind::BoxIn;
  copy.box = std::make_unique<const Copy::Box>(Copy::Box{to, {}, size});
  copy.bytes = from.size();
  copy.host_from = taken(from);
  enter(on).queue.emplace_back(std::move(copy));
}

void Context::copy_from_box(std::span<std::byte> to, const workload::BoxEnd& from,
                            const workload::BoxSize& size, StreamId on) {
  refuse_in_body("a copy to the host");
  workload::check_box(*memory_, from, size);
  Copy copy;
  copy.kind = Copy::Kind::BoxOut;
  copy.box = std::make_unique<const Copy::Box>(Copy::Box{{}, from, size});
  copy.bytes = to.size();
  copy.host_to = to.data();
  enter(on).queue.emplace_back(std::move(copy));
}

void Context::copy_box(const workload::BoxEnd& to, const workload::BoxEnd& from,
                       const workload::BoxSize& size, std::optional<HostCopy> link, StreamId on) {
  if (keeps(on, [=, this] { copy_box(to, from, size, link, on); })) return;
  for (const workload::BoxEnd& end : {to, from}) workload::check_box(*memory_, end, size);
  Copy copy;
  copy.kind = !link                         ? Copy::Kind::BoxOnDevice
              : *link == HostCopy::ToDevice ? Copy::Kind::BoxPinnedIn
                                            : Copy::Kind::BoxPinnedOut;
  copy.box = std::make_unique<const Copy::Box>(Copy::Box{to, from, size});
  copy.bytes = size.total();
  enter(on).queue.emplace_back(std::move(copy));
}

StreamId Context::create_stream() {
  streams_.emplace_back();
  return static_cast<StreamId>(streams_.size() - 1);
}

EventId Context::create_event() {
  events_.emplace_back();
  return static_cast<EventId>(events_.size() - 1);
}

void Context::record_event(EventId id, StreamId on) {
  enter_event(id);
  if (keeps(on, [=, this] { record_event(id, on); })) return;
  const std::size_t recording = event(id).completed.size();
  enter(on).queue.emplace_back(Record{id, recording});
  events_[id].completed.push_back(false);
}

void Context::stream_wait_event(StreamId on, EventId id) {
  enter_event(id);
  if (keeps(on, [=, this] { stream_wait_event(on, id); })) return;
  enter(on).queue.emplace_back(Wait{id, event(id).completed.size()});
}

Cycle Context::event_cycle(EventId id) const {
  if (event(id).completed.empty() || !event(id).completed.back()) {
    throw UserError(fmt::format("app {}: event {} has not completed", name_, id));
  }
  return event(id).cycle;
}

bool Context::is_idle(WaitFor::What what, std::uint32_t id) const {
  const auto stream_idle = [](const Stream& s) { return s.queue.empty() && !s.kernel_running; };
  switch (what) {
    case WaitFor::What::Device: return std::all_of(streams_.begin(), streams_.end(), stream_idle);
    case WaitFor::What::Stream: return stream_idle(stream(id));
    case WaitFor::What::Event: {
      const Event& waited = event(id);
      return waited.done(waited.completed.size());
    }
    case WaitFor::What::HostTime: return device_.now() >= host_until_;
    case WaitFor::What::Operation:
      return id != static_cast<std::uint32_t>(ended_operations_) ||
             std::all_of(streams_.begin(), streams_.end(), stream_idle);
  }
  return true;
}

void Context::wait_until_idle(WaitFor::What what, std::uint32_t id) { waiting_ = {what, id}; }

void Context::host_time_begins(std::uint64_t ns) {
  const double cycles = static_cast<double>(ns) * 1e-9 * device_.config().clocks.core * 1e6;
  host_until_ = device_.now() + static_cast<Cycle>(std::ceil(cycles));
}

}  // namespace gpumux::runtime
