// Arguments after the name of a block scheduler, core control or concurrency control: "window=2048/idle=16".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpumux::policy {

/// Reads whole numbers, real numbers and words by key. Every error is a UserError that names level, mechanism
/// and key.
class LevelArguments {
 public:
  /// Parses `text`. `level` and `name`, such as "blocks" and "dyncta", are for error messages.
  LevelArguments(std::string level, std::string name, const std::string& text);
  /// Level and name for error messages: "blocks=dyncta".
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const std::string& key) { return find(key) != nullptr; }
  [[nodiscard]] std::uint64_t whole(const std::string& key, std::uint64_t fallback, std::uint64_t least,
                                    std::uint64_t most);
  [[nodiscard]] double real(const std::string& key, double fallback, double least, double most);
  [[nodiscard]] std::string choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices);
  /// Throws UserError if a key was given that no call has read.
  void done() const;

 private:
  [[nodiscard]] const std::string* find(const std::string& key);
  std::string where_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
};

}  // namespace gpumux::policy
