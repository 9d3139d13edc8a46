// The table of all keys of machine files. Reading, writing, overrides, range checks and the
// documentation's table use it.
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
  // Access to the member. Enumerations are accessed as bytes, which are indices into `choices`.
  using Access = std::variant<Member<std::uint8_t>, Member<std::uint32_t>, Member<std::uint64_t>,
                              Member<double>, Member<bool>, Member<std::string>, Member<LatencyConfig>,
                              Member<std::vector<std::uint32_t>>>;

  std::string key;   // "sm.schedulers": table and key in files, and the name for --set
  std::string unit;  // unit of the value; with "bytes", texts such as "48K" are also accepted
  std::string description;
  Access access;
  double low = 0;  // least value, or least latency and initiation
  double high = 0;
  std::vector<std::string> choices;  // words of an enumeration or a text; empty: free text

  [[nodiscard]] bool is_size() const { return unit == "bytes"; }
  /// "sm" of "sm.schedulers"; empty for a key outside tables.
  [[nodiscard]] std::string_view table() const;
  [[nodiscard]] std::string_view name() const;
};

/// All fields, in the order of written files. The keys of a table are contiguous.
[[nodiscard]] const std::vector<Field>& fields();
/// Index into fields() of a key; -1: unknown key. "sm.l1.size" also finds "l1.size", since L1, shared memory,
/// units and other tables are parts of an SM.
[[nodiscard]] int find_field(std::string_view key);
/// The machine before any file is read: the usual values of the papers' simulator (GPGPU-Sim 3.2 with its GTX
/// 480 file). A preset keeps these values unless its paper states others.
[[nodiscard]] MachineConfig default_machine();

/// The place where each field of a machine was set last, for messages about contradictory values.
struct Provenance {
  struct Place {
    std::string file;  // "--set KEY=VALUE" for an override
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    int order = -1;  // later settings have higher numbers; -1: default value
  };
  std::vector<Place> places;  // by field
  std::string file;           // file of the machine itself
};
/// Throws UserError for contradictory values, at the place of the setting that came last.
void check_consistency(const MachineConfig& config, const Provenance& provenance);
/// The largest sm.collectors_per_scheduler that the machine's initiation intervals allow with
/// sm.collectors_wait; 0: no number is allowed.
[[nodiscard]] std::uint32_t most_waiting_collectors(const MachineConfig& config);

/// The value of a field as written in a file.
[[nodiscard]] std::string field_text(const Field& field, const MachineConfig& config);
/// The range of a field as text ("1 to 64", "gto or lrr", "true or false"), for messages and documentation.
[[nodiscard]] std::string range_text(const Field& field);
/// The table of all keys in Markdown, for docs/machines-reference.md.
[[nodiscard]] std::string fields_markdown();

}  // namespace gpumux::arch
