#include "machine/cpu_node.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace gpumux::machine {

namespace {
constexpr std::uint8_t kAllSectors = 0xf;
}

CpuNode::CpuNode(const arch::MachineConfig& config, std::uint32_t core,
                 std::unique_ptr<cpu::TraceSource> trace, const noc::PartitionMap& map)
    : network_(config),
      clock_(config.clocks.core, config.clocks.cpu),
      map_(map),
      id_(config.sms + core),
      app_(cpu_app(core)),
      core_(config.cpu, std::move(trace), first_line_of(cpu_app(core))),
      port_(network_.clock, network_.routed),
      credits_(network_.cpu_request_credits) {}

Cycle CpuNode::run(const engine::Grant& grant) {
  settle(grant.begin);
  GPUMUX_DCHECK(grant.messages >= grant.end && grant.end <= now_ + network_.latency);
  take_replies(grant.end);
  const Cycle until = clock_.tick_at(grant.end);
  if (!stopped_) {
    core_.run(until, until);
    send(grant.end);
  }
  now_ = grant.end;
  Cycle next = kNever;
  for (const arch::MemReply& reply : mailbox_.in) next = std::min(next, reply.time);
  if (stopped_) return next;
  if (const Cycle request = core_.next_request(); request != kNever)
    next = std::min(next, std::max(now_, clock_.to_core(request) + 1));
  const Cycle of_core = core_.next();
  return std::min(next, of_core == kNever ? kNever : clock_.to_core(of_core));
}

void CpuNode::settle(Cycle cycle) {
  if (cycle <= now_) return;
  const Cycle until = clock_.tick_at(cycle);
  if (!stopped_) core_.run(until, until);
  now_ = cycle;
}

void CpuNode::take_replies(Cycle end) {
  auto& in = mailbox_.in;
  // The mesh delivers in order of cycles. All replies share the space at the router.
  std::size_t kept = 0;
  for (const arch::MemReply& reply : in) {
    if (reply.time >= end) {
      in[kept++] = reply;
      continue;
    }
    const Cycle at = std::max(reply.time, now_);
    if (!stopped_) core_.reply(reply.tag, clock_.tick_at(at));
    ++replies_taken_;
    mailbox_.credits_out.push_back(
        {at + network_.latency, network_.cpu_flits(kLineBytes), 0, static_cast<std::uint16_t>(id_)});
  }
  in.resize(kept);
}

bool CpuNode::has_room(std::uint32_t flits) {
  if (credits_ >= flits) return true;
  auto& coming = mailbox_.credits_in;
  std::sort(coming.begin(), coming.end(),
            [](const arch::Credit& a, const arch::Credit& b) { return a.time < b.time; });
  std::size_t taken = 0;
  for (; taken < coming.size() && credits_ < flits; ++taken) {
    credits_ += coming[taken].flits;
    credits_from_ = coming[taken].time;
  }
  coming.erase(coming.begin(), coming.begin() + static_cast<std::ptrdiff_t>(taken));
  return credits_ >= flits;
}

void CpuNode::send(Cycle end) {
  for (const cpu::Request* request = core_.front(); request != nullptr; request = core_.front()) {
    const std::uint32_t flits = flits_of(*request);
    if (!has_room(flits)) return;
    const Cycle at = std::max({clock_.to_core(request->cycle) + 1, port_.free_at(), now_, credits_from_});
    if (at >= end) return;
    credits_ -= flits;
    const PartitionId partition = map_.partition(request->line);
    mailbox_.out.push_back({.line = request->line,
                            .time = port_.inject(at, flits).last + network_.latency,
                            .tag = request->id,
                            .sm = static_cast<SmId>(id_),
                            .partition = partition,
                            .app = app_,
                            .kind = request->write ? arch::RequestKind::Write : arch::RequestKind::Read,
                            .sectors = kAllSectors,
                            .data_bytes = static_cast<std::uint8_t>(request->write ? kLineBytes : 0),
                            .wants_reply = !request->write,
                            .flits = static_cast<std::uint8_t>(flits & 0x3fU)});
    ++requests_sent_;
    if (!request->write) ++reads_sent_;
    core_.take(clock_.tick_at(at + network_.latency));
  }
}

void CpuNode::check_drained() const {
  std::uint64_t places = credits_;
  for (const arch::Credit& credit : mailbox_.credits_in) places += credit.flits;
  if (awaited() == 0 && places == network_.cpu_request_credits) return;
  throw InternalError(fmt::format("cpu {}: {} answers, or places in the network's queue, leaked: {} of {}",
                                  id_, awaited(), places, network_.cpu_request_credits));
}

std::string CpuNode::describe_waits() const {
  std::string text;
  if (awaited() > 0) text += fmt::format("cpu {}: {} lines on their way\n", id_, awaited());
  if (core_.front() != nullptr) text += fmt::format("cpu {}: requests wait for the network\n", id_);
  return text;
}

}  // namespace gpumux::machine
