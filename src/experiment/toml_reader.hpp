// Reads TOML that users write. Every value is checked, and every error gives its place in the file.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::experiment {

/// Reads the values of one file. Every error is a UserError with file:line:column.
class TomlReader {
 public:
  /// `file`: the file's name in error messages.
  explicit TomlReader(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] toml::table parse(std::string_view text) const;
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] SourceLocation place(const toml::source_region& region) const;
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const;
  /// `what` names the kind of key: "key", "key in [[apps]]".
  void check_key(const toml::key& key, const std::vector<std::string>& known, const char* what) const;
  [[nodiscard]] std::string text(const toml::node& node, const char* key) const;
  /// A whole number, at least `low`.
  [[nodiscard]] std::uint64_t whole(const toml::node& node, const char* key, std::int64_t low) const;
  /// A boolean.
  [[nodiscard]] bool flag(const toml::node& node, const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node, const char* key) const;
  /// Whole numbers, each at least `low`. A single number may stand without a list.
  [[nodiscard]] std::vector<std::uint64_t> wholes(const toml::node& node, const char* key,
                                                  std::int64_t low) const;
  /// The options of an application. Keys in `more` are left to the caller. 'app' may be missing.
  [[nodiscard]] AppArguments app(const toml::table& table, const std::vector<std::string>& more = {}) const;

 private:
  /// Reads a key that any kernel launch may have; false: `key` is another key.
  template <typename Launch>
  bool launch_key(const toml::key& key, const toml::node& value, Launch& launch) const;
  [[nodiscard]] LaunchArguments launch(const toml::node& node) const;
  /// A text, or a whole number as text.
  [[nodiscard]] std::string setting(const toml::node& node, const toml::key& key) const;
  void check_program(const toml::table& table, const AppArguments& app) const;
  /// Dimensions: 16, [16, 8] or "16,8".
  [[nodiscard]] std::string dimensions(const toml::node& node, const char* key) const;

  std::string file_;
};

}  // namespace gpumux::experiment
