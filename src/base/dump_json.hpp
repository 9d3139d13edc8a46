// JSON as text, whatever bytes its strings hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gpumux {

/// On one line, or indented by so many spaces. Names of files and kernels need not be UTF-8: bytes that are
/// not become replacement characters.
[[nodiscard]] inline std::string dump_json(const nlohmann::ordered_json& document, int indent = -1) {
  return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace gpumux
