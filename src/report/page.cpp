#include "report/page.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>

#include "base/error.hpp"
#include "embedded/report_page.hpp"
#include "report/base64.hpp"
#include "report/collect.hpp"
#include "report/reproduction.hpp"

namespace gpumux::report {
namespace {

/// A hash in hexadecimal digits, in the form that a content security policy requires.
std::string policy_hash(std::string_view hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return "'sha256-" + base64(bytes) + "'";
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '&': html += "&amp;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
    }
  }
  return html;
}

/// Replaces each @NAME@ of the skeleton once. `parts` must be in the skeleton's order; inserted texts are not
/// searched.
std::string fill(std::string_view skeleton,
                 const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string html;
  for (const auto& [name, text] : parts) {
    const std::size_t at = skeleton.find(name);
    GPUMUX_CHECK(at != std::string_view::npos);
    html.append(skeleton.substr(0, at)).append(text);
    skeleton.remove_prefix(at + name.size());
  }
  return html.append(skeleton);
}

}  // namespace

std::string page(const Blocks& blocks, std::string_view title) {
  // Only a chart that is saved as an image makes images.
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; "
      "form-action 'none'",
      policy_hash(embedded::report_script_sha256), policy_hash(embedded::report_style_sha256));
  return fill(embedded::report_skeleton, {{"@POLICY@", policy},
                                          {"@TITLE@", escaped(title)},
                                          {"@STYLE@", std::string(embedded::report_style)},
                                          {"@DATA@", blocks.html()},
                                          {"@SCRIPT@", std::string(embedded::report_script)}});
}

std::string report(database::Connection& connection, const std::vector<std::string>& reproductions) {
  Blocks blocks;
  collect(connection, blocks);
  add_reproductions(reproductions, blocks);
  return page(blocks, std::filesystem::path(connection.path()).filename().string() + " · gpumux");
}

}  // namespace gpumux::report
