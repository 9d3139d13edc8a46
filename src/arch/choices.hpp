// What machine files say in words: an enumeration each, and its words in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/timing_class.hpp"

namespace gpumux::arch {

/// How the high part of an address takes part in the choice of a set or slice: noc/index_hash.hpp.
enum class IndexFunction : std::uint8_t { Linear, Xor, Ipoly };
inline constexpr std::array kIndexFunctionWords = {"linear", "xor", "ipoly"};
[[nodiscard]] constexpr const char* word(IndexFunction function) {
  return kIndexFunctionWords.at(static_cast<std::size_t>(function));
}

/// Which set of L1 a line goes to: its number modulo the sets; with all bits above folded onto those (xor);
/// or with some of them, as measured on Fermi (sm/l1.cpp).
enum class L1Index : std::uint8_t { Linear, Xor, Fermi };
inline constexpr std::array kL1IndexWords = {"linear", "xor", "fermi"};
[[nodiscard]] constexpr const char* word(L1Index index) {
  return kL1IndexWords.at(static_cast<std::size_t>(index));
}

/// When a cache reserves a line: at the miss, or only when the data comes.
enum class Allocate : std::uint8_t { OnMiss, OnFill };
inline constexpr std::array kAllocateWords = {"on-miss", "on-fill"};

/// What a store does to L1's copy: it drops it, updates it, or takes a line for it. It always goes to L2.
enum class L1Write : std::uint8_t { Evict, Through, Allocate };
inline constexpr std::array kL1WriteWords = {"evict", "through", "allocate"};

/// isa::CodeLevel: what the machine is given to execute.
inline constexpr std::array kCodeLevelWords = {"machine", "ptx"};

/// What DRAM serves first: requests to open rows, or the oldest.
enum class DramOrder : std::uint8_t { FrFcfs, Fcfs };
inline constexpr std::array kDramOrderWords = {"frfcfs", "fcfs"};

/// How the context of a thread block that is switched leaves its SM and comes back: as packets to memory and
/// back, or in a time that the SM's part of the bandwidth takes for it, which nobody else feels.
enum class ContextMoves : std::uint8_t { Traffic, Halt };
inline constexpr std::array kContextMovesWords = {"traffic", "halt"};

/// What cache-conscious scheduling keeps warps without a place from: loads, or everything.
enum class CcwsHolds : std::uint8_t { Loads, All };
inline constexpr std::array kCcwsHoldsWords = {"loads", "all"};

/// Whose warps a limit of warps counts: the SM's, or each scheduler's by itself.
enum class WarpLimitPer : std::uint8_t { Sm, Scheduler };
inline constexpr std::array kWarpLimitPerWords = {"sm", "scheduler"};

/// What a load from outside the SM adds to the length of its phase: an issue, or its latency where L1 has it.
enum class PhaseLoads : std::uint8_t { Issue, Latency };
inline constexpr std::array kPhaseLoadsWords = {"issue", "latency"};

/// Which warp of tlphase's ready queue issues: the next one in turn, the oldest, or the nearest to the end of
/// its phase.
enum class ReadyOrder : std::uint8_t { RoundRobin, Oldest, Nearest };
inline constexpr std::array kReadyOrderWords = {"round-robin", "oldest", "nearest"};

/// What a viewed SM's cycle counts as in which some warps are ready, but their units are busy, and others
/// wait.
enum class ViewMixed : std::uint8_t { Pipeline, Scoreboard, Apart };
inline constexpr std::array kViewMixedWords = {"pipeline", "scoreboard", "apart"};

/// When a kernel no longer counts among those that run at once: when its last block has ended, or with its
/// dispatch.
enum class KernelLeaves : std::uint8_t { Ended, Dispatched };
inline constexpr std::array kKernelLeavesWords = {"ended", "dispatched"};

/// What becomes of a launch that finds the GPU full of kernels: it waits, or it fails.
enum class WhenFull : std::uint8_t { Wait, Fail };
inline constexpr std::array kWhenFullWords = {"wait", "fail"};

/// What joins SMs, CPU cores and memory partitions: a crossbar, or a two-dimensional mesh of routers.
enum class Topology : std::uint8_t { Crossbar, Mesh };
inline constexpr std::array kTopologyWords = {"crossbar", "mesh"};

}  // namespace gpumux::arch
