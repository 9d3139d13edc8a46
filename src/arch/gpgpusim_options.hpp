// The options in configuration files of GPGPU-Sim and Accel-Sim (gpgpusim.config, trace.config), each
// with its place in the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace gpumux::arch {

/// The treatment of an option on import.
enum class GpgpusimUse {
  Taken,     // sets keys of the machine file
  Same,      // the model always behaves as with the value `value`; any other value causes a warning
  NoEffect,  // does not change timing: statistics, files, limits that only reject a kernel
  Missing    // changes timing in GPGPU-Sim and has no equivalent here; always causes a warning
};

struct GpgpusimKey {
  std::string_view name;  // with the dash
  GpgpusimUse use = GpgpusimUse::NoEffect;
  std::string_view value;  // Taken: GPGPU-Sim's default; Same: the value that the model implements
  std::string_view why;    // Same, Missing: what the model does instead; NoEffect: what the option is about
  bool flag = false;       // the value may be omitted and is then 1
};

/// All options that GPGPU-Sim and Accel-Sim register, sorted by name.
[[nodiscard]] const std::vector<GpgpusimKey>& gpgpusim_keys();
/// Finds an option; nullptr if there is none. Names of older versions find the option of the current name.
[[nodiscard]] const GpgpusimKey* find_gpgpusim_key(std::string_view name);

/// A part of a value, such as one of the numbers between separators.
struct GpgpusimPart {
  std::string text;
  SourceLocation at;
};

struct GpgpusimOption {
  std::string key;                     // as in the file
  const GpgpusimKey* known = nullptr;  // nullptr: not in the table
  std::string value;                   // without quotes; lines are joined by spaces
  SourceLocation key_at;

  struct Piece {  // the value's text from `offset` on is at the place `at`
    std::size_t offset = 0;
    SourceLocation at;
  };
  std::vector<Piece> pieces;  // ascending; empty if the value was omitted

  [[nodiscard]] SourceLocation at(std::size_t offset = 0) const;
  /// The value split at any of the separators, without spaces around the parts.
  [[nodiscard]] std::vector<GpgpusimPart> parts(std::string_view separators) const;
};

/// The options in the text of one file, in order. White space, including line ends, separates an option from
/// its value. `#` starts a comment to the end of the line. A value in double quotes may span several lines.
/// Throws UserError with the place of a word that is no option, or of an option without a value.
[[nodiscard]] std::vector<GpgpusimOption> parse_gpgpusim_options(std::string_view text,
                                                                 const std::string& file);

}  // namespace gpumux::arch
