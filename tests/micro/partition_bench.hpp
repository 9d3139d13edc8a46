// One memory partition of a preset. Tests give each request the cycle at which its last flit is at the
// partition's port.
#pragma once

#include "micro/assembly.hpp"
#include "noc/index_hash.hpp"

namespace gpumux::micro {

using arch::MemRequest;
using arch::RequestKind;

struct PartitionBench {
  explicit PartitionBench(MachineConfig machine_config)
      : config(std::move(machine_config)), map(config.l2), network(config), partition(config, 0, map) {}

  MemRequest request(RequestKind kind, std::uint64_t line, std::uint32_t bytes = 0) const {
    MemRequest r;
    r.line = line;
    r.kind = kind;
    r.sectors = 0xf;
    r.data_bytes = static_cast<std::uint8_t>(bytes);
    r.flits = network.flits(bytes) & 0x3fU;
    return r;
  }
  void give(Cycle time, MemRequest r, SmId sm = 0) {
    r.time = time;
    r.sm = sm;
    r.tag = given++;
    coming.push_back(r);
  }
  /// Runs the cycles [now, end) in windows. Replies are recorded, and their credits return as from a fast SM.
  void run(Cycle end) {
    while (now < end) {
      const Cycle to = std::min(end, now + network.window);
      std::erase_if(coming, [&](const MemRequest& r) {
        if (r.time >= to) return false;
        partition.mailbox().in.push_back(r);
        return true;
      });
      std::erase_if(credits_home, [&](const arch::Credit& c) {
        if (c.time >= to) return false;
        partition.mailbox().credits_in.push_back(c);
        return true;
      });
      partition.run(now, to);
      for (const arch::MemReply& reply : partition.mailbox().out) {
        replies.push_back(reply);
        if (give_credits) credits_home.push_back({reply.time + network.latency, reply.flits, 0, reply.sm});
      }
      for (const arch::Credit& credit : partition.mailbox().credits_out) credits.push_back(credit);
      partition.mailbox().out.clear();
      partition.mailbox().credits_out.clear();
      now = to;
    }
  }
  void finish() {
    while (!partition.idle() || !coming.empty() || !credits_home.empty()) {
      run(now + network.window);
      ASSERT_LT(now, 10'000'000U) << partition.describe_waits();
    }
    partition.check_drained();
    EXPECT_EQ(partition.counters().requests, given);
    EXPECT_EQ(partition.counters().replies, replies.size());
  }

  /// The first `n` lines of a slice of partition 0, of one set of the slice or of any set.
  [[nodiscard]] std::vector<std::uint64_t> lines(std::size_t n, bool one_set = false,
                                                 std::uint32_t slice = 0) const {
    const std::uint32_t sets = config.l2.slice_bytes / (config.l2.ways * kLineBytes);
    const noc::IndexHash hash(config.l2.index, sets, "l2.index");
    std::vector<std::uint64_t> found;
    for (std::uint64_t line = std::uint64_t{1} << kAppLineShift; found.size() < n; ++line) {
      const noc::PartitionMap::Place place = map.locate(line);
      if (place.partition != 0 || place.slice != slice) continue;
      const auto low = static_cast<std::uint32_t>(place.slice_line % sets);
      if (one_set && hash.permute(low, place.slice_line / sets, hash.rotation(1)) != 0) continue;
      found.push_back(line);
    }
    return found;
  }
  [[nodiscard]] arch::PartitionCounters counters() const { return partition.counters(); }

  MachineConfig config;
  noc::PartitionMap map;
  noc::Network network;
  l2::Partition partition;
  bool give_credits = true;
  Cycle now = 0;
  std::uint32_t given = 0;
  std::vector<MemRequest> coming;
  std::vector<arch::Credit> credits_home;
  std::vector<arch::Credit> credits;  // of the request network, which the partition has returned
  std::vector<arch::MemReply> replies;
};

}  // namespace gpumux::micro
