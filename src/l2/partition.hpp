// One memory partition: the ejection port of the request network, L2 slices, a DRAM channel, and the
// injection port of the reply network. src/l2/README.md lists the files.
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
  /// `config`: values as required by dram::Channel.
  Partition(const arch::MachineConfig& config, PartitionId id, const noc::PartitionMap& map);
  ~Partition();
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  /// Simulates core cycles [begin, end). See sm::Sm::run() for the contract.
  Cycle run(Cycle begin, Cycle end);

  /// Simulates what is certain of the cycles before the grant's end. A request reaches the tags no earlier
  /// than lookahead(), so everything behind the tags may be simulated far ahead of the ports. Returns the
  /// next cycle at which something can happen without messages: at least grant.messages for the entrances, at
  /// least done() otherwise. Afterwards done() >= grant.messages.
  Cycle run(const engine::Grant& grant);
  /// The cycle up to which the partition is simulated. No later reply is sent before this cycle.
  [[nodiscard]] Cycle done() const;
  /// Behind the pipeline, all that happens before the returned cycle depends only on
  /// requests before `complete`.
  [[nodiscard]] Cycle lookahead(Cycle complete) const;
  /// Counts stalls up to `now`. Requires that the partition is simulated up to `now`.
  void settle(Cycle now);

  /// Prefetch what run() is about to touch, because other parts that run between two windows use up the
  /// host's cache. prefetch() loads data at known places. prefetch_further(), called when that data has
  /// arrived, loads what the data points to.
  void prefetch() const;
  void prefetch_further() const;

  /// Messages, see arch::Mailbox. Incoming requests are served in order of (time, SM, order of sending).
  arch::PartitionMailbox& mailbox() { return mailbox_; }

  /// Puts a line into L2 that a host copy of `app` left there
  /// (RuntimeConfig::copies_write_l2). Between windows.
  void preload_line(std::uint64_t line, AppId app);

  /// Counters of the partition, of one application, and of a pair of applications.
  [[nodiscard]] arch::PartitionCounters counters() const;
  [[nodiscard]] arch::MemoryCounters counters(AppId app) const;
  [[nodiscard]] arch::PairCounters counters(AppId victim, AppId culprit) const;
  /// Makes the partition keep a ledger of interference. Must be called before the first request.
  void keep_ledger();
  /// Requires a ledger. Adds the time for which the slices were busy for the application.
  void add_busy_windows(AppId app, ledger::Busiest& busiest) const;
  /// Requires a ledger. Core cycles for which requests of the application waited for the tags.
  [[nodiscard]] std::uint64_t tag_waits(AppId app) const;
  [[nodiscard]] bool idle() const;  // true if nothing is queued or outstanding
  [[nodiscard]] std::string describe_waits() const;
  [[nodiscard]] std::uint64_t progress() const;
  /// Requests that have arrived or are on their way to the partition, and whose replies have not been sent.
  [[nodiscard]] std::size_t requests_inside() const;
  /// The requests of requests_inside() that get a reply. Writes of CPU cores get none.
  [[nodiscard]] std::size_t answers_owed() const;
  /// Throws InternalError if an idle partition with all credits returned still holds a request, an MSHR, a
  /// pinned line, a place in a queue or a credit.
  void check_drained() const;
  /// The DRAM channel, so that tests can trace it.
  [[nodiscard]] dram::Channel& channel();

 private:
  struct State;
  std::unique_ptr<State> state_;
  const Slice* slices_;  // the slices of state_, reachable without loading state_
  std::uint32_t slice_count_;
  arch::PartitionMailbox mailbox_;
};

}  // namespace gpumux::l2
