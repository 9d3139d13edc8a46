// One memory partition: ejection port of the request network, L2 slices, a DRAM channel, injection port
// of the reply network. See src/l2/README.md for its files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "engine/part.hpp"
#include "ledger/busy_windows.hpp"
#include "noc/partition_map.hpp"

namespace gpumux::dram {
class Channel;
}

namespace gpumux::l2 {

using arch::Credit;
using arch::MemReply;
using arch::MemRequest;

class Slice;

class Partition {
 public:
  /// `config`: as of dram::Channel.
  Partition(const arch::MachineConfig& config, PartitionId id, const noc::PartitionMap& map);
  ~Partition();
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  /// Simulates core cycles [begin, end); see sm::Sm::run for the contract.
  Cycle run(Cycle begin, Cycle end);

  /// Simulates what is certain of the cycles before the grant's end: a request reaches the tags no earlier
  /// than lookahead() says, so what lies behind them may be far ahead of the ports. Returns the next cycle at
  /// which something can happen without messages: of the entrances >= grant.messages, else >= done().
  /// Afterwards done() >= grant.messages.
  Cycle run(const engine::Grant& grant);
  /// Simulated up to here: no reply from now on is sent before.
  [[nodiscard]] Cycle done() const;
  /// What lies before this cycle depends only on requests before `complete`.
  [[nodiscard]] Cycle lookahead(Cycle complete) const;
  /// Counts stalls up to `now`, when all is simulated up to there.
  void settle(Cycle now);

  /// Other parts run between two windows of this one and use up the host's cache. These load what run() is
  /// about to touch: what lies at known places; then, once that has come, what it leads to.
  void prefetch() const;
  void prefetch_further() const;

  /// Messages, see arch::Mailbox; incoming requests are served in order of (time, SM, order).
  arch::PartitionMailbox& mailbox() { return mailbox_; }

  /// Data that a host copy of `app` left in L2 (RuntimeConfig::copies_write_l2); between windows.
  void preload_line(std::uint64_t line, AppId app);

  /// Of all applications; of one; of a pair.
  [[nodiscard]] arch::PartitionCounters counters() const;
  [[nodiscard]] arch::MemoryCounters counters(AppId app) const;
  [[nodiscard]] arch::PairCounters counters(AppId victim, AppId culprit) const;
  /// From now on, before the first request, it keeps a ledger of who waits for whom.
  void keep_ledger();
  /// With a ledger: for how long its slices were busy for the application.
  void add_busy_windows(AppId app, ledger::Busiest& busiest) const;
  /// And for how long its requests have waited for their tags, in core cycles.
  [[nodiscard]] std::uint64_t tag_waits(AppId app) const;
  [[nodiscard]] bool idle() const;  // nothing queued, nothing outstanding
  [[nodiscard]] std::string describe_waits() const;
  [[nodiscard]] std::uint64_t progress() const;
  /// Requests that have arrived or are on their way here, and whose replies have not been sent.
  [[nodiscard]] std::size_t requests_inside() const;
  /// Of these, those that are answered: not writes of CPU cores.
  [[nodiscard]] std::size_t answers_owed() const;
  /// Throws InternalError when the partition, idle and with all credits come back, has kept a request, an
  /// MSHR, a pinned line, a place in a queue or a credit.
  void check_drained() const;
  /// To trace, for tests.
  [[nodiscard]] dram::Channel& channel();

 private:
  struct State;
  std::unique_ptr<State> state_;
  const Slice* slices_;  // the state's, to find them without it
  std::uint32_t slice_count_;
  arch::PartitionMailbox mailbox_;
};

}  // namespace gpumux::l2
