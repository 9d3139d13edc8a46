// The one table of everything that a machine file may say: reading, writing, overrides, range checks and
// the documentation's table all walk it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "arch/config.hpp"

namespace gpumux::arch {

struct Field {
  template <typename T>
  using Member = std::function<T&(MachineConfig&)>;
  // Of an enumeration its bytes, for they are indices into `choices`.
  using Access = std::variant<Member<std::uint8_t>, Member<std::uint32_t>, Member<std::uint64_t>,
                              Member<double>, Member<bool>, Member<std::string>, Member<LatencyConfig>,
                              Member<std::vector<std::uint32_t>>>;

  std::string key;   // "sm.schedulers": table and key in the file, and the name that --set takes
  std::string unit;  // of the value; "bytes" also accepts texts such as "48K"
  std::string description;
  Access access;
  double low = 0;  // least and greatest value (of a latency: its low and that of its initiation)
  double high = 0;
  std::vector<std::string> choices;  // of an enumeration or a text; empty: free text

  [[nodiscard]] bool is_size() const { return unit == "bytes"; }
  /// "sm" of "sm.schedulers"; empty for a key outside tables.
  [[nodiscard]] std::string_view table() const;
  [[nodiscard]] std::string_view name() const;
};

/// In the order in which files are written, each table's keys together.
[[nodiscard]] const std::vector<Field>& fields();
/// Index into fields() of a key; "sm.l1.size" also finds "l1.size", since L1, shared memory, units, ... are
/// parts of an SM. -1: none.
[[nodiscard]] int find_field(std::string_view key);
/// The machine before any file is read: the usual values of the papers' simulator (GPGPU-Sim 3.2 with its
/// GTX 480 file), which every preset leaves in place where its paper says nothing else.
[[nodiscard]] MachineConfig default_machine();

/// Where each field of a machine was set last, for messages about values that contradict each other.
struct Provenance {
  struct Place {
    std::string file;  // "--set KEY=VALUE" for an override
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    int order = -1;  // later settings have higher numbers; -1: still the default
  };
  std::vector<Place> places;  // by field
  std::string file;           // of the machine itself
};
/// Throws UserError, placed at the setting that came last, for values that contradict each other.
void check_consistency(const MachineConfig& config, const Provenance& provenance);
/// The largest sm.collectors_per_scheduler that sm.collectors_wait allows with the machine's initiation
/// intervals; 0: it allows none.
[[nodiscard]] std::uint32_t most_waiting_collectors(const MachineConfig& config);

/// The value of a field as it is written in a file.
[[nodiscard]] std::string field_text(const Field& field, const MachineConfig& config);
/// "1 to 64", "gto or lrr", "true or false": for messages and for the documentation.
[[nodiscard]] std::string range_text(const Field& field);
/// The table of all keys in Markdown, as docs/machines.md holds it.
[[nodiscard]] std::string fields_markdown();

}  // namespace gpumux::arch
