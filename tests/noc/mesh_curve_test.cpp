// Latency and throughput under uniform random traffic, compared with BookSim 2 (docs/mesh.md).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <ctime>
#include <deque>

#include "base/hash.hpp"
#include "noc/mesh.hpp"

namespace gpumux::test {
namespace {

using noc::Mesh;
using noc::MeshConfig;

struct Point {
  double latency;     // cycles from a packet's birth, its wait in front of a full queue counted
  double throughput;  // flits per node and cycle
  double ns;          // of the host, per flit and router
};

/// Every node makes packets at random times for all nodes alike, itself among them, and waits for ever with
/// those that find no room; the first quarter does not count.
Point measure(const MeshConfig& config, std::uint32_t flits, double load, Cycle cycles) {
  const std::uint32_t nodes = config.width * config.height;
  Mesh mesh(config);
  Random random(7);
  std::vector<std::deque<Mesh::Packet>> waiting(nodes);
  std::vector<Cycle> born;
  double latency = 0;
  std::uint64_t packets = 0, received = 0;
  const Cycle warm = cycles / 4;
  const std::clock_t begin = std::clock();
  for (Cycle now = 0; now < cycles; ++now) {
    for (std::uint32_t e = 0; e < nodes; ++e) {
      if (static_cast<double>(random.next() >> 11U) * 0x1p-53 < load / flits) {
        waiting[e].push_back({static_cast<std::uint32_t>(born.size()), static_cast<std::uint16_t>(e),
                              static_cast<std::uint16_t>(random.below(nodes)),
                              static_cast<std::uint8_t>(flits), 0});
        born.push_back(now);
      }
      for (; !waiting[e].empty() && mesh.can_inject(e, flits); waiting[e].pop_front())
        mesh.inject(waiting[e].front(), now);
    }
    mesh.step(now);
    for (const Mesh::Delivery& d : mesh.delivered()) {
      mesh.release(d.packet.destination, flits);
      if (now >= warm) received += flits;
      if (born[d.packet.handle] < warm) continue;
      latency += static_cast<double>(d.cycle - born[d.packet.handle]);
      ++packets;
    }
    mesh.delivered().clear();
  }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::uint64_t hops = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    for (unsigned port = 0; port < Mesh::kPorts; ++port)
      hops += mesh.link_flits(n, static_cast<Mesh::Port>(port));
  }
  return {latency / static_cast<double>(packets),
          static_cast<double>(received) / static_cast<double>(cycles - warm) / nodes,
          seconds * 1e9 / static_cast<double>(hops)};
}

MeshConfig square(std::uint32_t side) {
  MeshConfig config;
  config.width = config.height = side;
  config.injection_flits = config.ejection_flits = 64;
  for (std::uint32_t n = 0; n < side * side; ++n)
    config.endpoint_nodes.push_back(static_cast<std::uint16_t>(n));
  return config;
}
/// BookSim's router of separate stages for VC, switch and crossbar, its credits' way.
MeshConfig like_booksim(std::uint32_t side) {
  MeshConfig config = square(side);
  config.router_cycles = 3;
  config.credit_cycles = 2;
  return config;
}

struct Reference {
  std::uint32_t side, flits;
  double load;
  double latency;     // 0: beyond saturation
  double throughput;  // flits per node and cycle, at saturation
};
/// BookSim 2 (commit 28f4329): mesh, dor, uniform, 4 VCs of 4 flits, separable_input_first allocators, one
/// iteration, routing_delay 0, vc_alloc_delay 1, sw_alloc_delay 1, st_final_delay 1, credit_delay 0,
/// use_noc_latency 0, vc_busy_when_full 1, sample_period 5000; at load 0.95 sim_type throughput.
constexpr Reference kBooksim[] = {
    {6, 1, 0.05, 21.56, 0}, {6, 1, 0.25, 22.25, 0}, {6, 1, 0.40, 23.89, 0}, {6, 1, 0.45, 25.30, 0},
    {6, 1, 0.95, 0, 0.529}, {6, 5, 0.05, 27.06, 0}, {6, 5, 0.25, 31.62, 0}, {6, 5, 0.40, 40.73, 0},
    {6, 5, 0.45, 51.17, 0}, {6, 5, 0.95, 0, 0.502}, {8, 1, 0.05, 27.17, 0}, {8, 1, 0.25, 28.40, 0},
    {8, 1, 0.35, 31.37, 0}, {8, 1, 0.95, 0, 0.397}, {8, 5, 0.05, 32.71, 0}, {8, 5, 0.25, 40.22, 0},
    {8, 5, 0.35, 58.69, 0}, {8, 5, 0.95, 0, 0.381},
};

TEST(MeshCurve, IsThatOfBooksim) {
  for (const Reference& reference : kBooksim) {
    SCOPED_TRACE(
        fmt::format("{0}x{0}, packets of {1}, load {2}", reference.side, reference.flits, reference.load));
    const Point point = measure(like_booksim(reference.side), reference.flits, reference.load, 20'000);
    if (reference.throughput > 0) {
      EXPECT_NEAR(point.throughput, reference.throughput, 0.03 * reference.throughput);
      // Of what the links across the middle would let through: 4/k (Dally and Towles).
      const double capacity = 4.0 / reference.side;
      EXPECT_GT(point.throughput, 0.70 * capacity);
      EXPECT_LT(point.throughput, 0.85 * capacity);
    } else {
      // BookSim's packets take a cycle more between router and receiver.
      EXPECT_NEAR(point.latency + 1, reference.latency, 0.04 * reference.latency);
      EXPECT_NEAR(point.throughput, reference.load, 0.03 * reference.load);
    }
  }
}

// For docs/mesh.md: --gtest_also_run_disabled_tests --gtest_filter='MeshCurve.*'
TEST(MeshCurve, DISABLED_Print) {
  for (const std::uint32_t stages : {2U, 3U}) {
    for (const std::uint32_t side : {6U, 8U}) {
      for (const std::uint32_t flits : {1U, 5U}) {
        for (const double load : {0.05, 0.15, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.95}) {
          const Point point = measure(stages == 2 ? square(side) : like_booksim(side), flits, load, 100'000);
          fmt::print(
              "{0} stages, {1}x{1}, packets of {2}, load {3:.2f}: latency {4:.2f}, {5:.4f} flits, {6:.0f} "
              "ns\n",
              stages, side, flits, load, point.latency, point.throughput, point.ns);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpumux::test
