// A routed network: a two-dimensional mesh of routers with virtual channels, for chips that have
// CPU and GPU cores on one network (kayiran14, section 2.1 and Table 1). docs/mesh.md describes
// the pipeline cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpumux::noc {

/// Parameters of a mesh. Defaults are those of kayiran14 (Table 1: 6x6, XY routing, 4 VCs per port, 4
/// buffers per VC); "open" marks what the paper leaves open. A link carries one flit per cycle and is one
/// flit wide (32 B in the paper); the sender knows the number of flits of a packet. Cycles are those of the
/// network's clock, here and in Mesh.
struct MeshConfig {
  std::uint32_t width = 6;          // routers in a row, 1..256
  std::uint32_t height = 6;         // rows, 1..256
  std::uint32_t vcs = 4;            // virtual channels per port, 1..8
  std::uint32_t vc_flits = 4;       // buffer of each VC, 1..255 flits
  std::uint32_t router_cycles = 2;  // pipeline stages, 1..16. Open
  std::uint32_t link_cycles = 1;    // between routers, 1..16. Open
  std::uint32_t local_cycles = 1;   // between an endpoint and its router, 1..16. Open
  /// Cycles from the grant of a flit until the sender may use its place again, 1..16. Open.
  std::uint32_t credit_cycles = 1;
  std::uint32_t injection_flits = 16;  // queue of each endpoint, 1..65535 flits; bounds
                                       // the length of a packet. Open
  std::uint32_t ejection_flits = 16;   // receive buffer of each endpoint, 1..65535 flits; bounds
                                       // the length of a packet. Open
  /// VCs that each class of packets may use, bit v for VC v. One mask per class, 1..8 classes.
  std::vector<std::uint8_t> class_vcs = {0xff};
  /// Node of each endpoint: row * width + column. Row 0 is the northern one, column 0 the western one.
  std::vector<std::uint16_t> endpoint_nodes;
};

/// One physical network. Requests and replies could wait for each other, so they have one mesh each
/// (kayiran14, section 2.2). Classes with their own part of each link also have one mesh each. For example,
/// 3G1C with 24 B and 8 B consists of a mesh of three VCs with flits of 24 B and a mesh of one VC with flits
/// of 8 B.
///
/// Results depend only on which packets and releases were passed in for which cycles: not on the order of
/// calls for different endpoints, and not on how the time is divided into calls.
class Mesh {
 public:
  struct Packet {
    std::uint32_t handle = 0;  // chosen by the caller
    std::uint16_t source = 0;  // endpoint
    std::uint16_t destination = 0;
    std::uint8_t flits = 1;  // 1..255, at most the size of the source's queue and of the destination's buffer
    std::uint8_t kind = 0;   // class
  };
  /// A packet and its time. In delivered(): the receiver has the whole packet from the start of `cycle` on.
  struct Delivery {
    Cycle cycle;
    Packet packet;
  };
  struct ClassCounters {
    std::uint64_t injected_packets = 0;  // packets whose first flit has left the queue
    std::uint64_t injected_flits = 0;
    std::uint64_t ejected_packets = 0;  // delivered packets
    std::uint64_t ejected_flits = 0;
    // Sums over the delivered packets, in cycles:
    std::uint64_t queue_cycles = 0;    // from inject() until the first flit has left the queue
    std::uint64_t network_cycles = 0;  // from leaving the queue until delivery
    std::uint64_t blocked_cycles = 0;  // part of network_cycles that exceeds zero_load()
  };
  enum Port : std::uint8_t { kLocal, kNorth, kEast, kSouth, kWest };
  static constexpr unsigned kPorts = 5;

  /// Throws UserError for a value out of range.
  explicit Mesh(const MeshConfig& config);

  /// True if the endpoint's queue has places for `flits` flits.
  [[nodiscard]] bool can_inject(std::uint32_t endpoint, std::uint32_t flits) const {
    return endpoints_[endpoint].queued_flits + flits <= injection_flits_;
  }
  /// Puts a packet into the queue of its source, from which the packet may leave in `cycle`. `cycle` must not
  /// be simulated yet, nor be before that of the endpoint's previous packet. Requires can_inject().
  void inject(const Packet& packet, Cycle cycle);
  /// Tells that the receiver has taken `flits` flits of delivered packets. Counts from
  /// the next simulated cycle on.
  void release(std::uint32_t endpoint, std::uint32_t flits);

  /// The next cycle at which something can change without another inject() or release(). kNever: no such
  /// cycle.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Simulates one cycle, which must not be before now(). Cycles before next() may be
  /// skipped, later ones may not.
  void step(Cycle cycle);
  /// Simulates all cycles before `end`, skipping those in which nothing can change.
  void run_to(Cycle end);
  /// First cycle that has not been simulated.
  [[nodiscard]] Cycle now() const { return now_; }

  /// Packets that are certain to be delivered, in order of (cycle, node). A packet appears here as
  /// soon as its tail is granted the last switch, which is some cycles before its delivery. The
  /// caller removes the packets.
  [[nodiscard]] std::vector<Delivery>& delivered() { return delivered_; }
  /// Packets that have left their source's queue, in order of (cycle, node). Their places in the queue are
  /// free from the start of the given cycle on. The caller removes the packets.
  [[nodiscard]] std::vector<Delivery>& left() { return left_; }

  /// Cycles from inject() to delivery for a packet that meets no other packet and lacks no space.
  [[nodiscard]] Cycle zero_load(std::uint32_t source, std::uint32_t destination, std::uint32_t flits) const;
  /// Number of packets that are injected and have not appeared in delivered().
  [[nodiscard]] std::uint32_t packets() const { return packets_; }
  /// Flits that have left a router by a port. kLocal: flits to the node's endpoints.
  [[nodiscard]] std::uint64_t link_flits(std::uint32_t node, Port port) const {
    return routers_[node].link_flits[port];
  }
  [[nodiscard]] const ClassCounters& counters(std::uint32_t kind) const { return counters_[kind]; }
  /// One line per packet: where the packet is and what it waits for. For reports of deadlocks.
  [[nodiscard]] std::string describe() const;

 private:
  // VCs are numbered port * 8 + VC, so that the VCs of a port are one byte of a mask.
  static constexpr unsigned kVcStride = 8;
  static constexpr unsigned kInputs = kPorts * kVcStride;
  // Outputs are the VCs of the ports and, as a sixth port, the VCs from a node's endpoints into its router.
  static constexpr unsigned kEntry = kPorts;
  static constexpr unsigned kOutputs = kInputs + kVcStride;
  static constexpr std::uint8_t kNone = 0xff;
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  /// A flit: slot of its packet, its number within the packet, and whether it is the last.
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
    // Masks of input VCs, bit port * 8 + VC.
    std::uint64_t occupied = 0;  // has a flit
    std::uint64_t active = 0;    // the VC's packet has an output VC, or space at its endpoint
    std::uint64_t credit = 0;    // active VCs with a free place at the other end of the link
    // Masks of output VCs, by output port.
    std::array<std::uint8_t, kPorts + 1> free_vcs{};  // VCs that belong to no packet
    std::array<std::uint8_t, kPorts + 1> with_credit{};
    std::array<std::uint8_t, kPorts> input_turn{};   // by output port: input port whose turn is next
    std::array<std::uint8_t, kPorts> switch_turn{};  // by input port: VC whose turn is next
    // By input VC, of the packet at its front.
    std::array<std::uint8_t, kInputs> output_port{};
    std::array<std::uint8_t, kInputs> output_vc{};  // kLocal: the endpoint's number within the node
    std::array<std::uint8_t, kInputs> allowed{};    // mask of the VCs that the packet's class may use
    // By input VC.
    std::array<std::uint8_t, kInputs> vc_turn{};  // output VC that is tried first
    std::array<std::uint8_t, kInputs> head{};     // first place of its ring of flits
    std::array<std::uint8_t, kInputs> count{};
    // By output VC.
    std::array<std::uint8_t, kOutputs> owner{};  // input VC whose packet holds the output VC
    std::array<std::uint8_t, kOutputs> credits{};
    std::array<std::uint8_t, kInputs> owner_turn{};  // input VC whose turn is next
    std::array<std::uint32_t, kPorts> neighbour{};
    std::uint8_t x = 0, y = 0;
    // The router's endpoints are members_[first_endpoint] and the following ones.
    std::uint32_t first_endpoint = 0;
    std::uint8_t endpoints = 0;
    std::uint8_t endpoint_turn = 0;
    std::uint32_t queued_packets = 0;  // packets in the queues of its endpoints
    std::array<std::uint64_t, kPorts> link_flits{};
  };
  struct Endpoint {
    std::uint32_t node = 0;
    std::uint8_t local = 0;   // number within its node
    std::uint8_t vc = kNone;  // VC in which the first packet enters the router
    std::uint8_t vc_turn = 0;
    std::uint8_t flits_sent = 0;  // flits of the first packet that have been sent
    std::uint32_t head = 0;       // first place of its ring in queues_
    std::uint32_t count = 0;
    std::uint32_t queued_flits = 0;
    std::uint32_t space = 0;       // free space of the receiver, in flits
    std::uint8_t waiting = kNone;  // input VC that gets space next, kNone: not chosen yet
    std::uint8_t input_turn = 0;   // input VC whose turn comes after `waiting`
  };
  struct alignas(32) Slot {
    Packet packet;              // the handle of a free slot is the next free slot
    std::uint8_t x = 0, y = 0;  // coordinates of the destination
    std::uint8_t local = 0;
    std::uint8_t ejected = 0;  // flits that have been ejected
    Cycle injected = 0;
    Cycle entered = 0;  // when the first flit entered the network
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
  bool allocates_first_;      // true: the VC is allocated one cycle before the switch
  std::uint32_t link_delay_;  // cycles from a flit's grant until it can be allocated at the next router
  std::uint32_t entry_delay_, exit_delay_;
  std::uint32_t links_;  // most flits that can arrive in a cycle
  std::vector<Router> routers_;
  std::vector<Flit> buffers_;           // [router][input VC][vc_flits]
  std::vector<Endpoint> endpoints_;     // by endpoint
  std::vector<std::uint32_t> members_;  // endpoints by node
  std::vector<std::uint32_t> queues_;   // [endpoint][injection_flits]: slots
  std::vector<Slot> slots_;
  std::uint32_t free_slot_ = kNobody;
  // Flits and credits on their way, as rings by cycle of arrival.
  std::size_t ring_mask_ = 0;
  std::vector<Arrival> arrivals_;  // [cycle & ring_mask_][links_]
  std::vector<std::uint32_t> arrival_count_;
  std::vector<Credit> credits_;
  std::vector<std::uint32_t> credit_count_;
  std::vector<std::uint64_t> busy_;     // mask of the routers that hold flits
  std::vector<std::uint64_t> sending_;  // mask of the nodes whose endpoints have packets to send
  std::vector<Delivery> delivered_;
  std::vector<Delivery> left_;
  std::array<ClassCounters, 8> counters_{};
  std::uint32_t packets_ = 0;
  bool progress_ = false;
  Cycle now_ = 0;
  Cycle next_ = kNever;
};

}  // namespace gpumux::noc
