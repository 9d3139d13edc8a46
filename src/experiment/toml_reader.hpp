// Reading TOML that users write: every value is checked, and every error points at its place.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::experiment {

/// Helpers for the readers of one file. All throw UserError with file:line:column.
class TomlReader {
 public:
  /// `file` is its name in messages.
  explicit TomlReader(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] toml::table parse(std::string_view text) const;
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] SourceLocation place(const toml::source_region& region) const;
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const;
  /// `what` names the kind of key: "key", "key in [[apps]]".
  void check_key(const toml::key& key, const std::vector<std::string>& known, const char* what) const;
  [[nodiscard]] std::string text(const toml::node& node, const char* key) const;
  /// At least `low`.
  [[nodiscard]] std::uint64_t whole(const toml::node& node, const char* key, std::int64_t low) const;
  /// true or false.
  [[nodiscard]] bool flag(const toml::node& node, const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node, const char* key) const;
  /// At least `low` each; a single one may stand without its list.
  [[nodiscard]] std::vector<std::uint64_t> wholes(const toml::node& node, const char* key,
                                                  std::int64_t low) const;
  /// The options of an application; keys of `more` are the caller's. Does not require 'app'.
  [[nodiscard]] AppArguments app(const toml::table& table, const std::vector<std::string>& more = {}) const;

 private:
  /// What a kernel's launch has wherever it stands; false: the key is none of it.
  template <typename Launch>
  bool launch_key(const toml::key& key, const toml::node& value, Launch& launch) const;
  [[nodiscard]] LaunchArguments launch(const toml::node& node) const;
  /// A text, or a whole number.
  [[nodiscard]] std::string setting(const toml::node& node, const toml::key& key) const;
  void check_program(const toml::table& table, const AppArguments& app) const;
  /// 16, [16, 8] or "16,8".
  [[nodiscard]] std::string dimensions(const toml::node& node, const char* key) const;

  std::string file_;
};

}  // namespace gpumux::experiment
