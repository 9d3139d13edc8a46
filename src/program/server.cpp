#include "program/server.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "program/machine_code.hpp"
#include "ptx/limits.hpp"
#include "ptx/unit_reader.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::program {
namespace {

constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint32_t kMostBlockZ = 64;
constexpr std::uint32_t kMostGridX = 0x7fff'ffff;
constexpr std::uint32_t kMostGridYZ = 65535;
constexpr std::uint32_t kUsualShared = 48U << 10U;  // default limit per block
constexpr std::uint32_t kConstantBytes = 64U << 10U;
constexpr std::uint64_t kMostPendingLaunches = std::uint64_t{1} << 40U;
/// Part of symbol names in NVIDIA's device run time, which nvcc links to all relocatable code of PTX alone.
constexpr std::string_view kDeviceRuntime = "_cuda_device_runtime_cu_";

std::uint32_t most_shared(const arch::MachineConfig& machine) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(machine.sm.shared_bytes, ptx::kMaxSharedBytes));
}

Dim3 dim3(const Extent& of) { return {of.x, of.y, of.z}; }

/// Bytes from the first byte to the last of rows with this pitch. 0 if no memory can be so large.
std::uint64_t span_of(std::uint64_t bytes, std::uint64_t rows, std::uint64_t pitch) {
  if (bytes > kDeviceBytes || rows > kDeviceBytes || pitch > kDeviceBytes || rows == 0) return 0;
  if (rows > 1 && pitch != 0 && rows - 1 > kDeviceBytes / pitch) return 0;
  return (rows - 1) * pitch + bytes;
}

/// Throws UserError for PTX with a kernel that cannot be compiled.
void check_kernels(const std::string& text, const std::string& file, const arch::MachineConfig& machine) {
  ptx::CompileOptions options;
  options.level = machine.code;
  for (const auto& [name, kernel] : emulator::compile_module(text, file, options)->kernels) kernel.check();
}

}  // namespace

void ProgramErrors::outside(const std::string& message) {
  if (!heard_) return;
  fmt::print(stderr, "{}: a GPU lets it pass, since other memory lies on the same page of 2 MB\n",
             std::string_view(message).substr(std::string_view("error: ").size()));
}

void ProgramErrors::assertion(const std::string& line) {
  if (heard_) fmt::print(stderr, "{}", line);
}

void ProgramErrors::has_ended(const std::string& message) {
  if (!heard_) return;
  fmt::print(stderr, "{}: the program's CUDA calls return error {} from now on\n",
             std::string_view(message).substr(std::string_view("error: ").size()),
             static_cast<std::uint32_t>(code()));
}

Error ProgramErrors::code() const {
  if (!ended()) return Error::Success;
  switch (*ended()) {
    case emulator::FaultKind::IllegalAddress: return Error::IllegalAddress;
    case emulator::FaultKind::MisalignedAddress: return Error::MisalignedAddress;
    case emulator::FaultKind::Assertion: return Error::Assert;
    case emulator::FaultKind::Other: break;
  }
  return Error::LaunchFailure;
}

Server::Server(std::string name, runtime::Host& host, Process& process, const MemoryFile& memory,
               PrintedText& printed, const ProgramErrors* errors)
    : name_(std::move(name)),
      host_(host),
      process_(process),
      memory_(memory),
      printed_(printed),
      errors_(errors) {
  Stream& legacy = streams_.emplace_back();
  legacy.order = host_.create_event();
  if (host_.wants_host_writes()) shared_.emplace(host_.memory(), memory_.descriptor());
}

void Server::take_arguments(std::span<std::byte> to) const {
  if (request_.arguments.size() != to.size()) {
    throw UserError(
        fmt::format("{}: call {} of its CUDA run time has {} bytes of arguments, not {}: it is of another "
                    "build than gpumux",
                    name_, static_cast<std::uint32_t>(request_.call), request_.arguments.size(), to.size()));
  }
  std::memcpy(to.data(), request_.arguments.data(), to.size());
}

Process::Event Server::receive() { return process_.receive(request_); }

void Server::answer() {
  if (wait_ && shared_) shared_->learn();  // writes of the device during the wait are no writes of the host
  if (after_wait_) after_wait_();
  after_wait_ = {};
  wait_.reset();
  free_delayed();
  if (const Error lasting = errors_ == nullptr ? Error::Success : errors_->code(); lasting != Error::Success)
    error_ = lasting;
  process_.answer(error_, std::as_bytes(std::span(result_)), printed_.take(),
                  std::as_bytes(std::span(tail_)));
}

void Server::perform() {
  error_ = Error::Success;
  result_.clear();
  tail_.clear();
  if (request_.call == Call::HostOrderVaries) {  // valid in any state of the program, even after faults
    static_cast<void>(arguments<Nothing>());
    host_order_varies_ = true;
    return;
  }
  if (errors_ != nullptr && errors_->ended()) return;
  if (in_body_ && !is_possible_in_body()) return fail(Error::InvalidValue);
  perform_call();
  if (wait_) record_host_writes();
}

void Server::record_host_writes() {
  if (shared_)
    shared_->tell_writes([&](Address to, std::span<const std::byte> what) { host_.host_write(to, what); });
}

void Server::perform_call() {
  switch (request_.call) {
    case Call::Hello: return hello();
    case Call::LoadModule: return load_module();
    case Call::TakeRegisters: return take_registers();
    case Call::KernelNames: return kernel_names();
    case Call::FindKernel: return find_kernel();
    case Call::FindVariable: return find_variable();
    case Call::Allocate: return allocate();
    case Call::Free: return free();
    case Call::FreeInStream: return free_in_stream();
    case Call::MapHost: return map_host();
    case Call::UnmapHost: return unmap_host();
    case Call::Transfer: return transfer();
    case Call::Fill: return fill();
    case Call::WriteConstant: return write_constant();
    case Call::ReadConstant: return read_constant();
    case Call::Launch: return launch();
    case Call::ActiveBlocks: return active_blocks();
    case Call::CreateStream: return create_stream();
    case Call::SetStreamPriority: return set_stream_priority();
    case Call::DestroyStream: return destroy_stream();
    case Call::QueryStream: {
      Stream* const asked = stream(arguments<StreamNumber>().stream);
      if (asked != nullptr) query(host_.synchronize(enter(*asked)));
      return;
    }
    case Call::WaitForStream: return wait_for_stream();
    case Call::StreamWaitsForEvent: return stream_waits_for_event();
    case Call::CreateEvent: return create_event();
    case Call::DestroyEvent: return destroy_event();
    case Call::RecordEvent: return record_event();
    case Call::QueryEvent: return query_event();
    case Call::IsEventOver: return is_event_over();
    case Call::WaitForEvent: return wait_for_event();
    case Call::ElapsedTime: return elapsed_time();
    case Call::WaitForDevice: return wait_for_all();
    case Call::MemoryInfo: return memory_info();
    case Call::CreateArray: return create_array();
    case Call::CopyBox: return copy_box();
    case Call::CreateTexture: return create_texture();
    case Call::DestroyTexture:
    case Call::DestroySurface: return destroy_texture();
    case Call::CreateSurface: return create_surface();
    case Call::BeginBody: return begin_body();
    case Call::EndBody: return end_body();
    case Call::EnqueueCondition: return enqueue_condition();
    case Call::LimitPendingLaunches: return limit_pending_launches();
    case Call::RefusedLibrary:
      static_cast<void>(arguments<Nothing>());
      if (refused_library_.empty()) refused_library_ = request_.tail;
      return;
    case Call::RefusedLaunch:
      static_cast<void>(arguments<Nothing>());
      if (refused_launch_.empty()) refused_launch_ = request_.tail;
      return;
    case Call::HostOrderVaries: return;  // handled in perform()
    case Call::Finish: return finish();
  }
  throw UserError(fmt::format("{}: its CUDA run time makes call {}, which this gpumux does not know", name_,
                              static_cast<std::uint32_t>(request_.call)));
}

void Server::hello() {
  const auto of = arguments<HelloArguments>();
  if (of.protocol != kProtocolVersion) return fail(Error::InitializationError);
  // Only one process of a program can be served.
  if (process_number_ != 0 && process_number_ != of.process) return fail(Error::NotSupported);
  process_number_ = of.process;
  process_.serve_sender();
  result(describe_device());
}

DeviceDescription Server::describe_device() const {
  const arch::MachineConfig& machine = host_.machine();
  const workload::DeviceMemory& memory = host_.memory();
  DeviceDescription of{};
  of.memory_base = memory.base();
  of.memory_bytes = memory.reserved_bytes();
  machine.name.copy(of.name.data(), of.name.size() - 1);
  of.total_memory = memory.reserved_bytes();
  of.constant_bytes = kConstantBytes;
  of.core_mhz = machine.clocks.core;
  of.dram_mhz = machine.clocks.dram;
  of.dram_bus_bits = machine.l2.partitions * machine.dram.bus_bytes * 8;
  of.l2_bytes = machine.l2.partitions * machine.l2.slices_per_partition * machine.l2.slice_bytes;
  of.sms = machine.sms;
  of.max_threads_per_sm = machine.sm.max_threads;
  of.max_blocks_per_sm = machine.sm.max_blocks;
  of.registers_per_sm = machine.sm.registers;
  of.shared_bytes_per_sm = machine.sm.shared_bytes;
  of.shared_bytes_most = most_shared(machine);
  of.shared_bytes_per_block = std::min(kUsualShared, of.shared_bytes_most);
  of.l1_caches_global = machine.l1.caches_global ? 1 : 0;
  of.capability = machine.runtime.compute_capability;
  const auto lanes = [&](isa::Unit unit) {
    const arch::UnitConfig& units = machine.units[static_cast<std::size_t>(machine.serving(unit))];
    return units.count * units.lanes;
  };
  of.sp_lanes_per_dp_lane = lanes(isa::Unit::Sp) / std::max(lanes(isa::Unit::Dp), 1U);
  of.heap_bytes = machine.runtime.heap_bytes;
  return of;
}

Server::Image Server::image_of(ModuleImage kind) {
  std::string architectures;
  if (kind == ModuleImage::Ptx) {
    const std::uint32_t number = texts_++;
    // A program's own PTX has no file name. Usually there is only one text, which gets no number.
    return {request_.tail, number == 0 ? name_ + ".ptx" : fmt::format("{}.{}.ptx", name_, number)};
  }
  if (kind == ModuleImage::FatBinary) {
    const FatBinary binary = read_fat_binary(std::as_bytes(std::span(request_.tail)), name_);
    if (const FatBinary::Ptx* const ptx = binary.best(host_.machine().runtime.compute_capability))
      return {ptx->text, fmt::format("{}.compute_{}.ptx", name_, ptx->architecture), ptx->architecture,
              registers_in(binary, ptx->architecture)};
    if (binary.machine_code.empty()) return {};
    for (const FatBinary::MachineCode& code : binary.machine_code)
      architectures += fmt::format("{}sm_{}", architectures.empty() ? " of " : ", ", code.architecture);
  }
  throw UserError({name_},
                  fmt::format("has its kernels as machine code{} alone, which is not executed here: compile "
                              "it with PTX, such as -gencode arch=compute_75,code=compute_75",
                              architectures));
}

void Server::load_module() {
  const auto of = arguments<LoadModuleArguments>();
  Image image = image_of(of.image);
  if (image.text.empty()) return fail(Error::InvalidKernelImage);
  try {
    if (of.check_only != 0) {
      const bool needs_others = image.text.find(".extern") != std::string::npos;
      if (!needs_others) return check_kernels(image.text, image.file, host_.machine());
      (void)ptx::read_unit({image.file, image.text});
      return;
    }
    if (of.part == 0) modules_.emplace_back();
    const std::uint32_t number = of.part == 0 ? static_cast<std::uint32_t>(modules_.size() - 1) : of.module;
    if (number >= modules_.size() || modules_[number].loaded) return fail(Error::InvalidValue);
    Module& module = modules_[number];
    // NVIDIA's device run time is left out. gpumux implements its functions, and its own kernels are never
    // launched by programs.
    if (of.parts == 1 || image.text.find(kDeviceRuntime) == std::string::npos) {
      if (module.file.empty() || image.architecture > module.architecture) module.file = image.file;
      module.architecture = std::max(module.architecture, image.architecture);
      const bool own = of.image == ModuleImage::Ptx;
      module.units.push_back({own ? image.file : fmt::format("{}, unit {}", name_, of.part + 1), image.text});
    }
    if (of.part + 1 == of.parts && !module.units.empty()) load(module, of.image == ModuleImage::Ptx);
    // If there are several units, nvcc's linker may still change their register counts.
    if (of.parts == 1) set_registers(module, std::move(image.registers));
    result(LoadModuleResult{number});
  } catch (const UserError& error) {
    if (of.heard == 0) throw;
    tail_ = error.what();
    fail(Error::InvalidPtx);
  }
}

void Server::load(Module& module, bool own) {
  const std::string text =
      module.units.size() == 1 ? std::move(module.units.front().text) : ptx::link(module.units);
  module.units.clear();
  if (own) check_kernels(text, module.file, host_.machine());
  module.loaded = host_.load_module(text, module.file);
}

Server::Registers Server::registers_in(const FatBinary& binary, std::uint32_t architecture) const {
  const FatBinary::MachineCode* const code =
      binary.code_for(host_.machine().runtime.compute_capability, architecture);
  if (code == nullptr) return {};
  const std::string image = read_machine_code(std::as_bytes(std::span(request_.tail)), name_, *code);
  return registers_of(std::as_bytes(std::span(image)), name_);
}

void Server::set_registers(Module& module, Registers registers) {
  if (!module.loaded) return;
  for (const auto& [name, count] : registers)
    if (host_.module(*module.loaded).find(name) != nullptr) host_.set_registers(*module.loaded, name, count);
  module.registers = std::move(registers);
}

void Server::take_registers() {
  const std::uint32_t number = arguments<TakeRegistersArguments>().module;
  if (!loaded_module(number)) return;
  Module& module = modules_[number];
  const FatBinary binary = read_fat_binary(std::as_bytes(std::span(request_.tail)), name_);
  set_registers(module, registers_in(binary, module.architecture));
}

std::optional<std::uint32_t> Server::loaded_module(std::uint32_t number) const {
  return number < modules_.size() ? modules_[number].loaded : std::nullopt;
}

void Server::kernel_names() {
  const std::optional<std::uint32_t> number = loaded_module(arguments<KernelNamesArguments>().module);
  if (!number) return fail(Error::InvalidResourceHandle);
  for (const std::string& name : host_.module(*number).kernel_names()) (tail_ += name) += '\n';
}

void Server::find_kernel() {
  const std::uint32_t of = arguments<FindKernelArguments>().module;
  const std::optional<std::uint32_t> number = loaded_module(of);
  if (!number) return fail(Error::InvalidResourceHandle);
  emulator::LoadedModule& module = host_.module(*number);
  const emulator::KernelInfo* const info = module.find(request_.tail);
  if (info == nullptr) return fail(Error::InvalidDeviceFunction);
  info->check();
  std::vector<KernelParameter> parameters;
  for (const isa::Param& parameter : info->code.params)
    parameters.push_back({parameter.offset, parameter.bytes});
  const isa::Module& whole = module.compiled().module;
  const auto known = modules_[of].registers.find(request_.tail);
  const std::uint32_t registers = known != modules_[of].registers.end() ? known->second : info->registers;
  result(KernelDescription{
      static_cast<std::uint32_t>(kernels_.size()), static_cast<std::uint32_t>(parameters.size()),
      info->code.param_bytes, registers, info->code.shared_bytes, info->code.local_bytes,
      static_cast<std::uint32_t>(whole.const_bank.size()), most_threads(*info, registers), whole.sm});
  tail_.assign(reinterpret_cast<const char*>(parameters.data()), parameters.size() * sizeof(KernelParameter));
  kernels_.push_back({*number, request_.tail, info, registers});
}

std::uint32_t Server::most_threads(const emulator::KernelInfo& info, std::uint32_t registers) const {
  std::uint32_t most = info.code.max_threads != 0 ? info.code.max_threads : kMostThreads;
  const auto fits = [&](std::uint32_t threads) {
    return arch::occupancy(host_.machine().sm, threads, registers, info.code.shared_bytes).blocks > 0;
  };
  while (most > kWarpSize && !fits(most)) most = (most - 1) / kWarpSize * kWarpSize;
  return most;
}

void Server::find_variable() {
  const auto of = arguments<FindVariableArguments>();
  const std::optional<std::uint32_t> number = loaded_module(of.module);
  if (!number) return fail(Error::InvalidResourceHandle);
  const std::uint64_t bytes = host_.module(*number).symbol_bytes(request_.tail);
  if (bytes == 0) return fail(Error::InvalidSymbol);
  const Address address = host_.symbol_address(*number, request_.tail);
  if (shared_ && of.managed != 0 && address != 0) shared_->add(address, bytes);
  result(VariableDescription{address, bytes, static_cast<std::uint32_t>(variables_.size())});
  variables_.push_back({*number, request_.tail});
}

void Server::allocate() {
  const auto of = arguments<AllocateArguments>();
  Address address = 0;
  try {
    address = host_.malloc_bytes(of.bytes);
  } catch (const SimulationFault&) {  // no room, for which programs may test
    return fail(Error::MemoryAllocation);
  }
  allocations_[address] = {of.bytes, of.kind};
  if (shared_ && of.kind != MemoryKind::Device) shared_->add(address, of.bytes);
  result(AllocateResult{address});
}

void Server::free() {
  const Address address = arguments<FreeArguments>().address;
  if (allocations_.erase(address) == 0) return fail(Error::InvalidValue);
  // Waits like cudaFree, because kernels may still use the memory.
  wait_for_all();
  after_wait_ = [this, address] { free_now(address); };
}

void Server::free_in_stream() {
  const auto of = arguments<FreeArguments>();
  if (of.stream != kAllStreams) {
    Stream* const after = stream(of.stream);
    if (after == nullptr) return;
    if (!allocations_.contains(of.address)) return fail(Error::InvalidValue);
    (void)enter(*after);  // counts as work of the stream
  }
  if (allocations_.erase(of.address) == 0) return fail(Error::InvalidValue);
  delayed_frees_.push_back({of.stream, of.address});
}

void Server::free_now(Address address) {
  if (shared_) shared_->remove(address);
  host_.free(address);
}

// Memory is freed when the program waits for a stream, not when the stream's work ends. So addresses depend
// only on the calls.
void Server::free_delayed() {
  std::erase_if(delayed_frees_, [&](const DelayedFree& delayed) {
    const bool ended = delayed.stream == kAllStreams
                           ? std::ranges::none_of(streams_, [](const Stream& each) { return each.unawaited; })
                           : !streams_[delayed.stream].unawaited;
    if (ended) free_now(delayed.address);
    return ended;
  });
}

void Server::map_host() {
  const auto of = arguments<MapHostArguments>();
  if (of.bytes == 0 || of.bytes > kDeviceBytes || !host_.memory().valid(of.device, of.bytes))
    return fail(Error::InvalidValue);
  host_.map_host(of.host, of.bytes, of.device);
}

void Server::unmap_host() { host_.unmap_host(arguments<UnmapHostArguments>().host); }

void Server::wait_for_all() {
  wait_ = host_.synchronize();
  for (Stream& each : streams_) each.unawaited = false;
}

/// Memory with a delayed free is not freed, since there are no more allocations.
void Server::finish() { wait_ = host_.synchronize(); }

void Server::wait_for(Stream& awaited) {
  wait_ = host_.synchronize(enter(awaited));
  awaited.unawaited = false;
}

void Server::transfer() {
  auto of = arguments<TransferArguments>();
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  const std::uint64_t to_bytes = span_of(of.row_bytes, of.rows, of.to_pitch);
  const std::uint64_t from_bytes = span_of(of.row_bytes, of.rows, of.from_pitch);
  const workload::DeviceMemory& memory = host_.memory();
  const bool to_staging = of.staged != 0 && of.direction == Direction::FromDevice;
  const bool from_staging = of.staged != 0 && of.direction == Direction::ToDevice;
  const auto is_right = [&](bool staged, Address address, std::uint64_t bytes) {
    return bytes != 0 && (staged ? bytes <= kStagingBytes : memory.valid(address, bytes));
  };
  const bool rows_meet = of.rows > 1 && (of.to_pitch < of.row_bytes || of.from_pitch < of.row_bytes);
  if (rows_meet || !is_right(to_staging, of.to, to_bytes) || !is_right(from_staging, of.from, from_bytes))
    return fail(Error::InvalidValue);
  if (of.to_pitch == of.row_bytes && of.from_pitch == of.row_bytes) {
    of.row_bytes *= of.rows;
    of.rows = 1;
  }
  const runtime::StreamId id = enter(*on);
  for (std::uint64_t row = 0; row < of.rows; ++row) {
    const Address to = of.to + row * of.to_pitch;
    const Address from = of.from + row * of.from_pitch;
    switch (of.direction) {
      case Direction::ToDevice:
        if (from_staging) {
          host_.copy_to_device(to, {memory_.staging() + row * of.from_pitch, of.row_bytes}, id);
        } else {
          host_.copy_pinned(runtime::HostCopy::ToDevice, to, from, of.row_bytes, id);
        }
        break;
      case Direction::FromDevice:
        if (to_staging) {
          host_.copy_from_device({memory_.staging() + row * of.to_pitch, of.row_bytes}, from, id);
        } else {
          host_.copy_pinned(runtime::HostCopy::FromDevice, to, from, of.row_bytes, id);
        }
        break;
      case Direction::OnDevice: host_.copy_on_device(to, from, of.row_bytes, id); break;
    }
  }
  if (of.blocking != 0) wait_for(*on);
}

void Server::fill() {
  const auto of = arguments<FillArguments>();
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  const std::uint64_t bytes = span_of(of.row_bytes, of.rows, of.pitch);
  const bool is_word = of.value_bytes == 1 || of.value_bytes == 2 || of.value_bytes == 4;
  const bool rows_meet = of.rows > 1 && of.pitch < of.row_bytes;
  if (bytes == 0 || rows_meet || !is_word || of.row_bytes % of.value_bytes != 0 ||
      !host_.memory().valid(of.to, bytes))
    return fail(Error::InvalidValue);
  const runtime::StreamId id = enter(*on);
  const std::uint32_t first = of.value & 0xffU;
  const std::uint32_t all = of.value_bytes == 2 ? first * 0x101U : first * 0x1010101U;
  if (of.value_bytes > 1 && of.value != all) return fill_with_words(of, id);
  for (std::uint64_t row = 0; row < of.rows; ++row)
    host_.fill(of.to + row * of.pitch, static_cast<std::uint8_t>(first), of.row_bytes, id);
}

/// Fills with a value of several different bytes. The value is written once, and the filled part is then
/// copied behind itself repeatedly.
void Server::fill_with_words(const FillArguments& of, runtime::StreamId id) {
  host_.copy_to_device(of.to, std::as_bytes(std::span(&of.value, 1)).first(of.value_bytes), id);
  for (std::uint64_t there = of.value_bytes; there < of.row_bytes; there *= 2)
    host_.copy_on_device(of.to + there, of.to, std::min(there, of.row_bytes - there), id);
  for (std::uint64_t row = 1; row < of.rows; ++row)
    host_.copy_on_device(of.to + row * of.pitch, of.to, of.row_bytes, id);
}

void Server::write_constant() {
  const auto of = arguments<WriteConstantArguments>();
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  if (of.variable >= variables_.size()) return fail(Error::InvalidSymbol);
  const Variable& variable = variables_[of.variable];
  const std::uint64_t bytes = host_.module(variable.module).symbol_bytes(variable.name);
  if (of.offset > bytes || request_.tail.size() > bytes - of.offset) return fail(Error::InvalidValue);
  const runtime::StreamId id = enter(*on);
  host_.copy_to_symbol(variable.module, variable.name, of.offset, std::as_bytes(std::span(request_.tail)),
                       id);
  if (of.blocking != 0) wait_for(*on);
}

void Server::read_constant() {
  const auto of = arguments<ReadConstantArguments>();
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  if (of.variable >= variables_.size()) return fail(Error::InvalidSymbol);
  const Variable variable = variables_[of.variable];
  const std::uint64_t bytes = host_.module(variable.module).symbol_bytes(variable.name);
  if (of.offset > bytes || of.bytes > bytes - of.offset) return fail(Error::InvalidValue);
  wait_for(*on);
  after_wait_ = [this, of, variable] {
    tail_.resize(of.bytes);
    host_.module(variable.module)
        .read_const(variable.name, of.offset, std::as_writable_bytes(std::span(tail_)));
  };
}

Error Server::check_launch(const LaunchArguments& of, const Kernel& kernel) const {
  const arch::MachineConfig& machine = host_.machine();
  const std::uint64_t threads = dim3(of.block).count();
  if (dim3(of.grid).count() == 0 || threads == 0 || threads > kMostThreads || of.block.x > kMostThreads ||
      of.block.y > kMostThreads || of.block.z > kMostBlockZ || of.grid.x > kMostGridX ||
      of.grid.y > kMostGridYZ || of.grid.z > kMostGridYZ)
    return Error::InvalidConfiguration;
  const isa::Function& code = kernel.info->code;
  const std::uint64_t shared = std::uint64_t{code.shared_bytes} + of.shared_bytes;
  if (shared > most_shared(machine)) return Error::InvalidValue;
  const arch::Occupancy occupancy = arch::occupancy(machine.sm, static_cast<std::uint32_t>(threads),
                                                    kernel.registers, static_cast<std::uint32_t>(shared));
  if (occupancy.blocks == 0 || (code.max_threads != 0 && threads > code.max_threads))
    return Error::LaunchOutOfResources;
  const std::uint64_t resident = std::uint64_t{occupancy.blocks} * machine.sms;
  if (of.cooperative != 0 && dim3(of.grid).count() > resident) return Error::CooperativeLaunchTooLarge;
  return Error::Success;
}

void Server::launch() {
  const auto of = arguments<LaunchArguments>();
  if (of.kernel >= kernels_.size()) return fail(Error::InvalidDeviceFunction);
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  const Kernel& kernel = kernels_[of.kernel];
  if (const Error error = check_launch(of, kernel); error != Error::Success) return fail(error);
  runtime::LaunchSpec spec;
  spec.grid = dim3(of.grid);
  spec.block = dim3(of.block);
  spec.shared_bytes = of.shared_bytes;
  spec.stream = enter(*on);
  spec.cooperative = of.cooperative != 0;
  spec.heap_bytes = of.heap_bytes;
  if (of.priority != kStreamsPriority && of.priority > kGreatestPriority) return fail(Error::InvalidValue);
  spec.priority = of.priority == kStreamsPriority ? on->priority : static_cast<std::uint8_t>(of.priority);
  host_.launch_raw(kernel.module, kernel.name, spec, std::move(request_.tail));
  ++launches_;
}

void Server::limit_pending_launches() {
  const auto of = arguments<LimitPendingLaunchesArguments>();
  if (of.launches > kMostPendingLaunches) return fail(Error::InvalidValue);
  host_.limit_pending_launches(of.launches);
}

void Server::active_blocks() {
  const auto of = arguments<ActiveBlocksArguments>();
  if (of.kernel >= kernels_.size()) return fail(Error::InvalidDeviceFunction);
  const Kernel& kernel = kernels_[of.kernel];
  const arch::MachineConfig& machine = host_.machine();
  const std::uint64_t shared = kernel.info->code.shared_bytes + of.shared_bytes;
  std::uint32_t blocks = 0;
  if (of.threads <= kMostThreads && shared <= most_shared(machine)) {
    blocks =
        arch::occupancy(machine.sm, of.threads, kernel.registers, static_cast<std::uint32_t>(shared)).blocks;
  }
  result(ActiveBlocksResult{blocks});
}

Server::Stream* Server::stream(std::uint32_t number) {
  if (number < streams_.size() && streams_[number].alive) return &streams_[number];
  fail(Error::InvalidResourceHandle);
  return nullptr;
}

Server::Event* Server::event(std::uint32_t number) {
  if (number < events_.size() && events_[number].alive) return &events_[number];
  fail(Error::InvalidResourceHandle);
  return nullptr;
}

runtime::StreamId Server::enter(Stream& stream) {
  Stream& legacy = streams_.front();
  stream.unawaited = true;
  if (&stream == &legacy) {
    for (Stream& other : streams_) {
      if (!other.unseen_work) continue;
      host_.record_event(other.order, other.id);
      host_.stream_wait_event(legacy.id, other.order);
      other.unseen_work = false;
    }
    ++default_works_;
    return legacy.id;
  }
  if (!stream.blocking) return stream.id;
  stream.unseen_work = true;
  if (stream.default_works < default_works_) {
    if (default_recorded_ < default_works_) host_.record_event(legacy.order, legacy.id);
    default_recorded_ = default_works_;
    host_.stream_wait_event(stream.id, legacy.order);
    stream.default_works = default_works_;
  }
  return stream.id;
}

void Server::create_stream() {
  const auto of = arguments<CreateStreamArguments>();
  if (of.priority > kGreatestPriority) return fail(Error::InvalidValue);
  // A stream that may have work is not reused, because its work may wait for other work.
  const auto idle =
      std::ranges::find_if(idle_streams_, [&](std::uint32_t number) { return !streams_[number].unawaited; });
  std::uint32_t number = static_cast<std::uint32_t>(streams_.size());
  if (of.of_body == 0 && idle != idle_streams_.end()) {
    number = *idle;
    idle_streams_.erase(idle);
  } else {
    Stream& made = streams_.emplace_back();
    made.id = host_.create_stream();
    made.order = host_.create_event();
  }
  streams_[number].alive = true;
  streams_[number].blocking = of.non_blocking == 0;
  streams_[number].priority = static_cast<std::uint8_t>(of.priority);
  streams_[number].of_body = of.of_body != 0;
  result(StreamNumber{number});
}

void Server::set_stream_priority() {
  const auto of = arguments<SetStreamPriorityArguments>();
  Stream* const set = stream(of.stream);
  if (set == nullptr) return;
  if (of.priority > kGreatestPriority) return fail(Error::InvalidValue);
  set->priority = static_cast<std::uint8_t>(of.priority);
}

void Server::destroy_stream() {
  const std::uint32_t number = arguments<StreamNumber>().stream;
  Stream* const destroyed = stream(number);
  if (destroyed == nullptr) return;
  if (number == 0) return fail(Error::InvalidResourceHandle);
  destroyed->alive = false;  // its work continues
  if (!destroyed->of_body) idle_streams_.push_back(number);
}

void Server::query(runtime::Host::WaitFor wait) {
  if (seen_over(wait)) return;
  // Without progress of time, a program that polls in a loop would never end. So the query first waits for
  // the end of some operation.
  wait_ = host_.next_operation();
  after_wait_ = [this, wait] {
    if (!seen_over(wait)) fail(Error::NotReady);
  };
}

bool Server::seen_over(const runtime::Host::WaitFor& wait) {
  if (!wait.over()) return false;
  static_cast<void>(wait.await_ready());  // the program knows the same as after a wait
  wait.await_resume();
  return true;
}

void Server::wait_for_stream() {
  Stream* const awaited = stream(arguments<StreamNumber>().stream);
  if (awaited != nullptr) wait_for(*awaited);
}

void Server::stream_waits_for_event() {
  const auto of = arguments<EventInStream>();
  const Event* const awaited = event(of.event);
  Stream* const waiting = stream(of.stream);
  if (awaited == nullptr || waiting == nullptr) return;
  if (awaited->recorded) host_.stream_wait_event(enter(*waiting), awaited->id);
}

void Server::create_event() {
  std::uint32_t number = static_cast<std::uint32_t>(events_.size());
  const bool of_body = arguments<CreateEventArguments>().of_body != 0;
  if (of_body || idle_events_.empty()) {
    events_.push_back({host_.create_event()});
    events_.back().of_body = of_body;
  } else {
    number = idle_events_.back();
    idle_events_.pop_back();
    events_[number].alive = true;
    events_[number].recorded = false;
  }
  result(EventNumber{number});
}

void Server::destroy_event() {
  const std::uint32_t number = arguments<EventNumber>().event;
  Event* const destroyed = event(number);
  if (destroyed == nullptr) return;
  destroyed->alive = false;
  if (!destroyed->of_body) idle_events_.push_back(number);
}

void Server::record_event() {
  const auto of = arguments<EventInStream>();
  Event* const recorded = event(of.event);
  Stream* const on = stream(of.stream);
  if (recorded == nullptr || on == nullptr) return;
  recorded->recorded = true;
  host_.record_event(recorded->id, enter(*on));
}

void Server::query_event() {
  const Event* const asked = event(arguments<EventNumber>().event);
  if (asked != nullptr && asked->recorded) query(host_.synchronize_event(asked->id));
}

void Server::is_event_over() {
  const Event* const asked = event(arguments<EventNumber>().event);
  if (asked == nullptr) return;
  const bool over = !asked->recorded || host_.synchronize_event(asked->id).over();
  result(EventState{over ? 1U : 0U});
}

void Server::wait_for_event() {
  const Event* const awaited = event(arguments<EventNumber>().event);
  if (awaited != nullptr && awaited->recorded) wait_ = host_.synchronize_event(awaited->id);
}

void Server::elapsed_time() {
  const auto of = arguments<ElapsedTimeArguments>();
  const Event* const begin = event(of.begin);
  const Event* const end = event(of.end);
  if (begin == nullptr || end == nullptr) return;
  if (!begin->recorded || !end->recorded) return fail(Error::InvalidResourceHandle);
  for (const Event* const of_both : {begin, end})
    if (!host_.synchronize_event(of_both->id).over()) return fail(Error::NotReady);
  const double cycles =
      static_cast<double>(host_.event_cycle(end->id)) - static_cast<double>(host_.event_cycle(begin->id));
  result(ElapsedTimeResult{cycles / (host_.machine().clocks.core * 1e3)});
}

void Server::memory_info() {
  const workload::DeviceMemory& memory = host_.memory();
  result(MemoryInfoResult{memory.reserved_bytes() - memory.allocated_bytes(), memory.reserved_bytes()});
}

}  // namespace gpumux::program
