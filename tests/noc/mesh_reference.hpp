// A second model with the rules of docs/mesh.md, which examines every place in every cycle. It has no masks,
// no rings, and it skips no cycles.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "noc/mesh.hpp"

namespace gpumux::test {

class MeshReference {
 public:
  using Packet = noc::Mesh::Packet;
  using Delivery = noc::Mesh::Delivery;

  explicit MeshReference(const noc::MeshConfig& config) : config_(config) {
    const int nodes = static_cast<int>(config.width * config.height);
    routers_.resize(nodes);
    for (Router& router : routers_) {
      for (auto& port : router.in) port.resize(config.vcs);
      for (auto& port : router.out)
        port.assign(config.vcs, Output{static_cast<int>(config.vc_flits), {}, {}});
    }
    endpoints_.resize(config.endpoint_nodes.size());
    for (std::size_t e = 0; e < endpoints_.size(); ++e) {
      endpoints_[e].space = static_cast<int>(config.ejection_flits);
      routers_[config.endpoint_nodes[e]].endpoints.push_back(static_cast<int>(e));
    }
  }

  void inject(const Packet& packet, Cycle cycle) {
    endpoints_[packet.source].queue.push_back({packet, cycle, 0});
  }
  [[nodiscard]] bool can_inject(int endpoint, int flits) const {
    for (const Queued& q : endpoints_[endpoint].queue) flits += q.packet.flits - q.sent;
    return flits <= static_cast<int>(config_.injection_flits);
  }
  void release(int endpoint, int flits) { endpoints_[endpoint].space += flits; }

  void step(Cycle now) {
    for (Router& router : routers_) {
      for (auto& port : router.out) {
        for (Output& output : port) {
          while (!output.returning.empty() && output.returning.front() <= now) {
            output.returning.pop_front();
            ++output.credits;
          }
        }
      }
    }
    for (int r = 0; r < static_cast<int>(routers_.size()); ++r) {
      // The state before both allocations decides what each input VC may do.
      std::vector<std::vector<bool>> waits(5), goes(5);
      for (int port = 0; port < 5; ++port) {
        for (Input& input : routers_[r].in[port]) {
          const bool flit = !input.flits.empty() && input.flits.front().from <= now;
          waits[port].push_back(flit && !input.active);
          goes[port].push_back(flit && input.active);
        }
      }
      const auto granted = allocate(r, waits);
      for (const auto& [port, vc] : granted) goes[port][vc] = config_.router_cycles <= 2;
      pass_switch(r, goes, now);
    }
    for (int r = 0; r < static_cast<int>(routers_.size()); ++r) enter(r, now);
  }

  std::vector<Delivery> delivered;
  std::uint64_t hops = 0;

 private:
  struct Flit {
    Packet packet;
    int number;
    Cycle from;  // cycle from which the flit can be allocated
  };
  struct Input {
    std::deque<Flit> flits;
    bool active = false;
    int port = 0, vc = 0;  // output port and VC of the packet
    int want = 0;          // output VC that is tried first
  };
  struct Output {
    int credits;
    std::deque<Cycle> returning;
    bool taken = false;
    int turn = 0;  // input VC that is tried first: port * 8 + VC
  };
  struct Router {
    std::array<std::vector<Input>, 5> in;
    std::array<std::vector<Output>, 6> out;  // 5: VCs of the router's endpoints
    std::array<int, 5> vc_turn{}, port_turn{};
    std::vector<int> endpoints;
    int endpoint_turn = 0;
  };
  struct Queued {
    Packet packet;
    Cycle from;
    int sent;
  };
  struct Endpoint {
    std::deque<Queued> queue;
    int vc = -1, want = 0;
    int space = 0;
    std::optional<std::pair<int, int>> next;  // input VC (port, VC) that is served next
    int turn = 0;
  };

  [[nodiscard]] int width() const { return static_cast<int>(config_.width); }
  [[nodiscard]] bool may_use(const Packet& packet, int vc) const {
    return (config_.class_vcs[packet.kind] >> vc & 1) != 0;
  }
  [[nodiscard]] int port_to(int r, const Packet& packet) const {
    const int to = config_.endpoint_nodes[packet.destination];
    if (to % width() > r % width()) return 2;
    if (to % width() < r % width()) return 4;
    if (to / width() < r / width()) return 1;
    if (to / width() > r / width()) return 3;
    return 0;
  }
  [[nodiscard]] int next_router(int r, int port) const {
    const int by[] = {0, -width(), 1, width(), -1};
    return r + by[port];
  }

  std::vector<std::pair<int, int>> allocate(int r, const std::vector<std::vector<bool>>& waits) {
    Router& router = routers_[r];
    const int vcs = static_cast<int>(config_.vcs);
    std::vector<std::pair<int, int>> granted;
    // For each output VC, the input VCs that want it.
    std::array<std::vector<int>, 40> wanted_by;
    for (int port = 0; port < 5; ++port) {
      for (int vc = 0; vc < vcs; ++vc) {
        if (!waits[port][vc]) continue;
        Input& input = router.in[port][vc];
        input.port = port_to(r, input.flits.front().packet);
        if (input.port == 0) continue;
        for (int k = 0; k < vcs; ++k) {
          const int want = (input.want + k) % vcs;
          const Output& output = router.out[input.port][want];
          if (output.taken || output.credits == 0 || !may_use(input.flits.front().packet, want)) continue;
          wanted_by[input.port * 8 + want].push_back(port * 8 + vc);
          break;
        }
      }
    }
    for (int o = 0; o < 40; ++o) {
      if (wanted_by[o].empty()) continue;
      Output& output = router.out[o / 8][o % 8];
      const int winner = first_from(wanted_by[o], output.turn);
      output.turn = (winner + 1) % 40;
      output.taken = true;
      Input& input = router.in[winner / 8][winner % 8];
      input.active = true;
      input.vc = o % 8;
      input.want = (o % 8 + 1) % vcs;
      granted.emplace_back(winner / 8, winner % 8);
    }
    for (const int e : router.endpoints) {
      Endpoint& endpoint = endpoints_[e];
      std::vector<int> wanting;
      for (int port = 0; port < 5; ++port) {
        for (int vc = 0; vc < vcs; ++vc) {
          if (waits[port][vc] && router.in[port][vc].flits.front().packet.destination == e)
            wanting.push_back(port * 8 + vc);
        }
      }
      if (wanting.empty()) continue;
      if (!endpoint.next) {
        const int winner = first_from(wanting, endpoint.turn);
        endpoint.next = std::pair(winner / 8, winner % 8);
      }
      const auto [port, vc] = *endpoint.next;
      Input& input = router.in[port][vc];
      if (input.flits.front().packet.flits > endpoint.space) continue;
      endpoint.space -= input.flits.front().packet.flits;
      endpoint.next.reset();
      endpoint.turn = (port * 8 + vc + 1) % 40;
      input.active = true;
      granted.emplace_back(port, vc);
    }
    return granted;
  }

  static int first_from(const std::vector<int>& ascending, int turn) {
    for (const int n : ascending) {
      if (n >= turn) return n;
    }
    return ascending.front();
  }

  void pass_switch(int r, const std::vector<std::vector<bool>>& goes, Cycle now) {
    Router& router = routers_[r];
    const int vcs = static_cast<int>(config_.vcs);
    std::array<std::vector<int>, 5> offers;  // by output port: the input ports that want it
    std::array<int, 5> offered{};
    for (int port = 0; port < 5; ++port) {
      for (int k = 0; k < vcs; ++k) {
        const int vc = (router.vc_turn[port] + k) % vcs;
        const Input& input = router.in[port][vc];
        if (!goes[port][vc] || (input.port != 0 && router.out[input.port][input.vc].credits == 0)) continue;
        offered[port] = vc;
        offers[input.port].push_back(port);
        break;
      }
    }
    for (int out = 0; out < 5; ++out) {
      if (offers[out].empty()) continue;
      const int port = first_from(offers[out], router.port_turn[out]);
      router.port_turn[out] = (port + 1) % 5;
      router.vc_turn[port] = (offered[port] + 1) % vcs;
      move(r, port, offered[port], now);
    }
  }

  void move(int r, int port, int vc, Cycle now) {
    const int stages = static_cast<int>(config_.router_cycles);
    const int traversal = std::min(stages, 2), front = std::max(stages - 3, 0);
    Input& input = routers_[r].in[port][vc];
    Flit flit = input.flits.front();
    input.flits.pop_front();
    ++hops;
    const bool tail = flit.number + 1 == flit.packet.flits;
    if (input.port == 0) {
      if (tail) delivered.push_back({now + traversal + config_.local_cycles, flit.packet});
    } else {
      Output& output = routers_[r].out[input.port][input.vc];
      --output.credits;
      if (tail) output.taken = false;
      flit.from = now + traversal + config_.link_cycles + front;
      const int back[] = {0, 3, 4, 1, 2};
      routers_[next_router(r, input.port)].in[back[input.port]][input.vc].flits.push_back(flit);
    }
    if (tail) input.active = false;
    const int back[] = {5, 3, 4, 1, 2};
    const int sender = port == 0 ? r : next_router(r, port);
    routers_[sender].out[back[port]][vc].returning.push_back(now + config_.credit_cycles);
  }

  void enter(int r, Cycle now) {
    Router& router = routers_[r];
    const int count = static_cast<int>(router.endpoints.size());
    const int vcs = static_cast<int>(config_.vcs);
    for (int k = 0; k < count; ++k) {
      const int local = (router.endpoint_turn + k) % count;
      Endpoint& endpoint = endpoints_[router.endpoints[local]];
      if (endpoint.queue.empty() || endpoint.queue.front().from > now) continue;
      Queued& first = endpoint.queue.front();
      for (int n = 0; endpoint.vc < 0 && n < vcs; ++n) {
        const int vc = (endpoint.want + n) % vcs;
        Output& output = router.out[5][vc];
        if (output.taken || output.credits == 0 || !may_use(first.packet, vc)) continue;
        output.taken = true;
        endpoint.vc = vc;
        endpoint.want = (vc + 1) % vcs;
      }
      if (endpoint.vc < 0 || router.out[5][endpoint.vc].credits == 0) continue;
      --router.out[5][endpoint.vc].credits;
      const int front = std::max(static_cast<int>(config_.router_cycles) - 3, 0);
      router.in[0][endpoint.vc].flits.push_back(
          {first.packet, first.sent, now + config_.local_cycles + front});
      if (++first.sent == first.packet.flits) {
        router.out[5][endpoint.vc].taken = false;
        endpoint.vc = -1;
        endpoint.queue.pop_front();
      }
      router.endpoint_turn = (local + 1) % count;
      return;
    }
  }

  noc::MeshConfig config_;
  std::vector<Router> routers_;
  std::vector<Endpoint> endpoints_;
};

}  // namespace gpumux::test
