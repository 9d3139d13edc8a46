// The module-level items of one relocatable translation unit's PTX, for link().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/lexer.hpp"
#include "ptx/link.hpp"

namespace gpumux::ptx {

/// Linkage in ascending order of precedence.
enum class Linkage : std::uint8_t { Extern, Local, Common, Weak, Visible };

/// A declaration or definition. Positions are token numbers.
struct UnitItem {
  enum class Kind : std::uint8_t { Variable, Function, Alias, FileNumber };
  Kind kind = Kind::Variable;
  Linkage linkage = Linkage::Local;
  bool defines = false;  // a definition, not only a declaration
  bool dynamic = false;  // .extern .shared x[]
  bool is_kernel = false;
  std::string_view name;  // empty for FileNumber
  std::uint64_t bytes = 0;
  std::uint64_t align = 0;
  std::size_t begin = 0;
  std::size_t at_space = 0;  // variable: position of .global, .const, .shared
  std::size_t at_name = 0;
  std::size_t head_end = 0;  // end of the part that a declaration has: at '=', '{' or ';'
  std::size_t end = 0;       // position after the item
};

struct UnitContents {
  const Unit* unit = nullptr;
  std::vector<Token> tokens;
  std::vector<UnitItem> items;
  std::string_view version;  // "9.0"
  std::uint64_t version_number = 0;
  std::string_view target;  // "sm_80"
  std::uint64_t target_number = 0;
  bool debug = false;                            // target option debug
  std::uint64_t file_numbers = 0;                // largest number in a .file
  std::map<std::string_view, std::size_t> uses;  // number of occurrences of each name

  /// Positions of a token's start and end in the text.
  [[nodiscard]] std::size_t begin_of(std::size_t token) const;
  [[nodiscard]] std::size_t end_of(std::size_t token) const;
};

/// Reads a unit, which must outlive the result. Throws UserError for text that is invalid at the module level
/// of PTX.
[[nodiscard]] UnitContents read_unit(const Unit& unit);

}  // namespace gpumux::ptx
