// Conversion of JSON documents to text, for strings of arbitrary bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gpumux {

/// The document as text on one line (`indent` < 0), or indented by `indent` spaces per level. Names of files
/// and kernels need not be UTF-8: invalid bytes become replacement characters.
[[nodiscard]] inline std::string dump_json(const nlohmann::ordered_json& document, int indent = -1) {
  return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace gpumux
