#include "noc/mesh.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"

namespace gpumux::noc {

namespace {

constexpr std::uint32_t kMaxSide = 256;
constexpr std::uint32_t kMaxDelay = 16;
constexpr std::uint32_t kMaxEndpointsOfANode = 16;

void check(const char* what, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value < least || value > most)
    throw UserError(fmt::format("mesh: {} = {}: must be {} to {}", what, value, least, most));
}

/// Round robin: the first bit of `mask` from bit `turn` on, wrapping around. `mask` must not be 0.
template <typename Mask>
[[nodiscard]] unsigned pick(Mask mask, unsigned turn) {
  const auto wide = std::uint64_t{mask};
  const std::uint64_t later = wide & (~std::uint64_t{0} << turn);
  return static_cast<unsigned>(std::countr_zero(later != 0 ? later : wide));
}
/// Round robin: the turn that follows `winner`.
[[nodiscard]] std::uint8_t after(unsigned winner, unsigned count) {
  return static_cast<std::uint8_t>(winner + 1 == count ? 0 : winner + 1);
}

[[nodiscard]] constexpr unsigned opposite(unsigned port) { return ((port - 1) ^ 2U) + 1; }

constexpr const char* kPortNames[] = {"local", "north", "east", "south", "west"};

}  // namespace

Mesh::Mesh(const MeshConfig& config)
    : config_(config),
      vc_flits_(config.vc_flits),
      injection_flits_(config.injection_flits),
      // Pipelines of one or two stages allocate VC and switch in the same cycle; with one stage, the flit
      // also crosses the switch in that cycle. From three stages on, the VC is allocated in the cycle before
      // the switch, and any further stages come first.
      allocates_first_(config.router_cycles > 2),
      link_delay_(std::min(config.router_cycles, 2U) + config.link_cycles),
      entry_delay_(config.local_cycles),
      exit_delay_(std::min(config.router_cycles, 2U) + config.local_cycles) {
  check("width", config.width, 1, kMaxSide);
  check("height", config.height, 1, kMaxSide);
  check("vcs", config.vcs, 1, kVcStride);
  check("vc_flits", config.vc_flits, 1, 255);
  check("router_cycles", config.router_cycles, 1, kMaxDelay);
  check("link_cycles", config.link_cycles, 1, kMaxDelay);
  check("local_cycles", config.local_cycles, 1, kMaxDelay);
  check("credit_cycles", config.credit_cycles, 1, kMaxDelay);
  check("injection_flits", config.injection_flits, 1, 0xffff);
  check("ejection_flits", config.ejection_flits, 1, 0xffff);
  check("classes", static_cast<std::uint32_t>(config.class_vcs.size()), 1,
        static_cast<std::uint32_t>(counters_.size()));
  check("endpoints", static_cast<std::uint32_t>(config.endpoint_nodes.size()), 1, 0xffff);
  const auto all_vcs = static_cast<std::uint8_t>((1U << config.vcs) - 1);
  for (std::uint8_t& vcs : config_.class_vcs) {
    vcs &= all_vcs;
    if (vcs == 0) throw UserError(fmt::format("mesh: a class may use none of the {} VCs", config.vcs));
  }
  const std::uint32_t front = config.router_cycles - std::min(config.router_cycles, 3U);
  link_delay_ += front;
  entry_delay_ += front;

  const std::uint32_t nodes = config.width * config.height;
  routers_.resize(nodes);
  buffers_.resize(std::size_t{nodes} * kInputs * vc_flits_);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    Router& router = routers_[n];
    router.x = static_cast<std::uint8_t>(n % config.width);
    router.y = static_cast<std::uint8_t>(n / config.width);
    router.neighbour.fill(kNobody);
    if (router.y > 0) router.neighbour[kNorth] = n - config.width;
    if (router.x + 1U < config.width) router.neighbour[kEast] = n + 1;
    if (router.y + 1U < config.height) router.neighbour[kSouth] = n + config.width;
    if (router.x > 0) router.neighbour[kWest] = n - 1;
    router.owner.fill(kNone);
    for (unsigned port = 0; port <= kPorts; ++port) {
      if (port == kLocal || (port < kPorts && router.neighbour[port] == kNobody)) continue;
      router.free_vcs[port] = router.with_credit[port] = all_vcs;
      std::fill_n(router.credits.begin() + port * kVcStride, config.vcs,
                  static_cast<std::uint8_t>(vc_flits_));
    }
  }

  const auto count = static_cast<std::uint32_t>(config.endpoint_nodes.size());
  endpoints_.resize(count);
  for (std::uint32_t e = 0; e < count; ++e) {
    const std::uint32_t node = config.endpoint_nodes[e];
    if (node >= nodes) {
      throw UserError(
          fmt::format("mesh: endpoint {} is at node {} of {}x{}", e, node, config.width, config.height));
    }
    if (routers_[node].endpoints == kMaxEndpointsOfANode) {
      throw UserError(fmt::format("mesh: node {} has more than {} endpoints", node, kMaxEndpointsOfANode));
    }
    endpoints_[e].node = node;
    endpoints_[e].local = routers_[node].endpoints++;
    endpoints_[e].space = config.ejection_flits;
  }
  std::uint32_t first = 0;
  for (Router& router : routers_) {
    router.first_endpoint = first;
    first += router.endpoints;
  }
  members_.resize(count);
  for (std::uint32_t e = 0; e < count; ++e)
    members_[routers_[endpoints_[e].node].first_endpoint + endpoints_[e].local] = e;
  queues_.resize(std::size_t{count} * injection_flits_);

  // No more packets than flits have places: in queues, in routers (a flit on a link already holds a place in
  // the next router), and at receivers.
  slots_.resize(std::size_t{count} * (injection_flits_ + config.ejection_flits) +
                std::size_t{nodes} * kPorts * config.vcs * vc_flits_);
  if (slots_.size() > kMaxSlots)
    throw UserError("mesh: too many places for flits: smaller queues or buffers");
  for (auto n = static_cast<std::uint32_t>(slots_.size()); n-- > 0;) {
    slots_[n].packet.handle = free_slot_;
    free_slot_ = n;
  }

  links_ = nodes * kPorts;
  const std::size_t ring =
      std::bit_ceil(std::size_t{std::max({link_delay_, entry_delay_, config.credit_cycles})} + 1);
  ring_mask_ = ring - 1;
  arrivals_.resize(ring * links_);
  arrival_count_.resize(ring);
  credits_.resize(ring * links_);
  credit_count_.resize(ring);
  busy_.resize((nodes + 63) / 64);
  sending_.resize((nodes + 63) / 64);
}

Cycle Mesh::zero_load(std::uint32_t source, std::uint32_t destination, std::uint32_t flits) const {
  const Router& from = routers_[endpoints_[source].node];
  const Router& to = routers_[endpoints_[destination].node];
  const int distance = std::abs(from.x - to.x) + std::abs(from.y - to.y);
  const auto hops = static_cast<Cycle>(distance);
  return 2 * Cycle{config_.local_cycles} + (hops + 1) * config_.router_cycles + hops * config_.link_cycles +
         flits - 1;
}

void Mesh::inject(const Packet& packet, Cycle cycle) {
  Endpoint& endpoint = endpoints_[packet.source];
  GPUMUX_DCHECK(cycle >= now_);
  GPUMUX_DCHECK(packet.flits > 0 && packet.flits <= config_.ejection_flits &&
                can_inject(packet.source, packet.flits));
  GPUMUX_DCHECK(packet.destination < endpoints_.size() && packet.kind < config_.class_vcs.size());
  const std::uint32_t n = free_slot_;
  Slot& slot = slots_[n];
  free_slot_ = slot.packet.handle;
  const Endpoint& to = endpoints_[packet.destination];
  slot.packet = packet;
  slot.x = routers_[to.node].x;
  slot.y = routers_[to.node].y;
  slot.local = to.local;
  slot.ejected = 0;
  slot.injected = cycle;
  std::uint32_t at = endpoint.head + endpoint.count;
  if (at >= injection_flits_) at -= injection_flits_;
  queues_[std::size_t{packet.source} * injection_flits_ + at] = n;
  ++endpoint.count;
  endpoint.queued_flits += packet.flits;
  ++routers_[endpoint.node].queued_packets;
  sending_[endpoint.node / 64] |= std::uint64_t{1} << (endpoint.node % 64);
  ++packets_;
  next_ = std::min(next_, cycle);
}

void Mesh::release(std::uint32_t endpoint, std::uint32_t flits) {
  endpoints_[endpoint].space += flits;
  GPUMUX_DCHECK(endpoints_[endpoint].space <= config_.ejection_flits);
  if (packets_ > 0) next_ = std::min(next_, now_);
}

void Mesh::run_to(Cycle end) {
  while (next_ < end) step(std::max(next_, now_));
  now_ = std::max(now_, end);
}

void Mesh::step(Cycle cycle) {
  GPUMUX_DCHECK(cycle >= now_ && cycle <= std::max(next_, now_));
  progress_ = false;
  now_ = cycle + 1;
  receive(cycle);
  for (std::size_t word = 0; word < busy_.size(); ++word) {
    for (std::uint64_t rest = busy_[word]; rest != 0; rest &= rest - 1)
      work(static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(rest)), cycle);
  }
  for (std::size_t word = 0; word < sending_.size(); ++word) {
    for (std::uint64_t rest = sending_[word]; rest != 0; rest &= rest - 1) {
      const auto index =
          static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(rest));
      send(routers_[index], index, cycle);
    }
  }
  // A cycle without any grant changes nothing until a flit, a credit or a new packet arrives.
  next_ = progress_ ? now_ : next_without_progress();
}

Cycle Mesh::next_without_progress() const {
  Cycle next = kNever;
  for (Cycle ahead = 0; ahead < ring_mask_; ++ahead) {
    const auto n = static_cast<std::size_t>(now_ + ahead) & ring_mask_;
    if (arrival_count_[n] + credit_count_[n] == 0) continue;
    next = now_ + ahead;
    break;
  }
  for (std::size_t word = 0; word < sending_.size(); ++word) {
    for (std::uint64_t rest = sending_[word]; rest != 0; rest &= rest - 1) {
      const Router& router = routers_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
      for (std::uint32_t k = 0; k < router.endpoints; ++k) {
        const std::uint32_t e = members_[router.first_endpoint + k];
        if (endpoints_[e].count == 0) continue;
        const Cycle from = slots_[queues_[std::size_t{e} * injection_flits_ + endpoints_[e].head]].injected;
        if (from >= now_) next = std::min(next, from);
      }
    }
  }
  return next;
}

void Mesh::receive(Cycle cycle) {
  const auto n = static_cast<std::size_t>(cycle) & ring_mask_;
  const Arrival* const arrivals = &arrivals_[n * links_];
  for (std::uint32_t i = 0; i < arrival_count_[n]; ++i) accept(arrivals[i]);
  arrival_count_[n] = 0;
  const Credit* const credits = &credits_[n * links_];
  for (std::uint32_t i = 0; i < credit_count_[n]; ++i) {
    Router& router = routers_[credits[i].router];
    const unsigned output = credits[i].output;
    GPUMUX_DCHECK(router.credits[output] < vc_flits_);
    if (router.credits[output]++ != 0) continue;
    const unsigned port = output / kVcStride;
    router.with_credit[port] =
        static_cast<std::uint8_t>(router.with_credit[port] | (1U << (output % kVcStride)));
    if (port != kEntry && router.owner[output] != kNone)
      router.credit |= std::uint64_t{1} << router.owner[output];
  }
  credit_count_[n] = 0;
}

void Mesh::accept(const Arrival& arrival) {
  Router& router = routers_[arrival.router];
  const unsigned input = arrival.input;
  const std::uint64_t bit = std::uint64_t{1} << input;
  GPUMUX_DCHECK(router.count[input] < vc_flits_);
  unsigned at = router.head[input] + router.count[input];
  if (at >= vc_flits_) at -= vc_flits_;
  place(arrival.router, input, at) = arrival.flit;
  if (router.count[input]++ != 0) return;
  router.occupied |= bit;
  busy_[arrival.router / 64] |= std::uint64_t{1} << (arrival.router % 64);
  if ((router.active & bit) == 0) route(router, input, arrival.flit);
}

// Sets the output port of the packet whose head flit has reached the front of an input VC. XY
// routing: along the row first.
void Mesh::route(Router& router, unsigned input, const Flit& flit) {
  const Slot& slot = slots_[flit.slot()];
  GPUMUX_DCHECK(flit.number() == 0);
  Port port = kLocal;
  if (slot.x != router.x) {
    port = slot.x > router.x ? kEast : kWest;
  } else if (slot.y != router.y) {
    port = slot.y > router.y ? kSouth : kNorth;
  }
  router.output_port[input] = port;
  router.output_vc[input] = slot.local;
  router.allowed[input] = config_.class_vcs[slot.packet.kind];
}

// Allocates VCs and the switch of one router. Both allocators see the state at the start of the cycle: a VC
// that the switch frees can be allocated from the next cycle on.
void Mesh::work(std::uint32_t index, Cycle cycle) {
  Router& router = routers_[index];
  const std::uint64_t occupied = router.occupied;
  const std::uint64_t waiting = occupied & ~router.active;
  std::uint64_t open = router.active;
  if (waiting != 0) allocate_vcs(router, index, waiting);
  if (!allocates_first_) open = router.active;

  // Separable switch allocator: each input port offers one of its VCs, then each output port takes one of the
  // offers. Both choose round robin and advance only when the offer is taken (the rule of iSLIP).
  const std::uint64_t ready = occupied & open & router.credit;
  if (ready == 0) return;
  progress_ = true;
  if ((ready & (ready - 1)) == 0) {  // most often, only one flit is ready
    pass(router, index, static_cast<unsigned>(std::countr_zero(ready)), cycle);
    return;
  }
  std::array<std::uint8_t, kPorts> offered;
  std::uint64_t requests = 0;  // byte of the output port, bit of the input port
  for (std::uint64_t rest = ready; rest != 0;) {
    const auto port = static_cast<unsigned>(std::countr_zero(rest)) / kVcStride;
    const auto vcs = static_cast<std::uint8_t>(rest >> (port * kVcStride));
    const unsigned input = port * kVcStride + pick(vcs, router.switch_turn[port]);
    offered[port] = static_cast<std::uint8_t>(input);
    requests |= std::uint64_t{1} << (router.output_port[input] * 8U + port);
    rest &= ~(std::uint64_t{0xff} << (port * kVcStride));
  }
  for (std::uint64_t rest = requests; rest != 0;) {
    const auto out = static_cast<unsigned>(std::countr_zero(rest)) / 8;
    const unsigned port = pick(static_cast<std::uint8_t>(rest >> (out * 8)), router.input_turn[out]);
    rest &= ~(std::uint64_t{0xff} << (out * 8));
    pass(router, index, offered[port], cycle);
  }
}

// Separable VC allocator: each waiting input VC picks one free output VC that its class may use and that has
// a place, then each output VC takes one of the input VCs that picked it.
void Mesh::allocate_vcs(Router& router, std::uint32_t index, std::uint64_t waiting) {
  if ((waiting & (waiting - 1)) == 0) {
    const auto input = static_cast<unsigned>(std::countr_zero(waiting));
    const unsigned port = router.output_port[input];
    const unsigned vcs = router.free_vcs[port] & router.with_credit[port] & router.allowed[input];
    if (port == kLocal) {
      allocate_space(router, index, waiting);
    } else if (vcs != 0) {
      grant(router, input, port * kVcStride + pick(vcs, router.vc_turn[input]));
    }
    return;
  }
  std::array<std::uint64_t, kInputs> wanted_by;
  std::uint64_t wanted = 0;
  std::uint64_t local = 0;
  for (std::uint64_t rest = waiting; rest != 0; rest &= rest - 1) {
    const auto input = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t bit = std::uint64_t{1} << input;
    const unsigned port = router.output_port[input];
    if (port == kLocal) {
      local |= bit;
      continue;
    }
    const unsigned vcs = router.free_vcs[port] & router.with_credit[port] & router.allowed[input];
    if (vcs == 0) continue;
    const unsigned output = port * kVcStride + pick(vcs, router.vc_turn[input]);
    if ((wanted >> output & 1U) == 0) wanted_by[output] = 0;
    wanted |= std::uint64_t{1} << output;
    wanted_by[output] |= bit;
  }
  for (std::uint64_t rest = wanted; rest != 0; rest &= rest - 1) {
    const auto output = static_cast<unsigned>(std::countr_zero(rest));
    grant(router, pick(wanted_by[output], router.owner_turn[output]), output);
  }
  if (local != 0) allocate_space(router, index, local);
}

void Mesh::grant(Router& router, unsigned input, unsigned output) {
  const unsigned port = output / kVcStride;
  const unsigned vc = output % kVcStride;
  router.owner_turn[output] = after(input, kInputs);
  router.vc_turn[input] = after(vc, config_.vcs);
  router.owner[output] = static_cast<std::uint8_t>(input);
  router.output_vc[input] = static_cast<std::uint8_t>(vc);
  router.free_vcs[port] = static_cast<std::uint8_t>(router.free_vcs[port] & ~(1U << vc));
  router.active |= std::uint64_t{1} << input;
  router.credit |= std::uint64_t{1} << input;
  progress_ = true;
}

// Allocates space at the destination. A packet gets space for all its flits at once, so no two
// half-received packets wait for each other. Each endpoint serves one packet per cycle, round robin. A
// packet that does not fit stays the endpoint's choice until it fits, otherwise short packets could keep
// a long packet out forever.
void Mesh::allocate_space(Router& router, std::uint32_t index, std::uint64_t waiting) {
  std::array<std::uint64_t, kMaxEndpointsOfANode> wanted_by;
  std::fill_n(wanted_by.begin(), router.endpoints, 0);
  for (std::uint64_t rest = waiting; rest != 0; rest &= rest - 1) {
    const auto input = static_cast<unsigned>(std::countr_zero(rest));
    wanted_by[router.output_vc[input]] |= std::uint64_t{1} << input;
  }
  for (unsigned local = 0; local < router.endpoints; ++local) {
    if (wanted_by[local] == 0) continue;
    Endpoint& endpoint = endpoints_[members_[router.first_endpoint + local]];
    if (endpoint.waiting == kNone)
      endpoint.waiting = static_cast<std::uint8_t>(pick(wanted_by[local], endpoint.input_turn));
    const unsigned input = endpoint.waiting;
    const std::uint32_t flits = slots_[place(index, input, router.head[input]).slot()].packet.flits;
    if (flits > endpoint.space) continue;
    endpoint.space -= flits;
    endpoint.waiting = kNone;
    endpoint.input_turn = after(input, kInputs);
    router.active |= std::uint64_t{1} << input;
    router.credit |= std::uint64_t{1} << input;
    progress_ = true;
  }
}

// Sends the flit at the front of an input VC through the switch.
void Mesh::pass(Router& router, std::uint32_t index, unsigned input, Cycle cycle) {
  const std::uint64_t bit = std::uint64_t{1} << input;
  const Flit flit = place(index, input, router.head[input]);
  router.head[input] = after(router.head[input], vc_flits_);
  const unsigned port = router.output_port[input];
  router.input_turn[port] = after(input / kVcStride, kPorts);
  router.switch_turn[input / kVcStride] = after(input % kVcStride, config_.vcs);
  ++router.link_flits[port];
  if (port == kLocal) {
    eject(flit, cycle);
  } else {
    const unsigned vc = router.output_vc[input];
    const unsigned output = port * kVcStride + vc;
    send_after(cycle, link_delay_,
               {flit, static_cast<std::uint16_t>(router.neighbour[port]),
                static_cast<std::uint8_t>(opposite(port) * kVcStride + vc)});
    if (--router.credits[output] == 0) {
      router.with_credit[port] = static_cast<std::uint8_t>(router.with_credit[port] & ~(1U << vc));
      router.credit &= ~bit;
    }
    if (flit.tail()) {
      router.owner[output] = kNone;
      router.free_vcs[port] = static_cast<std::uint8_t>(router.free_vcs[port] | (1U << vc));
    }
  }
  // Return a credit for the place that the flit leaves.
  const unsigned from = input / kVcStride;
  const auto n = static_cast<std::size_t>(cycle + config_.credit_cycles) & ring_mask_;
  const bool entry = from == kLocal;
  credits_[n * links_ + credit_count_[n]++] = {
      static_cast<std::uint16_t>(entry ? index : router.neighbour[from]),
      static_cast<std::uint8_t>((entry ? kEntry : opposite(from)) * kVcStride + input % kVcStride)};
  if (flit.tail()) {
    router.active &= ~bit;
    router.credit &= ~bit;
  }
  if (--router.count[input] == 0) {
    router.occupied &= ~bit;
    if (router.occupied == 0) busy_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  } else if (flit.tail()) {
    route(router, input, place(index, input, router.head[input]));
  }
}

void Mesh::eject(const Flit& flit, Cycle cycle) {
  Slot& slot = slots_[flit.slot()];
  GPUMUX_DCHECK(flit.number() == slot.ejected);
  ++slot.ejected;
  if (!flit.tail()) return;
  GPUMUX_DCHECK(slot.ejected == slot.packet.flits);
  const Cycle there = cycle + exit_delay_;
  const Packet& packet = slot.packet;
  ClassCounters& counters = counters_[packet.kind];
  ++counters.ejected_packets;
  counters.ejected_flits += packet.flits;
  counters.queue_cycles += slot.entered - slot.injected;
  counters.network_cycles += there - slot.entered;
  counters.blocked_cycles +=
      there - slot.entered - zero_load(packet.source, packet.destination, packet.flits);
  delivered_.push_back({there, packet});
  slot.packet.handle = free_slot_;
  free_slot_ = flit.slot();
  --packets_;
}

// Sends one flit per cycle from a node's endpoints into its router. Endpoints take turns flit by flit; each
// endpoint sends one packet at a time.
void Mesh::send(Router& router, std::uint32_t index, Cycle cycle) {
  unsigned local = router.endpoint_turn;
  for (unsigned tried = 0; tried < router.endpoints; ++tried, local = after(local, router.endpoints)) {
    const std::uint32_t e = members_[router.first_endpoint + local];
    Endpoint& endpoint = endpoints_[e];
    if (endpoint.count == 0) continue;
    const std::uint32_t n = queues_[std::size_t{e} * injection_flits_ + endpoint.head];
    Slot& slot = slots_[n];
    if (endpoint.vc == kNone) {
      if (slot.injected > cycle) continue;
      const unsigned vcs =
          router.free_vcs[kEntry] & router.with_credit[kEntry] & config_.class_vcs[slot.packet.kind];
      if (vcs == 0) continue;
      const unsigned vc = pick(vcs, endpoint.vc_turn);
      endpoint.vc = static_cast<std::uint8_t>(vc);
      endpoint.vc_turn = after(vc, config_.vcs);
      router.free_vcs[kEntry] = static_cast<std::uint8_t>(router.free_vcs[kEntry] & ~(1U << vc));
      slot.entered = cycle;
      ++counters_[slot.packet.kind].injected_packets;
    } else if ((router.with_credit[kEntry] >> endpoint.vc & 1U) == 0) {
      continue;
    }
    const unsigned vc = endpoint.vc;
    const std::uint8_t number = endpoint.flits_sent++;
    const bool tail = endpoint.flits_sent == slot.packet.flits;
    send_after(cycle, entry_delay_,
               {Flit(n, number, tail), static_cast<std::uint16_t>(index), static_cast<std::uint8_t>(vc)});
    ++counters_[slot.packet.kind].injected_flits;
    if (--router.credits[kEntry * kVcStride + vc] == 0)
      router.with_credit[kEntry] = static_cast<std::uint8_t>(router.with_credit[kEntry] & ~(1U << vc));
    --endpoint.queued_flits;
    if (tail) {
      router.free_vcs[kEntry] = static_cast<std::uint8_t>(router.free_vcs[kEntry] | (1U << vc));
      endpoint.vc = kNone;
      endpoint.flits_sent = 0;
      if (++endpoint.head == injection_flits_) endpoint.head = 0;
      --endpoint.count;
      left_.push_back({cycle + 1, slot.packet});
      if (--router.queued_packets == 0) sending_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    }
    router.endpoint_turn = after(local, router.endpoints);
    progress_ = true;
    return;
  }
}

std::string Mesh::wait_of(const Router& router, unsigned input) {
  const unsigned port = router.output_port[input];
  const bool active = (router.active >> input & 1U) != 0;
  if (port == kLocal) return active ? "being received" : "waits for space at its destination";
  if (!active) return fmt::format("waits for a VC {}", kPortNames[port]);
  const bool credit = (router.credit >> input & 1U) != 0;
  return fmt::format("{} by VC {}{}", kPortNames[port], router.output_vc[input],
                     credit ? "" : ", waits for a place there");
}

std::string Mesh::describe() const {
  // For each packet: where its first flit is that is still in a queue or router, and
  // what that flit waits for.
  std::vector<std::string> where(slots_.size());
  std::vector<unsigned> first(slots_.size(), 0x100);
  for (std::uint32_t e = 0; e < endpoints_.size(); ++e) {
    const Endpoint& endpoint = endpoints_[e];
    for (std::uint32_t k = 0; k < endpoint.count; ++k) {
      const std::uint32_t at = (endpoint.head + k) % injection_flits_;
      where[queues_[std::size_t{e} * injection_flits_ + at]] =
          k > 0 ? "behind others in its queue" : "at the head of its queue";
    }
  }
  for (std::uint32_t index = 0; index < routers_.size(); ++index) {
    const Router& router = routers_[index];
    for (unsigned input = 0; input < kInputs; ++input) {
      for (unsigned k = 0; k < router.count[input]; ++k) {
        const std::size_t at = (router.head[input] + k) % vc_flits_;
        const Flit& flit = buffers_[(std::size_t{index} * kInputs + input) * vc_flits_ + at];
        if (flit.number() >= first[flit.slot()]) continue;
        first[flit.slot()] = flit.number();
        where[flit.slot()] = fmt::format("flit {} at router ({}, {}), {} VC {}, {}", flit.number(), router.x,
                                         router.y, kPortNames[input / kVcStride], input % kVcStride,
                                         k > 0 ? fmt::format("behind {} flits", k) : wait_of(router, input));
      }
    }
  }
  std::vector<bool> used(slots_.size(), true);
  for (std::uint32_t n = free_slot_; n != kNobody; n = slots_[n].packet.handle) used[n] = false;
  std::string all;
  for (std::uint32_t n = 0; n < slots_.size(); ++n) {
    if (!used[n]) continue;
    const Packet& packet = slots_[n].packet;
    all += fmt::format("packet {} of class {}, {} flits, endpoint {} to {}, since cycle {}: {}\n",
                       packet.handle, packet.kind, packet.flits, packet.source, packet.destination,
                       slots_[n].injected, where[n].empty() ? "on a link" : where[n]);
  }
  return all;
}

}  // namespace gpumux::noc
