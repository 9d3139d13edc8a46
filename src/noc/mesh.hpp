// A routed network: a two-dimensional mesh of routers with virtual channels, for chips that have CPU and GPU
// cores on one network (kayiran14, section 2.1 and Table 1). docs/mesh.md has its pipeline cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpumux::noc {

/// Defaults are kayiran14's (Table 1: 6x6, XY routing, 4 VCs per port, 4 buffers per VC); what the paper
/// leaves open is marked so. A link carries one flit (its width, 32 B there) per cycle: who sends knows how
/// many flits a packet has. Cycles are the network's own clock, here and in Mesh.
struct MeshConfig {
  std::uint32_t width = 6;          // routers in a row, 1..256
  std::uint32_t height = 6;         // rows, 1..256
  std::uint32_t vcs = 4;            // virtual channels per port, 1..8
  std::uint32_t vc_flits = 4;       // buffer of each, 1..255 flits
  std::uint32_t router_cycles = 2;  // pipeline, 1..16. Open in the paper
  std::uint32_t link_cycles = 1;    // between routers, 1..16. Open
  std::uint32_t local_cycles = 1;   // between an endpoint and its router, 1..16. Open
  /// From a flit's grant until its place counts again where the flit came from, 1..16. Open.
  std::uint32_t credit_cycles = 1;
  std::uint32_t injection_flits = 16;  // queue of each endpoint; a packet is no longer, 1..65535. Open
  std::uint32_t ejection_flits = 16;   // the same at the other end. Open
  /// Which virtual channels each class of packets may use, bit v for VC v; one class for each mask, 1..8.
  std::vector<std::uint8_t> class_vcs = {0xff};
  /// Of each endpoint the node: row * width + column. Row 0 is the northern one, column 0 the western one.
  std::vector<std::uint16_t> endpoint_nodes;
};

/// One physical network. Requests and replies that may wait for each other have one each (kayiran14, section
/// 2.2). So have classes with parts of each link of their own: 3G1C with 24 B and 8 B is a mesh of three VCs
/// and one of one VC, with flits of 24 B and 8 B.
///
/// Results depend on what was injected and released at which cycles and on nothing else: not on the order of
/// calls for different endpoints, and not on how the time between is cut into calls.
class Mesh {
 public:
  struct Packet {
    std::uint32_t handle = 0;  // the caller's
    std::uint16_t source = 0;  // endpoints
    std::uint16_t destination = 0;
    std::uint8_t flits = 1;  // 1..255, and no more than either end's queue
    std::uint8_t kind = 0;   // class
  };
  /// The receiver has the whole packet from the begin of this cycle on.
  struct Delivery {
    Cycle cycle;
    Packet packet;
  };
  struct ClassCounters {
    std::uint64_t injected_packets = 0;  // whose first flit has left the queue
    std::uint64_t injected_flits = 0;
    std::uint64_t ejected_packets = 0;  // delivered
    std::uint64_t ejected_flits = 0;
    // Of the delivered packets, cycles:
    std::uint64_t queue_cycles = 0;    // from inject() until the first flit has left the queue
    std::uint64_t network_cycles = 0;  // from there until delivery
    std::uint64_t blocked_cycles = 0;  // what of network_cycles is more than zero_load()
  };
  enum Port : std::uint8_t { kLocal, kNorth, kEast, kSouth, kWest };
  static constexpr unsigned kPorts = 5;

  /// Throws UserError for what is out of range.
  explicit Mesh(const MeshConfig& config);

  /// The endpoint's queue has places for so many flits.
  [[nodiscard]] bool can_inject(std::uint32_t endpoint, std::uint32_t flits) const {
    return endpoints_[endpoint].queued_flits + flits <= injection_flits_;
  }
  /// Puts a packet into its source's queue, from which it may leave in `cycle` (not simulated yet; no earlier
  /// than that of the packet before it). can_inject().
  void inject(const Packet& packet, Cycle cycle);
  /// The receiver has taken so many flits of delivered packets; counts from the next simulated cycle on.
  void release(std::uint32_t endpoint, std::uint32_t flits);

  /// The next cycle at which something can change without another inject() or release(); kNever: none.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Simulates one cycle, not before now(). Cycles before next() may be left out, none after it.
  void step(Cycle cycle);
  /// Simulates all cycles before `end`, without those in which nothing can change.
  void run_to(Cycle end);
  /// First cycle that has not been simulated.
  [[nodiscard]] Cycle now() const { return now_; }

  /// Packets on their last way, in order of (cycle, node). One is here as soon as its arrival is certain,
  /// which is some cycles before. The caller takes them out.
  [[nodiscard]] std::vector<Delivery>& delivered() { return delivered_; }
  /// Packets that have left their source's queue, in order of (cycle, node): their places are free from the
  /// begin of this cycle on. The caller takes them out.
  [[nodiscard]] std::vector<Delivery>& left() { return left_; }

  /// Cycles from inject() to delivery where nothing is in the way and no space is missing.
  [[nodiscard]] Cycle zero_load(std::uint32_t source, std::uint32_t destination, std::uint32_t flits) const;
  /// Packets that are injected and have not been in delivered().
  [[nodiscard]] std::uint32_t packets() const { return packets_; }
  /// Flits that have left a router by a port; kLocal: to its endpoints.
  [[nodiscard]] std::uint64_t link_flits(std::uint32_t node, Port port) const {
    return routers_[node].link_flits[port];
  }
  [[nodiscard]] const ClassCounters& counters(std::uint32_t kind) const { return counters_[kind]; }
  /// A line for each packet: where it is and what it waits for. For reports of deadlocks.
  [[nodiscard]] std::string describe() const;

 private:
  // Virtual channels are numbered port * 8 + VC, so that a port's are a byte of a mask.
  static constexpr unsigned kVcStride = 8;
  static constexpr unsigned kInputs = kPorts * kVcStride;
  // Outputs: those of the ports, and as a sixth the way from a node's endpoints into its router.
  static constexpr unsigned kEntry = kPorts;
  static constexpr unsigned kOutputs = kInputs + kVcStride;
  static constexpr std::uint8_t kNone = 0xff;
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  /// Slot of the packet, number within it, whether it is the last.
  struct Flit {
    std::uint32_t bits;
    Flit() = default;
    Flit(std::uint32_t slot, std::uint8_t number, bool tail)
        : bits(slot << 9U | number << 1U | (tail ? 1U : 0U)) {}
    [[nodiscard]] std::uint32_t slot() const { return bits >> 9U; }
    [[nodiscard]] std::uint8_t number() const { return static_cast<std::uint8_t>(bits >> 1U); }
    [[nodiscard]] bool tail() const { return (bits & 1U) != 0; }
  };
  static constexpr std::uint32_t kMaxSlots = 1U << 23U;
  struct alignas(64) Router {
    // Inputs, bit port * 8 + VC.
    std::uint64_t occupied = 0;  // has a flit
    std::uint64_t active = 0;    // its packet has an output VC, or space at its endpoint
    std::uint64_t credit = 0;    // of those, with a place at the other end
    // By output port.
    std::array<std::uint8_t, kPorts + 1> free_vcs{};  // belong to no packet
    std::array<std::uint8_t, kPorts + 1> with_credit{};
    std::array<std::uint8_t, kPorts> input_turn{};   // by output port: input port that is first
    std::array<std::uint8_t, kPorts> switch_turn{};  // by input port: VC that is first
    // Of the packet at the head of each input VC.
    std::array<std::uint8_t, kInputs> output_port{};
    std::array<std::uint8_t, kInputs> output_vc{};  // kLocal: which of the node's endpoints
    std::array<std::uint8_t, kInputs> allowed{};    // VCs of its class
    // Of each input VC.
    std::array<std::uint8_t, kInputs> vc_turn{};  // output VC that it would rather have
    std::array<std::uint8_t, kInputs> head{};     // of its ring of flits
    std::array<std::uint8_t, kInputs> count{};
    // Of each output VC.
    std::array<std::uint8_t, kOutputs> owner{};  // input VC
    std::array<std::uint8_t, kOutputs> credits{};
    std::array<std::uint8_t, kInputs> owner_turn{};  // input VC that is first
    std::array<std::uint32_t, kPorts> neighbour{};
    std::uint8_t x = 0, y = 0;
    // Its endpoints: members_[first_endpoint...].
    std::uint32_t first_endpoint = 0;
    std::uint8_t endpoints = 0;
    std::uint8_t endpoint_turn = 0;
    std::uint32_t queued_packets = 0;  // at its endpoints
    std::array<std::uint64_t, kPorts> link_flits{};
  };
  struct Endpoint {
    std::uint32_t node = 0;
    std::uint8_t local = 0;   // which of its node's
    std::uint8_t vc = kNone;  // in which the first packet goes
    std::uint8_t vc_turn = 0;
    std::uint8_t flits_sent = 0;  // of the first packet
    std::uint32_t head = 0;       // of its ring in queues_
    std::uint32_t count = 0;
    std::uint32_t queued_flits = 0;
    std::uint32_t space = 0;       // flits that may still come
    std::uint8_t waiting = kNone;  // input VC that gets the next space
    std::uint8_t input_turn = 0;   // input VC that is first after it
  };
  struct alignas(32) Slot {
    Packet packet;              // handle of a free one: the next free one
    std::uint8_t x = 0, y = 0;  // of its destination
    std::uint8_t local = 0;
    std::uint8_t ejected = 0;  // flits
    Cycle injected = 0;
    Cycle entered = 0;  // the network
  };
  static_assert(sizeof(Slot) == 32);
  struct Arrival {
    Flit flit;
    std::uint16_t router;
    std::uint8_t input;
  };
  struct Credit {
    std::uint16_t router;
    std::uint8_t output;
  };

  [[nodiscard]] Flit& place(std::uint32_t router, unsigned input, unsigned n) {
    return buffers_[(std::size_t{router} * kInputs + input) * vc_flits_ + n];
  }
  void receive(Cycle cycle);
  void accept(const Arrival& arrival);
  void route(Router& router, unsigned input, const Flit& flit);
  void work(std::uint32_t index, Cycle cycle);
  void allocate_vcs(Router& router, std::uint32_t index, std::uint64_t waiting);
  void allocate_space(Router& router, std::uint32_t index, std::uint64_t waiting);
  void grant(Router& router, unsigned input, unsigned output);
  void pass(Router& router, std::uint32_t index, unsigned input, Cycle cycle);
  void eject(const Flit& flit, Cycle cycle);
  void send(Router& router, std::uint32_t index, Cycle cycle);
  void send_after(Cycle cycle, std::uint32_t delay, const Arrival& arrival) {
    const auto n = static_cast<std::size_t>(cycle + delay) & ring_mask_;
    arrivals_[n * links_ + arrival_count_[n]++] = arrival;
  }
  [[nodiscard]] Cycle next_without_progress() const;
  [[nodiscard]] static std::string wait_of(const Router& router, unsigned input);

  MeshConfig config_;
  std::uint32_t vc_flits_, injection_flits_;
  bool allocates_first_;      // a VC in a cycle of its own, before the switch
  std::uint32_t link_delay_;  // from a flit's grant until it can be allocated at the next router
  std::uint32_t entry_delay_, exit_delay_;
  std::uint32_t links_;  // flits that can arrive in a cycle
  std::vector<Router> routers_;
  std::vector<Flit> buffers_;           // [router][input VC][vc_flits]
  std::vector<Endpoint> endpoints_;     // by endpoint
  std::vector<std::uint32_t> members_;  // endpoints by node
  std::vector<std::uint32_t> queues_;   // [endpoint][injection_flits]: slots
  std::vector<Slot> slots_;
  std::uint32_t free_slot_ = kNobody;
  // Flits and credits under way, by the cycle at which they are there, as rings.
  std::size_t ring_mask_ = 0;
  std::vector<Arrival> arrivals_;  // [cycle & ring_mask_][links_]
  std::vector<std::uint32_t> arrival_count_;
  std::vector<Credit> credits_;
  std::vector<std::uint32_t> credit_count_;
  std::vector<std::uint64_t> busy_;     // routers with flits, a bit each
  std::vector<std::uint64_t> sending_;  // nodes whose endpoints have packets
  std::vector<Delivery> delivered_;
  std::vector<Delivery> left_;
  std::array<ClassCounters, 8> counters_{};
  std::uint32_t packets_ = 0;
  bool progress_ = false;
  Cycle now_ = 0;
  Cycle next_ = kNever;
};

}  // namespace gpumux::noc
