// What stands in the PTX of one relocatable translation unit, for link().
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

/// In the order of what counts for more.
enum class Linkage : std::uint8_t { Extern, Local, Common, Weak, Visible };

/// A declaration or definition. Places are numbers of tokens.
struct UnitItem {
  enum class Kind : std::uint8_t { Variable, Function, Alias, FileNumber };
  Kind kind = Kind::Variable;
  Linkage linkage = Linkage::Local;
  bool defines = false;  // not a declaration alone
  bool dynamic = false;  // .extern .shared x[]
  bool is_kernel = false;
  std::string_view name;  // empty: FileNumber
  std::uint64_t bytes = 0;
  std::uint64_t align = 0;
  std::size_t begin = 0;
  std::size_t at_space = 0;  // of a variable: .global, .const, .shared
  std::size_t at_name = 0;
  std::size_t head_end = 0;  // behind all that a declaration has: at '=', '{' or ';'
  std::size_t end = 0;       // behind it
};

struct UnitContents {
  const Unit* unit = nullptr;
  std::vector<Token> tokens;
  std::vector<UnitItem> items;
  std::string_view version;  // "9.0"
  std::uint64_t version_number = 0;
  std::string_view target;  // "sm_80"
  std::uint64_t target_number = 0;
  bool debug = false;                            // a target option
  std::uint64_t file_numbers = 0;                // the largest that .file gives
  std::map<std::string_view, std::size_t> uses;  // of names, how often each stands there

  /// Where a token begins and ends in the text.
  [[nodiscard]] std::size_t begin_of(std::size_t token) const;
  [[nodiscard]] std::size_t end_of(std::size_t token) const;
};

/// `unit` must outlive what is returned. Throws UserError for what does not stand at the module level of PTX.
[[nodiscard]] UnitContents read_unit(const Unit& unit);

}  // namespace gpumux::ptx
