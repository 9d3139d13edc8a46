// State and steps of the import of a configuration.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "arch/config_file.hpp"
#include "arch/gpgpusim_config.hpp"
#include "arch/gpgpusim_options.hpp"
#include "base/error.hpp"

namespace gpumux::arch {

/// A cache's text "S:4:128:64,L:T:m:L:L,A:512:8,16:0,32", split into its parts.
struct GpgpusimCache {
  bool none = false;                                                // the text is "none"
  std::uint64_t sets = 0, line = 0, ways = 0;                       // line: bytes
  std::uint64_t entries = 0, merges = 0;                            // MSHR entries, and requests per entry
  std::uint64_t miss_queue = 0, port = 0;                           // port: bytes per cycle; 0: one line
  GpgpusimPart type, write, allocate, write_allocate, index, mshr;  // letters of the text
  SourceLocation line_at, entries_at, merges_at;
  [[nodiscard]] std::uint64_t bytes() const { return sets * line * ways; }
};

class GpgpusimImport {
 public:
  explicit GpgpusimImport(const std::vector<GpgpusimFile>& files);
  ImportedMachine run();

 private:
  using Keys = std::initializer_list<std::string_view>;
  struct Setting {
    Override change;
    std::string comment;
  };
  struct Pipes {  // one kind of units
    std::uint64_t count = 0;
    std::uint64_t initiation = 1;  // shortest initiation interval of the instructions that the units execute
  };

  // --- options, by their current names: gpgpusim_import.cpp
  /// The option as given last; nullptr if no file gives it.
  const GpgpusimOption* find(std::string_view key);
  /// Like find(), or else the option with GPGPU-Sim's default as its value.
  GpgpusimOption option(std::string_view key);
  bool given(std::string_view key) { return find(key) != nullptr; }
  SourceLocation place(std::string_view key) { return option(key).at(); }
  std::uint64_t whole(std::string_view key);
  static std::uint64_t whole(std::string_view key, const GpgpusimPart& part);
  bool flag(std::string_view key);
  /// The numbers in the option's value. Throws unless there are `least` to `most` of them.
  std::vector<std::uint64_t> wholes(std::string_view key, std::string_view separators, std::size_t least,
                                    std::size_t most);
  GpgpusimCache cache(std::string_view key);

  // --- settings, and messages about them
  /// Sets one of gpumux's keys from these options. Messages about the value name the place `at`, or else the
  /// place of the first of these options that a file gives.
  void set(std::string_view ours, const std::string& value, Keys from, std::string_view note = "",
           const SourceLocation* at = nullptr);
  void set_number(std::string_view ours, std::uint64_t value, Keys from, std::string_view note = "",
                  const SourceLocation* at = nullptr) {
    set(ours, fmt::format("{}", value), from, note, at);
  }
  void set_flag(std::string_view ours, bool value, Keys from, std::string_view note = "") {
    set(ours, value ? "true" : "false", from, note);
  }
  void warn(std::string_view key, std::string why, const SourceLocation* at = nullptr);
  /// The value, or `most` with a warning: "N WHAT; here at most MOST".
  std::uint64_t at_most(std::uint64_t value, std::uint64_t most, std::string_view key, std::string_view what,
                        const SourceLocation* at = nullptr);
  [[nodiscard]] std::string short_name(const std::string& file) const;
  std::string origin(std::string_view key);

  // --- the parts of the machine: gpgpusim_sm.cpp
  void sm();
  void warp_scheduler();
  void front_end();
  void register_file();
  void units();
  void trace_units(Pipes& sp, Pipes& integer, Pipes& dp, Pipes& sfu);
  void ptx_units(Pipes& sp, Pipes& integer, Pipes& dp, Pipes& sfu);
  void special_units(const Pipes& branches);
  void set_pipes(const std::string& unit, const Pipes& pipes, std::string_view count_from, Keys initiation);
  void set_latencies(std::span<const std::string_view> classes, const std::vector<std::uint64_t>& pair,
                     std::string_view from);
  void pipeline_widths(const Pipes& sp, const Pipes& integer, const Pipes& dp, const Pipes& sfu);
  void shared_memory();
  void l1();
  void l1_policies(const GpgpusimCache& text);
  void l1_banks();
  void unified(std::uint64_t set_bytes);
  void other_splits();
  void read_only_caches();
  void texture_cache();
  // gpgpusim_memory.cpp
  void gpu();
  void network();
  void network_file();
  void l2();
  void partition_hash();
  void dram();
  void dram_timing();
  void address_map(std::uint64_t banks);
  void write_queue(std::uint64_t queue);
  void runtime();

  // --- the end
  void note_others();
  std::vector<Override> changes() const;
  MachineConfig build();
  std::string written(const MachineConfig& machine);
  std::string summary();

  std::vector<std::string> names_;  // names of the files
  std::vector<GpgpusimOption> options_;
  std::map<std::string_view, std::size_t> last_;  // index into options_, by the option's current name
  std::set<std::string_view> used_;               // options that the import has used
  std::map<int, Setting> settings_;               // by index into fields()
  std::vector<ImportedMachine::Warning> warnings_;
  bool traces_ = false;  // true if options of trace.config are given
  std::uint64_t schedulers_ = 1;
  std::uint64_t issue_width_ = 1;
  std::uint64_t capability_ = 70;
  double core_mhz_ = 1, noc_mhz_ = 1, l2_mhz_ = 1;
};

}  // namespace gpumux::arch
