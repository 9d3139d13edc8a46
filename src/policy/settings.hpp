// Reads values of a policy's settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arch/duration.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {

/// Reads settings of one policy. Every error is a UserError that names policy, key and range.
class SettingReader {
 public:
  SettingReader(std::string policy, const Settings& settings)
      : policy_(std::move(policy)), settings_(settings) {}

  [[nodiscard]] bool has(const std::string& key) const { return settings_.contains(key); }
  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback) const;
  [[nodiscard]] std::uint64_t whole(const std::string& key, std::uint64_t fallback, std::uint64_t least,
                                    std::uint64_t most) const;
  [[nodiscard]] double real(const std::string& key, double fallback, double least, double most) const;
  [[nodiscard]] std::string choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices) const;
  [[nodiscard]] arch::Duration duration(const std::string& key, const arch::Duration& fallback) const;
  /// Whole numbers "3/1", one per application in their order, each from 1 to `most`; empty if the key is not
  /// given.
  [[nodiscard]] std::vector<std::uint32_t> parts(const std::string& key, std::uint32_t most) const;
  [[noreturn]] void fail(const std::string& key, std::string_view what) const;

 private:
  std::string policy_;
  const Settings& settings_;
};

/// The profile request in the settings `profile_cycles` and `profile`, which every policy with profiles has.
[[nodiscard]] ProfileRequest profile_request(const SettingReader& read, ProfileRequest::Depth depth);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> with_profile_settings(
    std::vector<std::pair<std::string, std::string>> settings);

}  // namespace gpumux::policy
