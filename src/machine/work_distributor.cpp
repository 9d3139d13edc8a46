#include "machine/work_distributor.hpp"

#include <algorithm>
#include <bit>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "workload/replay_stream.hpp"

namespace gpumux::machine {

using policy::RunningKernel;

WorkDistributor::WorkDistributor(const arch::MachineConfig& config, Parts& parts,
                                 std::vector<arch::Instance> instances)
    : config_(config),
      parts_(parts),
      instances_(std::move(instances)),
      next_sm_(instances_.size(), 0),
      slots_(arch::kMaxKernelSlots),
      last_kernel_(config.sms, kNoKernel),
      all_places_(config.sm.max_blocks >= 64 ? ~std::uint64_t{0}
                                             : (std::uint64_t{1} << config.sm.max_blocks) - 1),
      free_places_(config.sms, all_places_),
      duties_(config.sms),
      blocks_(std::size_t{config.sms} * config.sm.max_blocks),
      folded_(kMaxApps),
      folded_stalls_(config.sms, 0) {
  offered_.reserve(config.sms);
  busy_until_.assign(std::max<std::size_t>(instances_.size(), 1), 0);
}

void WorkDistributor::submit(runtime::Context& context, std::uint32_t stream,
                             std::unique_ptr<workload::KernelSource> kernel, std::uint8_t priority) {
  const Cycle arrival = parts_.now() + config_.runtime.kernel_launch_latency;
  put({&context, stream, std::move(kernel), arrival, priority});
}

void WorkDistributor::submit_child(runtime::Context& context, std::uint32_t stream,
                                   std::unique_ptr<workload::KernelSource> kernel, bool refilling) {
  const Cycle arrival = refilling ? parts_.windows().end(parts_.now()) : parts_.now();
  put({&context, stream, std::move(kernel), arrival, 0});
}

void WorkDistributor::put(Submitted submitted) {
  GPUMUX_CHECK(parts_.none_beyond(submitted.arrival));
  const auto later = std::find_if(submitted_.rbegin(), submitted_.rend(),
                                  [&](const Submitted& other) { return other.arrival <= submitted.arrival; });
  submitted_.insert(later.base(), std::move(submitted));
}

void WorkDistributor::copied_to_device(AppId app, Address to, std::uint64_t bytes) {
  if (!config_.runtime.copies_write_l2 || bytes == 0) return;
  // Copies take as long as a launch, so that a kernel launched after the copy finds the data.
  copied_.push_back({app, to, bytes, parts_.now() + config_.runtime.kernel_launch_latency});
}

void WorkDistributor::set_dispatch_order(const std::vector<arch::KernelSlot>& order) {
  dispatch_order_ = order;
  look_again();
}

void WorkDistributor::set_duty(SmId sm, policy::SmDuty duty) {
  Duty& of = duties_[sm];
  if (of.duty == duty) return;
  of.duty = duty;
  if (duty == policy::SmDuty::Gated) {
    if (!holds_blocks(sm)) of.gated_since = parts_.now();
  } else if (of.gated_since != kNever) {
    gated_cycles_ += parts_.now() - of.gated_since;
    of.gated_since = kNever;
    of.powered_at = parts_.windows().from(parts_.now() + config_.sm.power_up_latency);
    parts_.sm(sm).flush_l1();
  }
  look_again();
}

void WorkDistributor::kill(runtime::Context& context, Mechanisms& mechanisms) {
  std::vector<std::uint32_t> streams;
  std::erase_if(submitted_, [&](const Submitted& submitted) {
    if (submitted.context == &context) streams.push_back(submitted.stream);
    return submitted.context == &context;
  });
  for (const std::uint32_t stream : streams) {
    context.kernel_began(stream);
    context.kernel_ended(stream);
  }
  std::vector<arch::KernelSlot> killed;
  for (RunningKernel& kernel : running_) {
    Slot& slot = slots_[kernel.slot];
    if (slot.context != &context) continue;
    slot.killed = true;
    killed.push_back(kernel.slot);
    for (const std::uint32_t residency : slot.waiting) {
      blocks_[residency].lives = false;
      blocks_[residency].stream.reset();
      blocks_[residency].context.reset();
    }
    kernel.blocks_dispatched -= slot.waiting.size();
    kernel.blocks_waiting = 0;
    slot.waiting.clear();
    kernel.blocks_total = kernel.blocks_dispatched;
    for (std::uint32_t i = 0; i < parts_.sms(); ++i) parts_.sm(i).kill_blocks(kernel.slot);
  }
  for (const arch::KernelSlot slot : killed)
    if (running(slot).blocks_done == running(slot).blocks_total) end_kernel(slot, mechanisms);
  look_again();
}

void WorkDistributor::drop() {
  submitted_.clear();
  slots_.clear();
}

// --- admission ----------------------------------------------------------------------------------------

void WorkDistributor::admit_copies() {
  for (; !copied_.empty() && copied_.front().arrival <= parts_.now(); copied_.pop_front()) {
    const auto& [app, to, bytes, arrival] = copied_.front();
    for (std::uint64_t line = to / kLineBytes; line <= (to + bytes - 1) / kLineBytes; ++line)
      parts_.partition_of(line).preload_line(line, app);
  }
}

std::size_t WorkDistributor::free_slot() const {
  const auto free = std::find_if(slots_.begin(), slots_.end(),
                                 [](const Slot& slot) { return slot.state == Slot::State::Free; });
  return static_cast<std::size_t>(free - slots_.begin());
}

std::size_t WorkDistributor::entries() const {
  if (config_.runtime.kernel_leaves == arch::KernelLeaves::Ended) return running_.size();
  return static_cast<std::size_t>(std::count_if(
      running_.begin(), running_.end(),
      [](const RunningKernel& kernel) { return kernel.blocks_dispatched < kernel.blocks_total; }));
}

bool WorkDistributor::room_for_kernel() const {
  return entries() < std::min<std::size_t>(config_.runtime.max_concurrent_kernels, arch::kMaxKernelSlots) &&
         free_slot() != slots_.size();  // otherwise the ended kernels still drain
}

void WorkDistributor::admit_kernels(Mechanisms& mechanisms) {
  while (const std::optional<std::size_t> next = next_admitted(mechanisms)) {
    Submitted submitted = std::move(submitted_[*next]);
    submitted_.erase(submitted_.begin() + static_cast<std::ptrdiff_t>(*next));
    const bool grid = submitted.source->is_cooperative();
    admit(std::move(submitted), mechanisms);
    if (grid) break;  // the grid gets its places before further kernels share the machine with it
  }
  if (config_.runtime.launch_when_full == arch::WhenFull::Fail && kernel_has_arrived() &&
      !kernel_waits_for_slot() && !is_kept_waiting(submitted_.front(), mechanisms))
    throw SimulationFault(
        fmt::format("error: app {}: launch of kernel {}: the GPU has {} running, and takes no more "
                    "(runtime.max_concurrent_kernels); runtime.launch_when_full = \"wait\" lets it wait",
                    submitted_.front().context->name(), submitted_.front().source->name(), entries()));
}

void WorkDistributor::admit(Submitted submitted, Mechanisms& mechanisms) {
  const auto id = static_cast<arch::KernelSlot>(free_slot());
  Slot& slot = slots_[id];
  slot.state = Slot::State::Running;
  slot.context = submitted.context;
  slot.stream = submitted.stream;
  slot.app = submitted.context->app();
  slot.source = std::move(submitted.source);
  slot.last_block_takes = least_time(*slot.source);
  slot.in_family = slot.source->launches() || (slot.stream & runtime::DeviceLaunches::kChild) != 0;
  families_ += slot.in_family ? 1 : 0;
  slot.context->kernel_began(slot.stream);

  RunningKernel kernel;
  kernel.slot = id;
  kernel.app = slot.app;
  kernel.name = slot.source->name();
  kernel.arrival = arrivals_++;
  kernel.priority = submitted.priority;
  if (kernel.priority != 0) ++prioritized_;
  kernel.arrival_cycle = parts_.now();
  kernel.resources = slot.source->resources();
  kernel.blocks_total = slot.source->blocks();
  kernel.max_blocks_per_sm = occupancy(config_.sm, kernel.resources.threads,
                                       kernel.resources.registers_per_thread, kernel.resources.shared_bytes)
                                 .blocks;
  kernel.cooperative = slot.source->is_cooperative();
  if (kernel.cooperative) {
    ++grids_;
    kernel.max_blocks_per_sm = std::min(kernel.max_blocks_per_sm, mechanisms.block_scheduler().most_blocks());
  }
  kernel.has_notices = slot.source->has_notices();
  if (mechanisms.needs().idempotence) kernel.idempotent = slot.source->is_idempotent();
  sm::KernelContext context;
  context.table = slot.source->static_table().data();
  context.table_size = static_cast<std::uint32_t>(slot.source->static_table().size());
  context.resources = kernel.resources;
  context.app = slot.app;
  context.code_address = slot.source->code_address();
  context.timing = std::make_shared<sm::TimingTable>(config_, context.table, context.table_size);
  context.refills_independently = slot.source->refills_independently();
  context.cooperative = kernel.cooperative;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    parts_.sm(i).bind_kernel(id, context);
    if (config_.l1.flush_at_kernel_start && (instances_.empty() || instances_[slot.app].has_sm(i)))
      parts_.sm(i).flush_l1();
  }
  running_.push_back(kernel);
  look_again();
  const bool child = (slot.stream & runtime::DeviceLaunches::kChild) != 0;
  const Cycle launched =
      child ? submitted.arrival : submitted.arrival - config_.runtime.kernel_launch_latency;
  mechanisms.kernel_arrived(running_.back(), {slot.source->grid(), slot.source->block(),
                                              slot.context->host_stream(slot.stream), launched});
}

Cycle WorkDistributor::least_time(const workload::KernelSource& source) const {
  GPUMUX_DCHECK(source.blocks() > 0);
  const std::uint64_t records = source.records(source.blocks() - 1);
  if (records == 0) return 0;  // the block may end at once, or is emulated
  // A scheduler issues at most one record per cycle.
  return config_.sm.block_launch_latency + (records - 1) / config_.sm.schedulers;
}

// --- dispatch -----------------------------------------------------------------------------------------

Cycle WorkDistributor::next_power_up() const {
  Cycle next = kNever;
  for (const Duty& of : duties_)
    if (of.powered_at > parts_.now()) next = std::min(next, of.powered_at);
  return next;
}

void WorkDistributor::dispatch(Mechanisms& mechanisms) {
  for (const Duty& of : duties_)
    if (of.powered_at == parts_.now()) look_again();
  if (may_place_) place_grids(mechanisms);
  const Cycle end = parts_.windows().end(parts_.now());
  bool some = false;
  for (Cycle start = parts_.now(); may_place_ && start < end; ++start) {
    may_place_ = dispatch_in(start, mechanisms);
    some = some || may_place_;
  }
  // A grid may have waited for the block that was placed. Grids are only considered between windows.
  if (some && grid_waits()) look_again();
}

/// Dispatches at most one block per SM. Returns false if no block could be placed.
bool WorkDistributor::dispatch_in(Cycle start, Mechanisms& mechanisms) {
  if (!instances_.empty()) {
    bool some = false;
    for (std::size_t i = 0; i < instances_.size(); ++i) some = dispatch_within(i, start, mechanisms) || some;
    return some;
  }
  if (start < busy_until_[0]) return true;
  std::uint32_t dispatched = 0;
  offered_.clear();
  mechanisms.block_scheduler().order(parts_.sms(), offered_);
  for (const SmId sm : offered_) {
    if (!dispatch_to(sm, start, mechanisms)) continue;
    if (++dispatched == config_.runtime.blocks_per_cycle) break;
  }
  return dispatched != 0;
}

bool WorkDistributor::dispatch_within(std::size_t instance, Cycle start, Mechanisms& mechanisms) {
  if (start < busy_until_[instance]) return true;
  const arch::Instance& within = instances_[instance];
  std::uint32_t dispatched = 0;
  const std::uint32_t first = next_sm_[instance];
  for (std::uint32_t i = 0; i < within.sms && dispatched < config_.runtime.blocks_per_cycle; ++i) {
    const std::uint32_t sm = (first + i) % within.sms;
    if (!dispatch_to(static_cast<SmId>(within.first_sm + sm), start, mechanisms)) continue;
    next_sm_[instance] = (sm + 1) % within.sms;
    ++dispatched;
  }
  return dispatched != 0;
}

namespace {

bool has_blocks_left(const RunningKernel& kernel) {
  return kernel.blocks_dispatched != kernel.blocks_total || kernel.blocks_waiting != 0;
}
/// True if the SM may take a block of the kernel as soon as it has room.
bool may_go_to(const sm::Sm& sm, const RunningKernel& kernel) {
  return has_blocks_left(kernel) && sm.resident_blocks(kernel.slot) < sm.block_limit(kernel.slot);
}

}  // namespace

bool WorkDistributor::has_room_for(SmId id, std::size_t order) {
  const sm::Sm& sm = parts_.sm(id);
  const RunningKernel& kernel = running(dispatch_order_[order]);
  return !kernel.cooperative &&  // cooperative grids are placed by place_grids()
         may_go_to(sm, kernel) && sm.fits(kernel.resources) && !is_held_back(sm, kernel) &&
         (reservations_.empty() || leaves_reservations(id, kernel, order));
}

/// True if a kernel of greater priority goes first, even if the SM has no room for its blocks yet. Otherwise
/// small blocks of other kernels would keep taking the room.
bool WorkDistributor::is_held_back(const sm::Sm& sm, const RunningKernel& kernel) {
  return prioritized_ != 0 &&
         std::any_of(dispatch_order_.begin(), dispatch_order_.end(), [&](arch::KernelSlot slot) {
           const RunningKernel& other = running(slot);
           return other.app == kernel.app && other.priority > kernel.priority && may_go_to(sm, other);
         });
}

bool WorkDistributor::priorities_matter() const {
  if (prioritized_ == 0) return false;
  return std::any_of(running_.begin(), running_.end(), [&](const RunningKernel& first) {
    return has_blocks_left(first) &&
           std::any_of(running_.begin(), running_.end(), [&](const RunningKernel& then) {
             return then.app == first.app && then.priority < first.priority && has_blocks_left(then);
           });
  });
}

bool WorkDistributor::dispatch_to(SmId id, Cycle start, Mechanisms& mechanisms) {
  if (duties_[id].duty != policy::SmDuty::Serves || start < duties_[id].powered_at) return false;
  // An SM with room for a waiting block does not go ahead, so this SM has no room.
  if (parts_.is_ahead(id)) return false;
  ready_.clear();
  for (std::size_t i = 0; i < dispatch_order_.size(); ++i)
    if (has_room_for(id, i)) ready_.push_back(dispatch_order_[i]);
  if (ready_.empty()) return false;
  if (takes_turns_) {
    const auto place_in_order = [this](arch::KernelSlot slot) {
      return std::find(dispatch_order_.begin(), dispatch_order_.end(), slot);
    };
    const auto last = place_in_order(last_kernel_[id]);
    std::rotate(ready_.begin(),
                std::find_if(ready_.begin(), ready_.end(),
                             [&](arch::KernelSlot slot) { return place_in_order(slot) > last; }),
                ready_.end());
  }
  const std::optional<arch::KernelSlot> chosen =
      mechanisms.block_scheduler().choose(id, parts_.settled_sm(id), ready_);
  if (!chosen) return false;
  GPUMUX_CHECK(std::find(ready_.begin(), ready_.end(), *chosen) != ready_.end());
  place(running(*chosen), id, start, mechanisms);
  return true;
}

void WorkDistributor::place(RunningKernel& kernel, SmId id, Cycle start, Mechanisms& mechanisms,
                            Cycle delay) {
  GPUMUX_CHECK(free_places_[id] != 0);
  const std::uint32_t place =
      id * config_.sm.max_blocks + static_cast<std::uint32_t>(std::countr_zero(free_places_[id]));
  free_places_[id] &= free_places_[id] - 1;
  last_kernel_[id] = kernel.slot;
  const std::uint64_t before = kernel.blocks_dispatched;
  const std::uint32_t residency = next_block(kernel, place, id, start + delay);
  Block& block = blocks_[residency];
  block.place = place;
  parts_.sm(id).launch_block(kernel.slot, residency, std::move(block.stream), start, block.context.get(),
                             delay);
  block.context.reset();
  mechanisms.block_began(kernel, block.index, place_of(place), start + delay);
  mechanisms.block_scheduler().placed(id, kernel.slot);
  parts_.wake(id, start);
  parts_.refill_now(id);
  if (kernel.blocks_dispatched != before && kernel.blocks_dispatched == kernel.blocks_total)
    mechanisms.kernel_fully_dispatched(kernel);
}

std::uint32_t WorkDistributor::next_block(RunningKernel& kernel, std::uint32_t place, SmId id, Cycle start) {
  Slot& slot = slots_[kernel.slot];
  if (!slot.waiting.empty()) {
    const std::uint32_t residency = slot.waiting.front();
    slot.waiting.pop_front();
    --kernel.blocks_waiting;
    blocks_[residency].stream->moved(id);
    return residency;
  }
  std::uint32_t residency = place;
  if (blocks_[residency].lives) {  // the block of that number has left its place, and waits or runs elsewhere
    const auto free = std::find_if(blocks_.begin() + config_.sms * config_.sm.max_blocks, blocks_.end(),
                                   [](const Block& other) { return !other.lives; });
    residency = static_cast<std::uint32_t>(free - blocks_.begin());
    if (free == blocks_.end()) blocks_.emplace_back();
  }
  Block& block = blocks_[residency];
  block.index = kernel.blocks_dispatched;
  block.lives = true;
  block.stream = slot.source->begin_block(block.index, residency, id, start);
  if (keeps_records_)
    block.stream =
        std::make_unique<workload::ReplayStream>(std::move(block.stream), slot.source->static_table());
  if (kernel.blocks_dispatched++ == 0) kernel.first_block_cycle = start;
  return residency;
}

policy::BlockPlace WorkDistributor::place_of(std::uint32_t number) const {
  return {static_cast<SmId>(number / config_.sm.max_blocks),
          static_cast<std::uint16_t>(number % config_.sm.max_blocks), number};
}

// --- collection ---------------------------------------------------------------------------------------

bool WorkDistributor::collect(bool ends_now, Mechanisms& mechanisms) {
  bool kernel_ended = false;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    if (!parts_.has_ended_blocks(i) || (parts_.is_ahead(i) && !ends_now)) continue;
    parts_.collect(i, [&](sm::FinishedBlock& block) {
      kernel_ended = take_back(block, static_cast<SmId>(i), mechanisms) || kernel_ended;
    });
  }
  return kernel_ended;
}

bool WorkDistributor::take_back(sm::FinishedBlock& block, SmId sm, Mechanisms& mechanisms) {
  const policy::BlockPlace place = place_of(blocks_[block.residency].place);
  free_places_[sm] |= std::uint64_t{1} << place.slot;
  if (duties_[sm].duty == policy::SmDuty::Gated && !holds_blocks(sm)) duties_[sm].gated_since = block.time;
  look_again();
  RunningKernel& kernel = running(block.kernel);
  const bool lost = block.left != sm::Left::Ended;
  if (lost && !slots_[block.kernel].killed) {
    GPUMUX_CHECK(mechanisms.needs().block_stops);
    wait(block, kernel);
    mechanisms.block_left(kernel, place, block.time);
    return false;
  }
  ++kernel.blocks_done;
  blocks_[block.residency].lives = false;
  if (lost) {  // killed together with its kernel
    block.stream.reset();
    mechanisms.block_ended(kernel, place, block.time);
    if (kernel.blocks_done < kernel.blocks_total) return false;
    end_kernel(block.kernel, mechanisms);
    return true;
  }
  ++kernel.whole_blocks;
  kernel.done_instructions += block.instructions;
  kernel.done_cycles += block.cycles;
  if (keeps_records_) block.stream = static_cast<workload::ReplayStream&>(*block.stream).release();
  slots_[block.kernel].source->end_block(std::move(block.stream));
  mechanisms.block_ended(kernel, place, block.time);
  if (kernel.blocks_done < kernel.blocks_total) return false;
  check_length(kernel, parts_.windows().of(parts_.now() - 1));
  end_kernel(block.kernel, mechanisms);
  return true;
}

void WorkDistributor::end_kernel(arch::KernelSlot slot, Mechanisms& mechanisms) {
  const RunningKernel ended = running(slot);
  if (ended.priority != 0) --prioritized_;
  if (ended.cooperative) {
    --grids_;
    small_shares_ &= ~(std::uint32_t{1} << slot);
    grid_is_alone_since_ = kNever;
  }
  std::erase_if(running_, [slot](const RunningKernel& k) { return k.slot == slot; });
  std::erase(dispatch_order_, slot);
  slots_[slot].state = Slot::State::Draining;
  families_ -= slots_[slot].in_family ? 1 : 0;
  mechanisms.kernel_ended(ended);
  slots_[slot].context->kernel_ended(slots_[slot].stream);
}

/// Keeps a block that has left its SM until another SM has room for it.
void WorkDistributor::wait(sm::FinishedBlock& block, RunningKernel& kernel) {
  Block& waiting = blocks_[block.residency];
  waiting.stream = std::move(block.stream);
  waiting.context = std::move(block.context);
  if (block.left == sm::Left::Dropped) {
    GPUMUX_CHECK(keeps_records_);
    static_cast<workload::ReplayStream&>(*waiting.stream).restart();
  }
  slots_[block.kernel].waiting.push_back(block.residency);
  ++kernel.blocks_waiting;
}

void WorkDistributor::recycle() {
  for (std::size_t id = 0; id < slots_.size(); ++id) {
    Slot& slot = slots_[id];
    if (slot.state != Slot::State::Draining) continue;
    const auto kernel = static_cast<arch::KernelSlot>(id);
    bool drained = true;
    for (std::uint32_t i = 0; i < parts_.sms() && drained; ++i) drained = parts_.sm(i).drained(kernel);
    if (!drained) continue;
    for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
      const arch::KernelCounters& counters = parts_.sm(i).counters(kernel);
      folded_[slot.app].add(counters);
      folded_stalls_[i] += counters.lsu_stall_cycles;
      parts_.sm(i).reset_counters(kernel);
    }
    slot = Slot{};
  }
}

// --- state ---------------------------------------------------------------------------------------------

std::uint32_t WorkDistributor::running_apps() const {
  std::uint32_t apps = 0;
  for (const RunningKernel& kernel : running_) apps |= 1U << kernel.app;
  return apps;
}

bool WorkDistributor::idle() const { return submitted_.empty() && !some_slot_is_used(); }

bool WorkDistributor::some_slot_is_used() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.state != Slot::State::Free; });
}

Cycle WorkDistributor::next_arrival() const {
  Cycle next = kNever;
  if (!submitted_.empty() && submitted_.front().arrival > parts_.now()) next = submitted_.front().arrival;
  if (grids_ != 0)  // kernels that have arrived may be kept waiting
    for (const Submitted& submitted : submitted_)
      if (submitted.arrival > parts_.now()) next = std::min(next, submitted.arrival);
  if (!copied_.empty()) next = std::min(next, copied_.front().arrival);
  return next;
}

bool WorkDistributor::blocks_wait() const {
  return std::any_of(running_.begin(), running_.end(), has_blocks_left);
}

RunningKernel& WorkDistributor::running(arch::KernelSlot slot) {
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const RunningKernel& k) { return k.slot == slot; });
  GPUMUX_CHECK(found != running_.end());
  return *found;
}

arch::KernelCounters WorkDistributor::app_counters(AppId app) const {
  arch::KernelCounters sum = folded_[app];
  for (std::size_t id = 0; id < slots_.size(); ++id) {
    if (slots_[id].state == Slot::State::Free || slots_[id].app != app) continue;
    for (std::uint32_t i = 0; i < parts_.sms(); ++i)
      sum.add(parts_.sm(i).counters(static_cast<arch::KernelSlot>(id)));
  }
  return sum;
}

std::uint64_t WorkDistributor::lsu_stalls(std::uint32_t sm) const {
  std::uint64_t stalls = folded_stalls_[sm];
  for (std::size_t id = 0; id < slots_.size(); ++id) {
    if (slots_[id].state != Slot::State::Free)
      stalls += parts_.sm(sm).counters(static_cast<arch::KernelSlot>(id)).lsu_stall_cycles;
  }
  return stalls;
}

std::uint64_t WorkDistributor::powered_sm_cycles() const {
  std::uint64_t gated = gated_cycles_;
  for (const Duty& of : duties_)
    if (of.gated_since < parts_.now()) gated += parts_.now() - of.gated_since;
  return parts_.now() * duties_.size() - gated;
}

// --- reports ------------------------------------------------------------------------------------------

void WorkDistributor::check_length(const RunningKernel& kernel, Cycle now) const {
  const Cycle limit = config_.runtime.max_kernel_cycles;
  if (limit == 0 || kernel.blocks_dispatched == 0) return;
  // A kernel may start and end within one window, after `now`.
  if (now <= kernel.first_block_cycle || now - kernel.first_block_cycle <= limit) return;
  const std::string waits = wait_report();
  throw SimulationFault(
      fmt::format("error: app {}: kernel {}: endless: it has run for more than {} cycles "
                  "(runtime.max_kernel_cycles)\n{}{}",
                  slots_[kernel.slot].context->name(), kernel.name, limit, whereabouts(kernel.slot), waits));
}

std::string WorkDistributor::whereabouts(arch::KernelSlot slot) const {
  constexpr std::size_t kMostWarps = 4;
  std::string where;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    const auto named = static_cast<std::size_t>(std::count(where.begin(), where.end(), '\n'));
    if (named >= kMostWarps) break;
    where += parts_.sm(i).whereabouts(slot, static_cast<std::uint32_t>(kMostWarps - named));
  }
  return where;
}

std::string WorkDistributor::wait_report() const {
  std::string report;
  for (const RunningKernel& kernel : running_) {
    report += fmt::format(
        "{}: kernel {} (slot {}): {} of {} blocks dispatched, {} done{}\n",
        slots_[kernel.slot].context->name(), kernel.name, kernel.slot, kernel.blocks_dispatched,
        kernel.blocks_total, kernel.blocks_done,
        kernel.blocks_waiting == 0 ? "" : fmt::format(", {} stopped and on no SM", kernel.blocks_waiting));
  }
  for (const Submitted& waiting : submitted_) {
    report += fmt::format("{}: kernel {}: launched, not taken yet\n", waiting.context->name(),
                          waiting.source->name());
  }
  sm::WaitNames names;
  names.block = [this](arch::KernelSlot slot, std::uint32_t residency) {
    const Slot& s = slots_[slot];
    return fmt::format("{}: kernel {} block {}", s.context->name(), s.source->name(),
                       blocks_[residency].index);
  };
  names.pc = [this](arch::KernelSlot slot, std::uint32_t pc) { return slots_[slot].source->describe_pc(pc); };
  std::string waits;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) waits += parts_.sm(i).describe_waits(names);
  for (std::uint32_t i = 0; i < parts_.partitions(); ++i) waits += parts_.partition(i).describe_waits();
  waits += parts_.describe_network();

  constexpr std::size_t kMostLines = 100;
  std::size_t at = 0;
  for (std::size_t line = 0; line < kMostLines && at < waits.size(); ++line) at = waits.find('\n', at) + 1;
  const auto more = std::count(waits.begin() + static_cast<std::ptrdiff_t>(at), waits.end(), '\n');
  report += waits.substr(0, at);
  if (more > 0) report += fmt::format("and {} more lines like these\n", more);
  while (!report.empty() && report.back() == '\n') report.pop_back();
  return report;
}

}  // namespace gpumux::machine
