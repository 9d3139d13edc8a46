// The choices of machine files: an enumeration for each, and its words in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/timing_class.hpp"

namespace gpumux::arch {

/// How the high part of an address affects the choice of a set or slice: noc/index_hash.hpp.
enum class IndexFunction : std::uint8_t { Linear, Xor, Ipoly };
inline constexpr std::array kIndexFunctionWords = {"linear", "xor", "ipoly"};
[[nodiscard]] constexpr const char* word(IndexFunction function) {
  return kIndexFunctionWords.at(static_cast<std::size_t>(function));
}

/// The L1 set of a line: its number modulo the sets (linear), that number xored with all higher bits folded
/// (xor), or with some higher bits, as measured on Fermi (sm/l1.cpp).
enum class L1Index : std::uint8_t { Linear, Xor, Fermi };
inline constexpr std::array kL1IndexWords = {"linear", "xor", "fermi"};
[[nodiscard]] constexpr const char* word(L1Index index) {
  return kL1IndexWords.at(static_cast<std::size_t>(index));
}

/// When a cache allocates a line: at the miss, or when the data arrives.
enum class Allocate : std::uint8_t { OnMiss, OnFill };
inline constexpr std::array kAllocateWords = {"on-miss", "on-fill"};

/// The effect of a store on L1's copy: evict it, update it, or allocate a line for the
/// store. Stores always go to L2.
enum class L1Write : std::uint8_t { Evict, Through, Allocate };
inline constexpr std::array kL1WriteWords = {"evict", "through", "allocate"};

/// Words of isa::CodeLevel: the code that the machine executes.
inline constexpr std::array kCodeLevelWords = {"machine", "ptx"};

/// The request that DRAM serves first: requests to open rows, or the oldest.
enum class DramOrder : std::uint8_t { FrFcfs, Fcfs };
inline constexpr std::array kDramOrderWords = {"frfcfs", "fcfs"};

/// How the context of a switched thread block moves: as packets to memory and back, or by halting for the
/// time that it takes with the SM's part of the bandwidth, without effect on other SMs.
enum class ContextMoves : std::uint8_t { Traffic, Halt };
inline constexpr std::array kContextMovesWords = {"traffic", "halt"};

/// The instructions that cache-conscious scheduling withholds from warps beyond the cutoff: loads, or all.
enum class CcwsHolds : std::uint8_t { Loads, All };
inline constexpr std::array kCcwsHoldsWords = {"loads", "all"};

/// The warps that a warp limit counts: those of the SM, or those of each scheduler separately.
enum class WarpLimitPer : std::uint8_t { Sm, Scheduler };
inline constexpr std::array kWarpLimitPerWords = {"sm", "scheduler"};

/// The cycles that a load from outside the SM adds to its phase's length: an issue, or
/// the latency of an L1 hit.
enum class PhaseLoads : std::uint8_t { Issue, Latency };
inline constexpr std::array kPhaseLoadsWords = {"issue", "latency"};

/// The warp of tlphase's ready queue that issues: the next one in round-robin order, the oldest, or the one
/// nearest to the end of its phase.
enum class ReadyOrder : std::uint8_t { RoundRobin, Oldest, Nearest };
inline constexpr std::array kReadyOrderWords = {"round-robin", "oldest", "nearest"};

/// The reason that a viewed SM counts for a cycle in which ready warps find their units
/// busy and other warps wait.
enum class ViewMixed : std::uint8_t { Pipeline, Scoreboard, Apart };
inline constexpr std::array kViewMixedWords = {"pipeline", "scoreboard", "apart"};

/// When a kernel stops counting as one of the concurrent kernels: when its last block has ended, or when its
/// last block has been dispatched.
enum class KernelLeaves : std::uint8_t { Ended, Dispatched };
inline constexpr std::array kKernelLeavesWords = {"ended", "dispatched"};

/// The handling of a launch when the GPU already runs the maximum number of kernels: the launch waits, or
/// fails.
enum class WhenFull : std::uint8_t { Wait, Fail };
inline constexpr std::array kWhenFullWords = {"wait", "fail"};

/// The network that joins SMs, CPU cores and memory partitions: a crossbar, or a
/// two-dimensional mesh of routers.
enum class Topology : std::uint8_t { Crossbar, Mesh };
inline constexpr std::array kTopologyWords = {"crossbar", "mesh"};

}  // namespace gpumux::arch
