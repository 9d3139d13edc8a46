// Messages between SMs and memory partitions.
#pragma once

#include <cstdint>

#include "base/huge_pages.hpp"
#include "base/types.hpp"

namespace gpumux::arch {

/// Index of a running kernel within the machine; reused once a kernel has ended and drained.
using KernelSlot = std::uint8_t;
inline constexpr unsigned kMaxKernelSlots = 32;

enum class RequestKind : std::uint8_t { Read, Write, Atomic, InstructionFetch };

/// A packet from an SM to a partition, for one line. 32 bytes.
struct MemRequest {
  std::uint64_t line = 0;     // device address / 128; unique to the application
  Cycle time = 0;             // core cycle at which the packet's last flit reaches the partition's port
  std::uint32_t tag = 0;      // index chosen by the SM, returned in the reply
  SmId sm = 0;                // source
  PartitionId partition = 0;  // destination
  KernelSlot kernel = 0;
  AppId app = 0;
  RequestKind kind = RequestKind::Read;
  std::uint8_t sectors = 0;          // sectors wanted or written
  std::uint8_t operations = 0;       // Atomic: operations on the line (lanes)
  std::uint8_t rounds = 0;           // Atomic: rounds in which the operations are performed
                                     // (workload/atomic_rounds.hpp)
  std::uint8_t data_bytes = 0;       // Write, Atomic: payload in the packet (1..128)
  std::uint8_t wants_reply : 1 = 1;  // Write: 1 gives a write acknowledgement (fences wait for it)
  std::uint8_t charged : 1 = 0;      // a ledger has charged the request's whole time already
  std::uint8_t flits : 6 = 1;        // size in the request network
};
static_assert(sizeof(MemRequest) == 32);

/// A packet from a partition to an SM. 16 bytes.
struct MemReply {
  Cycle time = 0;  // core cycle at which the last flit is in the SM
  std::uint32_t tag = 0;
  SmId sm = 0;  // destination
  RequestKind kind : 4 = RequestKind::Read;
  std::uint16_t sectors : 4 = 0;  // sectors carried
  std::uint16_t flits : 8 = 1;    // size in the reply network
};
static_assert(sizeof(MemReply) == 16);

/// Space freed in a buffer at the far end of a link: `flits` flits from `time` on.
struct Credit {
  Cycle time = 0;
  std::uint16_t flits = 0;
  std::uint16_t to = 0;    // SM or partition that may send again
  std::uint16_t from = 0;  // partition or SM that has freed the space
};

/// The messages that a part of the machine sends during a window, and those that it has at the window's start
/// (engine/exchange.hpp delivers them). The number of messages delivered at a time, and the order of senders,
/// depend on the host's threads, so receivers sort by time and source. Messages of one source are in order.
template <typename In, typename Out>
struct Mailbox {
  HugePageVector<In> in;
  HugePageVector<Credit> credits_in;
  HugePageVector<Out> out;
  HugePageVector<Credit> credits_out;
};
using SmMailbox = Mailbox<MemReply, MemRequest>;
using PartitionMailbox = Mailbox<MemRequest, MemReply>;

}  // namespace gpumux::arch
