// The mesh, worked out by hand: latencies, rates, and which packet waits for which.
#include "noc/mesh.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/error.hpp"

namespace gpumux::test {
namespace {

using noc::Mesh;
using noc::MeshConfig;

/// One endpoint per node, with the node's number.
MeshConfig mesh_of(std::uint32_t width, std::uint32_t height) {
  MeshConfig config;
  config.width = width;
  config.height = height;
  for (std::uint32_t n = 0; n < width * height; ++n)
    config.endpoint_nodes.push_back(static_cast<std::uint16_t>(n));
  return config;
}
Mesh::Packet packet(std::uint32_t from, std::uint32_t to, std::uint32_t flits = 1, std::uint32_t kind = 0) {
  return {0, static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to),
          static_cast<std::uint8_t>(flits), static_cast<std::uint8_t>(kind)};
}

/// Keeps the queues of some endpoints full, takes what comes at once, and counts it.
class Load {
 public:
  explicit Load(Mesh& mesh) : mesh_(mesh) {}
  void add(const Mesh::Packet& packet) { sources_.push_back(packet); }
  void run(Cycle cycles) {
    for (Cycle k = 0; k < cycles; ++k) {
      for (const Mesh::Packet& packet : sources_) {
        while (mesh_.can_inject(packet.source, packet.flits)) mesh_.inject(packet, mesh_.now());
      }
      mesh_.step(mesh_.now());
      for (const Mesh::Delivery& d : mesh_.delivered()) {
        flits_[d.packet.source] += d.packet.flits;
        if (takes_) mesh_.release(d.packet.destination, d.packet.flits);
      }
      mesh_.delivered().clear();
    }
  }
  void stop() { sources_.clear(); }
  void take_nothing() { takes_ = false; }
  /// Since the last call.
  std::uint32_t flits_from(std::uint32_t source) { return std::exchange(flits_[source], 0); }

 private:
  Mesh& mesh_;
  std::vector<Mesh::Packet> sources_;
  std::map<std::uint32_t, std::uint32_t> flits_;
  bool takes_ = true;
};

Cycle latency_of(Mesh& mesh, const Mesh::Packet& packet) {
  const Cycle begin = mesh.now();
  mesh.inject(packet, begin);
  mesh.run_to(begin + 1000);
  if (mesh.delivered().size() != 1) return 0;
  const Cycle end = mesh.delivered().front().cycle;
  mesh.delivered().clear();
  mesh.release(packet.destination, packet.flits);
  return end - begin;
}

TEST(Mesh, ZeroLoadByHand) {
  // Two stages, links of one cycle. Cycle 0: out of the queue; 1: in the router, allocated; 2: through the
  // switch; 3: on the local link; 4: there.
  Mesh mesh(mesh_of(3, 3));
  EXPECT_EQ(latency_of(mesh, packet(4, 4)), 4U);
  // To a neighbour: two stages and a link more.
  EXPECT_EQ(latency_of(mesh, packet(4, 5)), 7U);
  EXPECT_EQ(latency_of(mesh, packet(0, 8)), 4U + 4 * 3);
  EXPECT_EQ(latency_of(mesh, packet(0, 8, 5)), 4U + 4 * 3 + 4);
}

TEST(Mesh, ZeroLoadOfEveryPair) {
  for (const std::uint32_t side : {3U, 6U}) {
    for (const std::uint32_t stages : {1U, 2U, 3U, 4U, 5U}) {
      for (const auto& [link, local] : {std::pair(1U, 1U), {3U, 2U}}) {
        MeshConfig config = mesh_of(side, side);
        config.router_cycles = stages;
        config.link_cycles = link;
        config.local_cycles = local;
        Mesh mesh(config);
        for (std::uint32_t from = 0; from < side * side; ++from) {
          for (std::uint32_t to = 0; to < side * side; ++to) {
            const auto hops = static_cast<std::uint32_t>(
                std::abs(static_cast<int>(from % side) - static_cast<int>(to % side)) +
                std::abs(static_cast<int>(from / side) - static_cast<int>(to / side)));
            for (const std::uint32_t flits : {1U, 4U}) {
              const Cycle expected = 2 * local + (hops + 1) * stages + hops * link + flits - 1;
              ASSERT_EQ(latency_of(mesh, packet(from, to, flits)), expected)
                  << stages << " stages, " << from << " to " << to;
              ASSERT_EQ(mesh.zero_load(from, to, flits), expected);
            }
          }
        }
        EXPECT_EQ(mesh.counters(0).blocked_cycles, 0U);
        EXPECT_EQ(mesh.counters(0).queue_cycles, 0U);
      }
    }
  }
}

TEST(Mesh, GoesAlongTheRowFirst) {
  Mesh mesh(mesh_of(3, 3));
  latency_of(mesh, packet(0, 8));  // from the north-west to the south-east
  for (const auto& [node, port] : {std::pair(0U, Mesh::kEast),
                                   {1U, Mesh::kEast},
                                   {2U, Mesh::kSouth},
                                   {5U, Mesh::kSouth},
                                   {8U, Mesh::kLocal}}) {
    EXPECT_EQ(mesh.link_flits(node, port), 1U) << node;
  }
  latency_of(mesh, packet(8, 0, 3));
  for (const auto& [node, port] : {std::pair(8U, Mesh::kWest),
                                   {7U, Mesh::kWest},
                                   {6U, Mesh::kNorth},
                                   {3U, Mesh::kNorth},
                                   {0U, Mesh::kLocal}}) {
    EXPECT_EQ(mesh.link_flits(node, port), 3U) << node;
  }
}

TEST(Mesh, APacketAfterTheOtherFillsALink) {
  for (const std::uint32_t stages : {1U, 2U, 3U, 4U}) {
    for (const std::uint32_t flits : {1U, 2U, 5U}) {
      MeshConfig config = mesh_of(4, 1);
      config.router_cycles = stages;
      Mesh mesh(config);
      Load load(mesh);
      load.add(packet(0, 3, flits));
      load.run(50);
      load.flits_from(0);
      load.run(1000);
      EXPECT_EQ(load.flits_from(0), 1000U) << stages << " stages, packets of " << flits;
    }
  }
}

TEST(Mesh, TwoFlowsShareALinkEvenly) {
  for (const std::uint32_t flits : {1U, 4U}) {
    Mesh mesh(mesh_of(3, 1));
    Load load(mesh);
    load.add(packet(0, 2, flits));  // both over the link from 1 to 2
    load.add(packet(1, 2, flits));
    load.run(100);
    load.flits_from(0), load.flits_from(1);
    load.run(1000);
    EXPECT_NEAR(load.flits_from(0), 500U, flits);
    EXPECT_NEAR(load.flits_from(1), 500U, flits);
  }
}

// Each router lets its own traffic pass as much of as what comes from further away, as round robin does
// without ages: the far ones get half of what remains at each router.
TEST(Mesh, FarFlowsGetHalfAtEachMerge) {
  Mesh mesh(mesh_of(4, 1));
  Load load(mesh);
  for (std::uint32_t n = 0; n < 3; ++n) load.add(packet(n, 3));
  load.run(500);
  for (std::uint32_t n = 0; n < 3; ++n) load.flits_from(n);
  load.run(4000);
  EXPECT_NEAR(load.flits_from(2), 2000, 4);
  EXPECT_NEAR(load.flits_from(1), 1000, 4);
  EXPECT_NEAR(load.flits_from(0), 1000, 4);
}

TEST(Mesh, EndpointsOfANodeTakeTurns) {
  MeshConfig config = mesh_of(2, 1);
  config.endpoint_nodes = {0, 1, 0, 0};  // three at node 0
  for (const std::uint32_t flits : {1U, 3U}) {
    Mesh mesh(config);
    Load load(mesh);
    for (const std::uint32_t e : {0U, 2U, 3U}) load.add(packet(e, 1, flits));
    load.run(60);
    for (const std::uint32_t e : {0U, 2U, 3U}) load.flits_from(e);
    load.run(3000);
    for (const std::uint32_t e : {0U, 2U, 3U}) EXPECT_NEAR(load.flits_from(e), 1000, flits) << e;
  }
  // Each gets what is for it, over one local port.
  Mesh mesh(config);
  for (const std::uint32_t e : {0U, 2U, 3U}) mesh.inject(packet(1, e, 2), 0);
  mesh.run_to(100);
  ASSERT_EQ(mesh.delivered().size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(mesh.delivered()[k].packet.destination, (std::array{0, 2, 3})[k]);
    EXPECT_EQ(mesh.delivered()[k].cycle, 8U + 2 * k);
  }
}

// One VC of `places` flits: a place is used again a credit loop after the flit before it was granted the
// switch: the stages from there to the next router's grant (a body flit passes the VC's stage), the link and
// the credit's way.
TEST(Mesh, FewPlacesGiveAPlaceALoop) {
  for (const std::uint32_t stages : {1U, 2U, 3U, 4U, 5U}) {
    for (const std::uint32_t link : {1U, 2U}) {
      for (const std::uint32_t credit : {1U, 3U}) {
        const std::uint32_t loop = (stages > 2 ? stages - 1 : stages) + link + credit;
        for (std::uint32_t places = 1; places <= loop + 1; ++places) {
          MeshConfig config = mesh_of(3, 1);
          config.vcs = 1;
          config.vc_flits = places;
          config.router_cycles = stages;
          config.link_cycles = link;
          config.credit_cycles = credit;
          config.injection_flits = config.ejection_flits = 255;
          Mesh mesh(config);
          mesh.inject(packet(0, 2, 255), 0);
          mesh.run_to(4 * loop);
          const std::uint64_t before = mesh.link_flits(1, Mesh::kEast);
          mesh.run_to(9 * loop);
          EXPECT_EQ(mesh.link_flits(1, Mesh::kEast) - before, 5 * std::min(places, loop))
              << stages << " stages, link " << link << ", credit " << credit << ", places " << places;
        }
      }
    }
  }
}

// Single flits in one VC, where it is allocated in a cycle of its own: two cycles each, and where places are
// few the loop is that of a long packet's flits, and the VC's stage, and a cycle more, as a VC without a
// place is not allocated. BookSim gives 1/7, 2/7, 3/7 and 1/2, too.
TEST(Mesh, ShortPacketsInOneVcTakeTwoCyclesEach) {
  for (const std::uint32_t places : {1U, 2U, 3U, 4U, 6U}) {
    MeshConfig config = mesh_of(2, 1);
    config.vcs = 1;
    config.vc_flits = places;
    config.router_cycles = 3;
    config.credit_cycles = 2;
    Mesh mesh(config);
    Load load(mesh);
    load.add(packet(0, 1));
    load.run(60);
    load.flits_from(0);
    load.run(600);
    EXPECT_NEAR(load.flits_from(0), std::min(600 * places / 7.0, 300.0), 1) << places;
  }
}

TEST(Mesh, ClassesWithTheirOwnVcsDoNotBlockEachOther) {
  MeshConfig config = mesh_of(4, 1);
  config.ejection_flits = 4;
  for (const bool apart : {true, false}) {
    config.class_vcs =
        apart ? std::vector<std::uint8_t>{0b0111, 0b1000} : std::vector<std::uint8_t>{0b1111, 0b1111};
    Mesh mesh(config);
    // Class 0 to node 3, which takes nothing, until nothing moves.
    Load load(mesh);
    load.take_nothing();
    load.add(packet(0, 3, 4));
    load.run(300);
    load.stop();
    EXPECT_EQ(load.flits_from(0), 4U);
    EXPECT_EQ(mesh.next(), kNever);
    // Class 1 over the same links to node 2.
    mesh.inject(packet(1, 2, 2, 1), mesh.now());
    mesh.run_to(1000);
    if (apart) {
      ASSERT_EQ(mesh.delivered().size(), 1U);
      EXPECT_EQ(mesh.delivered()[0].cycle, 300U + mesh.zero_load(1, 2, 2));
      EXPECT_EQ(mesh.counters(1).blocked_cycles, 0U);
    } else {
      EXPECT_TRUE(mesh.delivered().empty());
    }
  }
}

TEST(Mesh, ReceiversHoldBackWithoutLoss) {
  MeshConfig config = mesh_of(2, 1);
  config.ejection_flits = 6;
  Mesh mesh(config);
  std::uint32_t injected = 0, delivered = 0;
  const auto push = [&] {
    while (mesh.can_inject(0, 3)) {
      Mesh::Packet p = packet(0, 1, 3);
      p.handle = injected++;
      mesh.inject(p, mesh.now());
    }
  };
  const auto take = [&] {
    for (const Mesh::Delivery& d : mesh.delivered()) EXPECT_LT(d.packet.handle, injected);
    delivered += static_cast<std::uint32_t>(mesh.delivered().size());
    return std::exchange(mesh.delivered(), {}).size();
  };
  for (int k = 0; k < 200; ++k) {
    push();
    mesh.step(mesh.now());
  }
  EXPECT_EQ(take(), 2U);  // six flits
  EXPECT_EQ(mesh.next(), kNever);
  EXPECT_FALSE(mesh.can_inject(0, 3));
  // Two flits are no place for a packet of three; a third is.
  mesh.release(1, 2);
  mesh.run_to(mesh.now() + 50);
  EXPECT_EQ(take(), 0U);
  mesh.release(1, 1);
  // Its flits wait in the router: stage, switch and local link, and two more flits.
  const Cycle now = mesh.now();
  EXPECT_EQ(mesh.next(), now);
  mesh.run_to(now + 50);
  ASSERT_EQ(mesh.delivered().size(), 1U);
  EXPECT_EQ(mesh.delivered()[0].cycle, now + 3 + 2);
  take();
  for (int k = 0; k < 2000 && mesh.packets() > 0; ++k) {
    mesh.step(mesh.now());
    if (k % 7 == 0) mesh.release(1, static_cast<std::uint32_t>(take() * 3 + (k == 0 ? 3 : 0)));
  }
  take();
  EXPECT_EQ(delivered, injected);
}

// Space comes back in ones. A long packet gets it when it is its turn, though short ones would fit at once.
TEST(Mesh, ShortPacketsDoNotKeepALongOneOut) {
  MeshConfig config = mesh_of(3, 1);
  config.ejection_flits = 8;
  Mesh mesh(config);
  std::vector<Cycle> long_ones;
  std::vector<std::uint32_t> owed;
  for (Cycle now = 0; now < 4000; ++now) {
    while (mesh.can_inject(0, 1)) mesh.inject(packet(0, 1, 1), now);
    while (mesh.can_inject(2, 8)) mesh.inject(packet(2, 1, 8), now);
    mesh.step(now);
    for (const Mesh::Delivery& d : mesh.delivered()) {
      owed.insert(owed.end(), d.packet.flits, 1);
      if (d.packet.source == 2) long_ones.push_back(d.cycle);
    }
    mesh.delivered().clear();
    if (now % 2 == 0 && !owed.empty()) {
      mesh.release(1, 1);
      owed.pop_back();
    }
  }
  // A long one and, of four VCs, no more short ones than have their turn between: 12 flits, 24 cycles, at
  // most.
  EXPECT_GT(long_ones.size(), 4000U / 24 - 5);
}

TEST(Mesh, LeavesOutIdleCycles) {
  Mesh mesh(mesh_of(3, 3));
  EXPECT_EQ(mesh.next(), kNever);
  mesh.inject(packet(0, 1), 1'000'000);
  EXPECT_EQ(mesh.next(), 1'000'000U);
  mesh.run_to(1'000'000);
  EXPECT_EQ(mesh.now(), 1'000'000U);
  EXPECT_EQ(mesh.next(), 1'000'000U);
  mesh.step(1'000'000);
  mesh.step(mesh.next());  // 1'000'001: in the router
  EXPECT_EQ(mesh.now(), 1'000'002U);
  mesh.step(mesh.next());              // its credit
  EXPECT_EQ(mesh.next(), 1'000'004U);  // in the next router
  mesh.run_to(2'000'000);
  ASSERT_EQ(mesh.delivered().size(), 1U);
  EXPECT_EQ(mesh.delivered()[0].cycle, 1'000'007U);
  EXPECT_EQ(mesh.next(), kNever);
}

TEST(Mesh, CountsWhereCyclesWent) {
  Mesh mesh(mesh_of(3, 1));
  for (int k = 0; k < 3; ++k) mesh.inject(packet(0, 1, 2), 0);
  mesh.inject(packet(2, 1, 2), 0);
  mesh.run_to(100);
  // From node 0 the packets leave the queue in cycles 0, 2 and 4. At node 1 the first and that from node 2
  // come together; the port takes eight flits in a row: of the first two by turns, then what is left.
  ASSERT_EQ(mesh.delivered().size(), 4U);
  const Mesh::ClassCounters& counters = mesh.counters(0);
  EXPECT_EQ(counters.injected_packets, 4U);
  EXPECT_EQ(counters.injected_flits, 8U);
  EXPECT_EQ(counters.ejected_packets, 4U);
  EXPECT_EQ(counters.ejected_flits, 8U);
  EXPECT_EQ(counters.queue_cycles, 0U + 2 + 4 + 0);
  EXPECT_EQ(mesh.delivered().back().cycle, 7U + 7);  // the last of eight flits
  Cycle total = 0;
  for (const Mesh::Delivery& d : mesh.delivered()) total += d.cycle;
  EXPECT_EQ(counters.queue_cycles + counters.network_cycles, total);
  EXPECT_EQ(counters.blocked_cycles, counters.network_cycles - 4 * 8);  // 8: two flits to a neighbour
  EXPECT_EQ(mesh.link_flits(0, Mesh::kEast), 6U);
  EXPECT_EQ(mesh.link_flits(2, Mesh::kWest), 2U);
  EXPECT_EQ(mesh.link_flits(1, Mesh::kLocal), 8U);
}

TEST(Mesh, SaysWhereAPacketIsAndWhatItWaitsFor) {
  MeshConfig config = mesh_of(2, 1);
  config.vcs = 1;
  config.vc_flits = 2;
  config.ejection_flits = 4;
  config.injection_flits = 12;
  Mesh mesh(config);
  for (std::uint32_t k = 0; k < 4; ++k) {
    Mesh::Packet p = packet(0, 1, 3);
    p.handle = k;
    mesh.inject(p, 0);
  }
  mesh.run_to(100);
  EXPECT_EQ(mesh.delivered().size(), 1U);
  EXPECT_EQ(mesh.describe(),
            "packet 1 of class 0, 3 flits, endpoint 0 to 1, since cycle 0: flit 0 at router (1, 0), west VC "
            "0, waits for "
            "space at its destination\n"
            "packet 2 of class 0, 3 flits, endpoint 0 to 1, since cycle 0: flit 0 at router (0, 0), local VC "
            "0, behind 1 "
            "flits\n"
            "packet 3 of class 0, 3 flits, endpoint 0 to 1, since cycle 0: behind others in its queue\n");
  mesh.release(1, 3);
  mesh.run_to(101);
  EXPECT_NE(mesh.describe().find("flit 1 at router (1, 0), west VC 0, being received"), std::string::npos)
      << mesh.describe();
}

TEST(Mesh, RefusesWhatIsNoMesh) {
  const auto refused = [](auto change) {
    MeshConfig config = mesh_of(2, 2);
    change(config);
    EXPECT_THROW(Mesh{config}, UserError);
  };
  refused([](MeshConfig& c) { c.width = 0; });
  refused([](MeshConfig& c) { c.height = 257; });
  refused([](MeshConfig& c) { c.vcs = 0; });
  refused([](MeshConfig& c) { c.vcs = 9; });
  refused([](MeshConfig& c) { c.vc_flits = 0; });
  refused([](MeshConfig& c) { c.vc_flits = 256; });
  refused([](MeshConfig& c) { c.router_cycles = 0; });
  refused([](MeshConfig& c) { c.link_cycles = 0; });
  refused([](MeshConfig& c) { c.local_cycles = 17; });
  refused([](MeshConfig& c) { c.credit_cycles = 0; });
  refused([](MeshConfig& c) { c.injection_flits = 0; });
  refused([](MeshConfig& c) { c.ejection_flits = 0x10000; });
  refused([](MeshConfig& c) { c.class_vcs = {}; });
  refused([](MeshConfig& c) { c.class_vcs = {0x1, 0x10}; });  // of four VCs
  refused([](MeshConfig& c) { c.endpoint_nodes = {}; });
  refused([](MeshConfig& c) { c.endpoint_nodes = {4}; });
  refused([](MeshConfig& c) { c.endpoint_nodes.assign(17, 0); });
}

}  // namespace
}  // namespace gpumux::test
