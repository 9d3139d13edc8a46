// Converts configurations of GPGPU-Sim and Accel-Sim to machine files. docs/accel-sim-keys.md says what
// becomes of each option; arch/gpgpusim_options.hpp defines the options.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "base/error.hpp"

namespace gpumux::arch {

/// A configuration file: its text, and its name for messages. The network's file is
/// looked for in the same folder.
struct GpgpusimFile {
  std::string name;
  std::string text;
};

struct ImportedMachine {
  /// A line that the machine file cannot express, or not completely.
  struct Warning {
    SourceLocation at;
    std::string key;
    std::string why;
    /// "gpgpusim.config:12:3: warning: -key: why".
    [[nodiscard]] std::string line() const;
  };
  std::string toml;  // the machine file, with the source of each value in a comment
  MachineConfig machine;
  std::vector<Warning> warnings;  // in the order of files and lines
  std::size_t options = 0;        // number of options in the files
};

/// Imports a configuration from its files, in order; the last setting of an option counts. Options that no
/// file sets have GPGPU-Sim's defaults. If the files have options of Accel-Sim's trace.config, the machine
/// has their latencies. Otherwise it has those of PTX instructions (`code = "ptx"`). Throws UserError with
/// file:line:column if a value makes the machine impossible.
[[nodiscard]] ImportedMachine import_gpgpusim(const std::vector<GpgpusimFile>& files);

}  // namespace gpumux::arch
