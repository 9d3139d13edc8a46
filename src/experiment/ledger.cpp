#include "experiment/ledger.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace gpumux::experiment {

namespace {

/// The total that the waits at a place are a part of: scheduler cycles, the time of memory instructions, or
/// the time of requests.
enum class Whole : std::uint8_t { Scheduler, Instruction, Request };

struct PlaceOf {
  Place place;
  std::uint64_t arch::PairCounters::*waits;
  Whole whole;
  bool dram_clocks = false;
};

constexpr Place place_named(std::string_view name) { return {name, arch::ledger_words(name)}; }
constexpr PlaceOf kPlaces[] = {
    {place_named("issue"), &arch::PairCounters::issue_cycles, Whole::Scheduler},
    {place_named("unit"), &arch::PairCounters::unit_cycles, Whole::Scheduler},
    {place_named("lsu"), &arch::PairCounters::lsu_cycles, Whole::Instruction},
    {place_named("l1_entry"), &arch::PairCounters::l1_entry_cycles, Whole::Instruction},
    {place_named("l1_line"), &arch::PairCounters::l1_line_cycles, Whole::Request},
    {place_named("request_port"), &arch::PairCounters::request_port_cycles, Whole::Request},
    {place_named("l2_queue"), &arch::PairCounters::l2_queue_cycles, Whole::Request},
    {place_named("l2_entry"), &arch::PairCounters::l2_entry_cycles, Whole::Request},
    {place_named("l2_line"), &arch::PairCounters::l2_line_cycles, Whole::Request},
    {place_named("dram_bank"), &arch::PairCounters::dram_bank_clocks, Whole::Request, true},
    {place_named("dram_row"), &arch::PairCounters::dram_row_clocks, Whole::Request, true},
    {place_named("dram_bus"), &arch::PairCounters::dram_bus_clocks, Whole::Request, true},
    {place_named("reply_port"), &arch::PairCounters::reply_port_cycles, Whole::Request},
};

double sum_of(const std::vector<LostCycles>& lost, std::size_t victim) {
  double sum = 0;
  for (const LostCycles& entry : lost)
    if (entry.victim == victim) sum += entry.share;
  return sum;
}

double cycles_of(const PlaceOf& of, const arch::PairCounters& pair, const RunResult& result) {
  return static_cast<double>(pair.*of.waits) * (of.dram_clocks ? result.cycles_of_dram_clock : 1);
}

std::string culprit_name(const RunResult& result, std::size_t culprit) {
  return culprit < result.apps.size() ? result.apps[culprit].app : "CPU cores";
}

double part(double of, double whole) { return whole <= 0 ? 0 : std::clamp(of / whole, 0.0, 1.0); }

/// The part of memory instructions' time that depends on their requests. It is all time beyond the load/store
/// unit, and, of the uncharged time in the unit's queue, the fraction in which the head stalls until requests
/// return.
double time_of_requests(const arch::LedgerAppCounters& own, double charged) {
  const double whole = static_cast<double>(own.lsu_queue_cycles);
  const double queue = std::max(0.0, whole - charged);
  const double stalled =
      part(static_cast<double>(own.lsu_head_stall_cycles), static_cast<double>(own.lsu_head_cycles));
  return static_cast<double>(own.memory_instruction_cycles) - whole + queue * stalled;
}

}  // namespace

const std::vector<Place>& ledger_places() {
  static const std::vector<Place> places = [] {
    std::vector<Place> list;
    for (const PlaceOf& of : kPlaces) list.push_back(of.place);
    return list;
  }();
  return places;
}

std::vector<LostCycles> lost_cycles(const RunResult& result) {
  std::vector<LostCycles> lost;
  for (std::size_t victim = 0; victim < result.ledger.size(); ++victim) {
    const arch::LedgerAppCounters& own = result.ledger[victim];
    const auto resident = static_cast<double>(own.resident_scheduler_cycles);
    // Barrier cycles are left out: a warp at a barrier waits for warps that at other times do what this one
    // does.
    const double stalls = part(static_cast<double>(own.memory_scheduler_cycles),
                               resident - static_cast<double>(own.barrier_scheduler_cycles));
    const auto instructions = static_cast<double>(own.memory_instruction_cycles);
    double at_unit = 0;  // waits for all at the load/store unit
    for (std::size_t culprit = 0; culprit < result.ledger.size(); ++culprit) {
      const arch::PairCounters& pair = result.pairs[victim * result.ledger.size() + culprit];
      at_unit += static_cast<double>(pair.lsu_cycles + pair.l1_entry_cycles);
    }
    const double through_requests = part(time_of_requests(own, at_unit), instructions);
    const auto tags = static_cast<double>(own.tag_wait_cycles);
    const auto credits = static_cast<double>(own.credit_wait_cycles);
    const auto add = [&](std::size_t culprit, const arch::PairCounters& pair) {
      for (std::size_t place = 0; place < std::size(kPlaces); ++place) {
        const PlaceOf& of = kPlaces[place];
        double waits = cycles_of(of, pair, result);
        if (waits == 0) continue;
        // Waits for credits count as well, because buffers before L2 are full of requests that wait there.
        if (of.waits == &arch::PairCounters::l2_queue_cycles) waits += credits * part(waits, tags);
        double share = 0;
        switch (of.whole) {
          case Whole::Scheduler: share = part(waits, resident); break;
          case Whole::Instruction: share = stalls * part(waits, instructions); break;
          case Whole::Request:
            share = stalls * through_requests * part(waits, static_cast<double>(own.request_cycles));
            break;
        }
        lost.push_back({victim, culprit, place, share});
      }
    };
    for (std::size_t culprit = 0; culprit < result.ledger.size(); ++culprit)
      if (culprit != victim) add(culprit, result.pairs[victim * result.ledger.size() + culprit]);
    if (result.cpu_waits) add(result.ledger.size(), result.cpu_waits->of_app[victim]);
    // The victim cannot lose more than this. Even alone, it would need as long as its busiest slice was busy
    // for it, and as long as the heads of its load/store units were not stalled.
    const double slice =
        part(static_cast<double>(own.busiest_slice_cycles), static_cast<double>(result.cycles));
    const double head =
        static_cast<double>(own.lsu_head_cycles) - static_cast<double>(own.lsu_head_stall_cycles);
    const double most = 1 - std::max(slice, part(head, resident / result.schedulers_per_sm));
    const double sum = sum_of(lost, victim);
    if (sum > most)
      for (LostCycles& entry : lost)
        if (entry.victim == victim) entry.share *= most / sum;
  }
  return lost;
}

std::vector<CpuWait> cpu_waits(const RunResult& result) {
  std::vector<CpuWait> waits;
  if (!result.cpu_waits || result.cpu_waits->requests == 0) return waits;
  const auto requests = static_cast<double>(result.cpu_waits->requests);
  const auto add = [&](std::size_t culprit, const arch::PairCounters& pair) {
    for (std::size_t place = 0; place < std::size(kPlaces); ++place)
      if (const double cycles = cycles_of(kPlaces[place], pair, result); cycles > 0)
        waits.push_back({culprit, place, cycles / requests});
  };
  for (std::size_t app = 0; app < result.apps.size(); ++app) add(app, result.cpu_waits->for_app[app]);
  add(result.apps.size(), result.cpu_waits->among);
  return waits;
}

double lost_share(const std::vector<LostCycles>& lost, std::size_t victim) {
  return std::min(sum_of(lost, victim), 1.0);
}

std::string ledger_lines(const RunResult& result) {
  constexpr double kLeast = 0.001;
  const std::vector<LostCycles> lost = lost_cycles(result);
  std::string out;
  for (std::size_t victim = 0; victim < result.ledger.size(); ++victim) {
    for (std::size_t culprit = 0; culprit <= result.ledger.size(); ++culprit) {
      std::vector<LostCycles> of_pair;
      double sum = 0;
      for (const LostCycles& entry : lost) {
        if (entry.victim != victim || entry.culprit != culprit) continue;
        of_pair.push_back(entry);
        sum += entry.share;
      }
      if (sum < kLeast) continue;
      std::stable_sort(of_pair.begin(), of_pair.end(),
                       [](const LostCycles& a, const LostCycles& b) { return a.share > b.share; });
      out += fmt::format("{} lost {:.1f}% of its cycles to {}", result.apps[victim].app, 100 * sum,
                         culprit_name(result, culprit));
      std::string_view before = ": ";
      for (const LostCycles& entry : of_pair) {
        if (entry.share < kLeast) break;
        out += fmt::format("{}{:.1f}% {}", before, 100 * entry.share, ledger_places()[entry.place].words);
        before = ", ";
      }
      out += "\n";
    }
  }
  constexpr double kLeastCycles = 0.05;
  const std::vector<CpuWait> waits = cpu_waits(result);
  for (std::size_t culprit = 0; culprit <= result.apps.size(); ++culprit) {
    double sum = 0;
    std::string places;
    for (const CpuWait& wait : waits) {
      if (wait.culprit != culprit) continue;
      sum += wait.cycles;
      if (wait.cycles >= kLeastCycles)
        places += fmt::format("{}{:.1f} {}", places.empty() ? "" : ", ", wait.cycles,
                              ledger_places()[wait.place].words);
    }
    if (sum < kLeastCycles) continue;
    out += fmt::format("a request of a CPU core waited {:.1f} cycles for {}: {}\n", sum,
                       culprit < result.apps.size() ? result.apps[culprit].app : "other CPU cores", places);
  }
  return out;
}

}  // namespace gpumux::experiment
