// The options of GPGPU-Sim's and Accel-Sim's configuration files (gpgpusim.config, trace.config), each with
// its place in the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace gpumux::arch {

/// What becomes of an option when its configuration is imported.
enum class GpgpusimUse {
  Taken,     // keys of the machine file come from it
  Same,      // the model has one behaviour for it, that of the value `value`; other values are warned of
  NoEffect,  // it changes no time: statistics, files, limits that only refuse a kernel
  Missing    // it changes times there, and nothing here does the same: always warned of
};

struct GpgpusimKey {
  std::string_view name;  // with its dash
  GpgpusimUse use = GpgpusimUse::NoEffect;
  std::string_view value;  // Taken: what GPGPU-Sim takes where a file does not say; Same: see there
  std::string_view why;    // Same, Missing: what happens here instead. NoEffect: what the option is about
  bool flag = false;       // its value may be left out: then it is 1
};

/// Every option that GPGPU-Sim and Accel-Sim register, sorted by name.
[[nodiscard]] const std::vector<GpgpusimKey>& gpgpusim_keys();
/// nullptr: no such option. Names of older versions lead to the option's present name.
[[nodiscard]] const GpgpusimKey* find_gpgpusim_key(std::string_view name);

/// A piece of a value: one of the numbers between its separators, say.
struct GpgpusimPart {
  std::string text;
  SourceLocation at;
};

struct GpgpusimOption {
  std::string key;                     // as the file spells it
  const GpgpusimKey* known = nullptr;  // nullptr: no option of the table
  std::string value;                   // without quotes; its lines are joined by spaces
  SourceLocation key_at;

  struct Piece {  // of the value: from `offset` on it stands at this place
    std::size_t offset = 0;
    SourceLocation at;
  };
  std::vector<Piece> pieces;  // ascending; empty when the value was left out

  [[nodiscard]] SourceLocation at(std::size_t offset = 0) const;
  /// The value between any of these separators; spaces around the parts are not theirs.
  [[nodiscard]] std::vector<GpgpusimPart> parts(std::string_view separators) const;
};

/// The options of one file's text in order. An option and its value are separated by white space, wherever
/// lines end; `#` begins a comment up to the end of its line; a value in double quotes may go over several
/// lines. Throws UserError with the place of what is no option or has no value.
[[nodiscard]] std::vector<GpgpusimOption> parse_gpgpusim_options(std::string_view text,
                                                                 const std::string& file);

}  // namespace gpumux::arch
