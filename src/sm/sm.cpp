#include "sm/sm.hpp"

#include "sm/state.hpp"

namespace gpumux::sm {

Sm::Sm(const arch::MachineConfig& config, SmId id, const noc::PartitionMap& map)
    : state_(std::make_unique<State>(config, id, map, mailbox_, finished_)) {}

Sm::~Sm() = default;

void Sm::bind_kernel(KernelSlot slot, const KernelContext& context) { state_->bind(slot, context); }

bool Sm::fits(const workload::BlockResources& resources) const { return state_->table.fits(resources); }

void Sm::launch_block(KernelSlot slot, std::uint32_t residency, std::unique_ptr<workload::BlockStream> block,
                      Cycle start, const BlockContext* context, Cycle delay) {
  state_->launch(slot, residency, std::move(block), start, context, delay);
}

std::uint32_t Sm::resident_blocks(KernelSlot slot) const { return state_->table.resident(slot); }

std::uint32_t Sm::all_resident_blocks() const { return state_->table.resident(); }

std::uint32_t Sm::memory_in_flight() const { return state_->table.accesses_out(); }

bool Sm::drained(KernelSlot slot) const {
  return state_->table.resident(slot) == 0 && state_->lsu.outstanding(slot) == 0;
}

bool Sm::refill_streams(std::uint32_t records) { return state_->front.refill_in_turn(records); }

bool Sm::waits_for_turn() const { return state_->front.waits_for_turn(); }

void Sm::flush_l1() { state_->lsu.flush_l1(state_->now_); }

void Sm::prefetch_state() const { state_->prefetch_state(); }

void Sm::prefetch_schedulers(Cycle begin) const { state_->prefetch_schedulers(begin); }

void Sm::prefetch_warps(Cycle begin) { state_->prefetch_warps(begin); }

void Sm::limit_blocks(KernelSlot kernel, std::uint32_t blocks) { state_->table.set_limit(kernel, blocks); }

std::uint32_t Sm::block_limit(KernelSlot kernel) const { return state_->table.limit(kernel); }

void Sm::keep_ledger() {
  state_->ledger = std::make_unique<SmLedger>(state_->lsu.l1().sets(), state_->lsu.l1().max_ways());
  state_->stage.keep_ledger(state_->ledger.get());
  state_->lsu.keep_ledger(state_->ledger.get());
}

arch::LedgerAppCounters Sm::ledger_counters(AppId app) const {
  return state_->ledger ? state_->ledger->apps[app] : arch::LedgerAppCounters{};
}

arch::PairCounters Sm::counters(AppId victim, AppId culprit) const {
  return state_->ledger ? state_->ledger->pairs[victim][culprit] : arch::PairCounters{};
}

void Sm::set_memory_scheme(const arch::MemoryScheme& scheme) { state_->set_memory_scheme(scheme); }

void Sm::set_memory_sharers(std::uint32_t sharers) { state_->set_memory_sharers(sharers); }

void Sm::set_memory_limit(AppId app, std::uint32_t limit) {
  GPUMUX_CHECK(limit > 0);
  if (state_->memory.client(app).limit == limit) return;
  if (state_->memory.set_limit(app, limit)) state_->stage.below_limit(state_->now_);
}

void Sm::set_l1_ways(AppId app, std::uint32_t ways) { state_->lsu.limit_ways(app, ways, state_->now_); }

arch::MemoryClient Sm::memory_client(AppId app) const {
  arch::MemoryClient client = state_->memory.client(app);
  client.ways = state_->lsu.ways_of(app);
  return client;
}

Cycle Sm::run(Cycle begin, Cycle end) {
  state_->stops_at_ends = state_->stops_for_records = false;
  return state_->run(begin, end, kNever);
}

Cycle Sm::run(const engine::Grant& grant) {
  state_->stops_at_ends = grant.stop_at_block_end;
  state_->stops_for_records = true;
  return state_->run(grant.begin, grant.end, grant.credits);
}

Cycle Sm::done() const { return state_->now_; }

bool Sm::lacks_credits() const { return state_->lsu.blind_from() <= state_->now_; }

Cycle Sm::busy_until(KernelSlot slot) const { return state_->busy_until(slot); }

Cycle Sm::last_miss(KernelSlot slot) const { return state_->lsu.last_miss(slot); }

const arch::KernelCounters& Sm::counters(KernelSlot slot) const { return state_->counters[slot]; }

void Sm::reset_counters(KernelSlot slot) {
  state_->front.forget(slot, state_->counters[slot].warp_instructions);
  state_->counters[slot] = {};
  state_->gate.begin(slot, state_->known_now());  // restrictions of the previous kernel must not wake the SM
  state_->triggers.begin(slot);
  state_->find_rare();
}

arch::SchedulerCounters Sm::scheduler_counters() const { return state_->stage.counters(state_->known_now()); }

std::string Sm::whereabouts(KernelSlot slot, std::uint32_t most) { return state_->whereabouts(slot, most); }

bool Sm::waits_for_others(KernelSlot slot) { return state_->waits_for_others(slot); }

std::string Sm::describe_waits(const WaitNames& names) const { return state_->describe_waits(names); }

std::uint64_t Sm::progress() const { return state_->progress + state_->lsu.progress(); }

void Sm::begin_view() {
  state_->view =
      std::make_unique<SmView>(IssueStage::warp_slots(state_->config.sm), state_->config.sm.view_mixed);
}

const arch::SmViewCounters* Sm::view() const { return state_->view ? &state_->view->counters() : nullptr; }

void Sm::settle(Cycle until) {
  State& state = *state_;
  state.account(until);
  state.settled = std::max(state.settled, until);
  state.stage.settle(until);
  state.lsu.settle(until);
}

Cycle Sm::next_wake() const {
  const State& state = *state_;
  Cycle next = state.next_event(state.now_);
  if (state.front.refilled()) next = state.now_;
  for (const MemReply& reply : mailbox_.in) next = std::min(next, reply.time);
  if (!state.lsu.network().injection().empty())
    for (const Credit& credit : mailbox_.credits_in) next = std::min(next, credit.time);
  return std::max(next, state.now_);
}

std::size_t Sm::requests_out() const {
  const NetworkInterface& network = state_->lsu.network();
  return network.requests() - network.requests_waiting();
}

std::size_t Sm::replies_waiting() const {
  return mailbox_.in.size() + state_->lsu.network().replies_waiting();
}

void Sm::check_drained(bool credits_home) const { state_->check_drained(credits_home); }

}  // namespace gpumux::sm
