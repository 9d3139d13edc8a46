// What follows the name of a block scheduler, core or concurrency control: "window=2048/idle=16".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpumux::policy {

/// Whole numbers and words by key. All throw UserError that names level, mechanism and key.
class LevelArguments {
 public:
  /// `level` and `name`: "blocks", "dyncta".
  LevelArguments(std::string level, std::string name, const std::string& text);
  /// "blocks=dyncta", for errors.
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const std::string& key) { return find(key) != nullptr; }
  [[nodiscard]] std::uint64_t whole(const std::string& key, std::uint64_t fallback, std::uint64_t least,
                                    std::uint64_t most);
  [[nodiscard]] double real(const std::string& key, double fallback, double least, double most);
  [[nodiscard]] std::string choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices);
  /// Throws when a key was given that nobody has asked for.
  void done() const;

 private:
  [[nodiscard]] const std::string* find(const std::string& key);
  std::string where_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
};

}  // namespace gpumux::policy
