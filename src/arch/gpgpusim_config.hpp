// Configurations of GPGPU-Sim and Accel-Sim -> a machine file. What each option becomes is in
// docs/accel-sim-keys.md; the options themselves are in arch/gpgpusim_options.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "base/error.hpp"

namespace gpumux::arch {

/// A configuration file: its name, by which messages call it and beside which its network's file lies, and
/// its text.
struct GpgpusimFile {
  std::string name;
  std::string text;
};

struct ImportedMachine {
  /// A line that the machine file cannot express, or only in part.
  struct Warning {
    SourceLocation at;
    std::string key;
    std::string why;
    /// "gpgpusim.config:12:3: warning: -key: why".
    [[nodiscard]] std::string line() const;
  };
  std::string toml;  // the machine file; behind each value, where it comes from
  MachineConfig machine;
  std::vector<Warning> warnings;  // in the order of the files and their lines
  std::size_t options = 0;        // that the files give
};

/// Reads the files in order: an option counts as its last place says. Options that no file gives have
/// GPGPU-Sim's defaults. With options of Accel-Sim's trace.config the machine has the latencies of these,
/// otherwise those of PTX instructions (`code = "ptx"`). Throws UserError, with file:line:column, for what
/// makes the machine impossible.
[[nodiscard]] ImportedMachine import_gpgpusim(const std::vector<GpgpusimFile>& files);

}  // namespace gpumux::arch
