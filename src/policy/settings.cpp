#include "policy/settings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::policy {

void SettingReader::fail(const std::string& key, std::string_view what) const {
  throw UserError(fmt::format("policy {}: {}='{}' must be {}", policy_, key, text(key, ""), what));
}

std::string SettingReader::text(const std::string& key, const std::string& fallback) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? fallback : found->second;
}

std::uint64_t SettingReader::whole(const std::string& key, std::uint64_t fallback, std::uint64_t least,
                                   std::uint64_t most) const {
  if (!has(key)) return fallback;
  const auto value = parse_uint(text(key, ""));
  if (!value || *value < least || *value > most)
    fail(key, fmt::format("a whole number from {} to {}", least, most));
  return *value;
}

double SettingReader::real(const std::string& key, double fallback, double least, double most) const {
  if (!has(key)) return fallback;
  const auto value = parse_double(text(key, ""));
  if (!value || !std::isfinite(*value) || *value < least || *value > most)
    fail(key, fmt::format("a number from {} to {}", least, most));
  return *value;
}

std::string SettingReader::choice(const std::string& key, const std::string& fallback,
                                  const std::vector<std::string>& choices) const {
  std::string value = text(key, fallback);
  for (const std::string& choice : choices)
    if (choice == value) return value;
  fail(key, fmt::format("{}", fmt::join(choices, " or ")));
}

arch::Duration SettingReader::duration(const std::string& key, const arch::Duration& fallback) const {
  if (!has(key)) return fallback;
  const auto parsed = arch::parse_duration(text(key, ""));
  if (!parsed) fail(key, arch::kDurationHelp);
  return *parsed;
}

std::vector<std::uint32_t> SettingReader::parts(const std::string& key, std::uint32_t most) const {
  std::vector<std::uint32_t> list;
  if (!has(key)) return list;
  for (const std::string& part : split(text(key, ""), '/')) {
    const auto value = parse_uint(part);
    if (!value || *value < 1 || *value > most)
      fail(key, fmt::format("a whole number from 1 to {} for each application, such as 3/1", most));
    list.push_back(static_cast<std::uint32_t>(*value));
  }
  return list;
}

ProfileRequest profile_request(const SettingReader& read, ProfileRequest::Depth depth) {
  ProfileRequest request;
  request.depth = depth;
  request.cycles = read.whole("profile_cycles", kProfileCycles, 1000, 1'000'000'000);
  request.file = read.text("profile", "");
  if (read.has("profile") && request.file.empty())
    read.fail("profile", "the name of a file that `gpumux profile` wrote");
  if (read.has("profile") && read.has("profile_cycles"))
    read.fail("profile_cycles", "left out where profile= names a file, which has a length of its own");
  return request;
}

std::vector<std::pair<std::string, std::string>> with_profile_settings(
    std::vector<std::pair<std::string, std::string>> settings) {
  settings.emplace_back("profile", "file written by `gpumux profile` [the isolated runs are made and kept]");
  settings.emplace_back("profile_cycles",
                        fmt::format("core cycles of each isolated run for the profile, 1000 "
                                    "to 1000000000 [{}]",
                                    kProfileCycles));
  return settings;
}

}  // namespace gpumux::policy
