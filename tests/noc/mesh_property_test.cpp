// The mesh under random traffic: it agrees with the reference model, delivers each packet once and never
// blocks. Results do not depend on the lengths of the simulated intervals.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/hash.hpp"
#include "noc/mesh.hpp"
#include "noc/mesh_reference.hpp"
#include "tests/sanitized.hpp"

namespace gpumux::test {
namespace {

using noc::Mesh;
using noc::MeshConfig;

/// A mesh of any shape, buffers, stages, classes, and 1 to 3 endpoints at each node.
MeshConfig any_config(Random& random) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {{1, 1}, {1, 5}, {5, 1},
                                                                 {2, 3}, {3, 3}, {6, 6}};
  MeshConfig config;
  std::tie(config.width, config.height) = kShapes[random.below(6)];
  config.vcs = 1 + random.below(random.below(2) == 0 ? 4 : 8);
  config.vc_flits = 1 + random.below(6);
  config.router_cycles = 1 + random.below(5);
  config.link_cycles = 1 + random.below(3);
  config.local_cycles = 1 + random.below(3);
  config.credit_cycles = 1 + random.below(4);
  config.injection_flits = 5 + random.below(12);
  config.ejection_flits = 5 + random.below(12);
  config.class_vcs.clear();
  for (std::uint32_t k = 1 + random.below(3); k > 0; --k) {
    const std::uint32_t mask = 1 + random.below((1U << config.vcs) - 1);
    config.class_vcs.push_back(static_cast<std::uint8_t>(mask));
  }
  const std::uint32_t at_most = 1 + random.below(3);
  for (std::uint32_t n = 0; n < config.width * config.height; ++n) {
    for (std::uint32_t k = 1 + random.below(at_most); k > 0; --k)
      config.endpoint_nodes.push_back(static_cast<std::uint16_t>(n));
  }
  // Endpoints need not be in the order of nodes.
  for (std::size_t i = config.endpoint_nodes.size(); i > 1; --i)
    std::swap(config.endpoint_nodes[i - 1],
              config.endpoint_nodes[random.below(static_cast<std::uint32_t>(i))]);
  return config;
}

struct Traffic {
  float load;          // packets per endpoint and cycle
  std::uint32_t most;  // flits of a packet
  bool hot;            // half of all go to endpoint 0
  std::uint32_t slow;  // receivers take a packet after up to so many cycles
};
Traffic any_traffic(Random& random) {
  return {random.below(3) == 0 ? 1.0F : random.unit() * 0.3F, 1 + random.below(5), random.below(3) == 0,
          random.below(3) == 0 ? 60U : 3U};
}
Mesh::Packet any_packet(Random& random, const MeshConfig& config, const Traffic& traffic,
                        std::uint32_t source) {
  const auto count = static_cast<std::uint32_t>(config.endpoint_nodes.size());
  const std::uint32_t to = traffic.hot && random.below(2) == 0 ? 0 : random.below(count);
  return {0, static_cast<std::uint16_t>(source), static_cast<std::uint16_t>(to),
          static_cast<std::uint8_t>(1 + random.below(traffic.most)),
          static_cast<std::uint8_t>(random.below(static_cast<std::uint32_t>(config.class_vcs.size())))};
}

std::string shape(const MeshConfig& c) {
  return fmt::format("{}x{}, {} VCs of {}, cycles {} {} {} {}, {} classes, {} endpoints, queues {} {}",
                     c.width, c.height, c.vcs, c.vc_flits, c.router_cycles, c.link_cycles, c.local_cycles,
                     c.credit_cycles, c.class_vcs.size(), c.endpoint_nodes.size(), c.injection_flits,
                     c.ejection_flits);
}

TEST(MeshProperty, DoesWhatTheReferenceDoesAndLosesNothing) {
  for (std::uint64_t seed = 0; seed < test::rounds(300); ++seed) {
    Random random(seed);
    const MeshConfig config = any_config(random);
    const Traffic traffic = any_traffic(random);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, shape(config)));
    Mesh mesh(config);
    MeshReference reference(config);
    const auto count = static_cast<std::uint32_t>(config.endpoint_nodes.size());
    std::vector<Mesh::Packet> sent;
    std::vector<Cycle> since;
    std::multimap<Cycle, Mesh::Packet> taking;  // by the cycle in which its receiver takes it
    std::vector<std::uint32_t> deliveries;
    std::size_t seen = 0;
    Cycle latencies = 0, least = 0;
    const Cycle last = 300;
    for (Cycle now = 0; now < last || mesh.packets() > 0 || !taking.empty(); ++now) {
      ASSERT_LT(now, 60'000U) << mesh.describe();
      for (; !taking.empty() && taking.begin()->first <= now; taking.erase(taking.begin())) {
        const Mesh::Packet& packet = taking.begin()->second;
        mesh.release(packet.destination, packet.flits);
        reference.release(packet.destination, packet.flits);
      }
      for (std::uint32_t e = 0; now < last && e < count; ++e) {
        if (random.unit() >= traffic.load) continue;
        Mesh::Packet packet = any_packet(random, config, traffic, e);
        ASSERT_EQ(mesh.can_inject(e, packet.flits), reference.can_inject(static_cast<int>(e), packet.flits));
        if (!mesh.can_inject(e, packet.flits)) continue;
        packet.handle = static_cast<std::uint32_t>(sent.size());
        mesh.inject(packet, now);
        reference.inject(packet, now);
        sent.push_back(packet);
        since.push_back(now);
        deliveries.push_back(0);
      }
      mesh.step(now);
      reference.step(now);
      ASSERT_EQ(mesh.delivered().size(), reference.delivered.size()) << now;
      for (; seen < mesh.delivered().size(); ++seen) {
        const Mesh::Delivery& is = mesh.delivered()[seen];
        const Mesh::Delivery& should = reference.delivered[seen];
        ASSERT_EQ(is.packet.handle, should.packet.handle) << now;
        ASSERT_EQ(is.cycle, should.cycle) << now;
        const Mesh::Packet& packet = sent[is.packet.handle];
        ASSERT_EQ(is.packet.destination, packet.destination);
        ASSERT_EQ(is.packet.source, packet.source);
        ASSERT_EQ(is.packet.flits, packet.flits);
        ASSERT_EQ(is.packet.kind, packet.kind);
        ASSERT_EQ(++deliveries[is.packet.handle], 1U);
        const Cycle zero_load = mesh.zero_load(packet.source, packet.destination, packet.flits);
        ASSERT_GE(is.cycle - since[is.packet.handle], zero_load);
        latencies += is.cycle - since[is.packet.handle];
        least += zero_load;
        taking.emplace(is.cycle + random.below(traffic.slow + 1), packet);
      }
    }
    for (const std::uint32_t n : deliveries) ASSERT_EQ(n, 1U);
    ASSERT_EQ(mesh.describe(), "");
    mesh.run_to(100'000);
    ASSERT_EQ(mesh.next(), kNever);
    std::uint64_t hops = 0, entered = 0, left = 0, packets = 0;
    for (std::uint32_t n = 0; n < config.width * config.height; ++n) {
      for (unsigned port = 0; port < Mesh::kPorts; ++port)
        hops += mesh.link_flits(n, static_cast<Mesh::Port>(port));
    }
    ASSERT_EQ(hops, reference.hops);
    for (std::uint32_t kind = 0; kind < config.class_vcs.size(); ++kind) {
      const Mesh::ClassCounters& counters = mesh.counters(kind);
      ASSERT_EQ(counters.injected_packets, counters.ejected_packets);
      entered += counters.injected_flits;
      left += counters.ejected_flits;
      packets += counters.ejected_packets;
      latencies -= counters.queue_cycles + counters.network_cycles;
      least -= counters.network_cycles - counters.blocked_cycles;
    }
    ASSERT_EQ(latencies, 0U);
    ASSERT_EQ(least, 0U);
    ASSERT_EQ(entered, left);
    ASSERT_EQ(packets, sent.size());
  }
}

/// What comes out of a run with injections that are given early, up to `ahead` cycles, and time that is cut
/// at random or not at all.
std::vector<std::tuple<Cycle, std::uint32_t>> outcome(std::uint64_t seed, bool every_cycle,
                                                      std::uint32_t ahead, bool backwards) {
  Random random(seed);
  MeshConfig config = any_config(random);
  config.injection_flits = 2000;
  Traffic traffic = any_traffic(random);
  traffic.load *= 0.05F;
  Mesh mesh(config);
  const auto count = static_cast<std::uint32_t>(config.endpoint_nodes.size());
  std::vector<std::vector<std::pair<Cycle, Mesh::Packet>>> packets(count);
  for (Cycle now = 0; now < 2000; ++now) {
    for (std::uint32_t e = 0; e < count; ++e) {
      if (random.unit() >= traffic.load) continue;
      Mesh::Packet packet = any_packet(random, config, traffic, e);
      packet.handle = static_cast<std::uint32_t>(packets[e].size() * count + e);
      packets[e].emplace_back(now, packet);
    }
  }
  std::vector<std::size_t> given(count, 0);
  std::multimap<Cycle, Mesh::Packet> taking;
  std::vector<std::tuple<Cycle, std::uint32_t>> all;
  Random cuts(seed + 1);
  std::size_t total = 0;
  for (const auto& of_endpoint : packets) total += of_endpoint.size();
  for (Cycle now = 0; all.size() < total;) {
    if (now > 200'000) {
      ADD_FAILURE() << mesh.describe();
      break;
    }
    for (; !taking.empty() && taking.begin()->first <= now; taking.erase(taking.begin()))
      mesh.release(taking.begin()->second.destination, taking.begin()->second.flits);
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t e = backwards ? count - 1 - k : k;
      for (; given[e] < packets[e].size() && packets[e][given[e]].first <= now + ahead; ++given[e])
        mesh.inject(packets[e][given[e]].second, packets[e][given[e]].first);
    }
    Cycle end = now + 1;
    if (every_cycle) {
      mesh.step(now);
    } else {
      // To the next time at which the receivers do something, or packets are given.
      end = now + 1 + cuts.below(ahead + 1);
      if (!taking.empty()) end = std::min(end, taking.begin()->first);
      mesh.run_to(end);
    }
    for (const Mesh::Delivery& d : mesh.delivered()) {
      all.emplace_back(d.cycle, d.packet.handle);
      // At multiples of 64 beyond all that is cut, so that all runs know of it in time.
      taking.emplace((d.cycle / 64 + 2) * 64, d.packet);
    }
    mesh.delivered().clear();
    now = end;
  }
  return all;
}

TEST(MeshProperty, DoesNotDependOnHowTimeIsCut) {
  for (std::uint64_t seed = 1000; seed < 1000 + test::rounds(60); ++seed) {
    SCOPED_TRACE(seed);
    const auto each = outcome(seed, true, 0, false);
    EXPECT_FALSE(each.empty());
    EXPECT_EQ(outcome(seed, false, 0, false), each);
    EXPECT_EQ(outcome(seed, false, 40, false), each);
    EXPECT_EQ(outcome(seed, true, 17, true), each);
    EXPECT_EQ(outcome(seed, false, 17, true), each);
  }
}

TEST(MeshProperty, NeverGetsStuckHoweverFull) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed);
    MeshConfig config = any_config(random);
    const Traffic traffic{1.0F, 5, seed % 2 == 0, 0};
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, shape(config)));
    Mesh mesh(config);
    const auto count = static_cast<std::uint32_t>(config.endpoint_nodes.size());
    std::vector<Mesh::Packet> next;
    for (std::uint32_t e = 0; e < count; ++e) next.push_back(any_packet(random, config, traffic, e));
    Cycle moved = 0;
    std::vector<std::uint32_t> of(count, 0);
    for (Cycle now = 0; now < 20'000; ++now) {
      for (std::uint32_t e = 0; e < count; ++e) {
        while (mesh.can_inject(e, next[e].flits)) {
          mesh.inject(next[e], now);
          next[e] = any_packet(random, config, traffic, e);
        }
      }
      mesh.step(now);
      for (const Mesh::Delivery& d : mesh.delivered()) {
        mesh.release(d.packet.destination, d.packet.flits);
        ++of[d.packet.source];
        moved = now;
      }
      mesh.delivered().clear();
      ASSERT_LT(now - moved, 1000U) << mesh.describe();
    }
    for (const std::uint32_t n : of) EXPECT_GT(n, 0U);  // nobody starves
  }
}

}  // namespace
}  // namespace gpumux::test
