#include "report/reproduction.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"

namespace gpumux::report {
namespace {

using nlohmann::ordered_json;

/// Line and column of a byte, from 1.
SourceLocation place(const std::string& file, const std::string& text, std::size_t byte) {
  const std::string_view before = std::string_view(text).substr(0, std::min(byte, text.size()));
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 on the first line
  return {file, static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<std::uint32_t>(before.size() - line_start + 1)};
}

void check(const ordered_json& document, const std::string& file) {
  const char* expected = "; expected what `gpumux reproduce --json` writes";
  if (!document.is_object() || !document.contains("claims") || !document["claims"].is_array()) {
    throw UserError({file}, fmt::format("has no list \"claims\"{}", expected));
  }
  for (const char* part : {"claims", "trends"}) {
    if (!document.contains(part)) continue;
    if (!document[part].is_array())
      throw UserError({file}, fmt::format("\"{}\" is no list{}", part, expected));
    std::size_t index = 0;
    for (const ordered_json& claim : document[part]) {
      if (!claim.is_object() || !claim.contains("id") || !claim["id"].is_string()) {
        throw UserError({file}, fmt::format("{}[{}] has no text \"id\"{}", part, index, expected));
      }
      ++index;
    }
  }
}

}  // namespace

void add_reproductions(const std::vector<std::string>& files, Blocks& blocks) {
  std::map<std::string, std::string> claimed;  // file by claim
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string text = read_file(files[i]);
    ordered_json document;
    try {
      document = ordered_json::parse(text);
    } catch (const ordered_json::parse_error& error) {
      throw UserError(place(files[i], text, error.byte == 0 ? 0 : error.byte - 1),
                      "is no JSON; expected what `gpumux reproduce --json` writes");
    }
    check(document, files[i]);
    for (const ordered_json& claim : document["claims"]) {
      const auto [first, added] = claimed.try_emplace(claim["id"].get<std::string>(), files[i]);
      if (added) continue;
      throw UserError({files[i]}, fmt::format("has claim \"{}\", which {} has too; give one of them",
                                              first->first, first->second));
    }
    blocks.add(fmt::format("reproduction-{}", i), document);
  }
  blocks.add("reproductions", ordered_json(files.size()));
}

}  // namespace gpumux::report
