#include "experiment/workload_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace gpumux::experiment {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  WorkloadFile read(const toml::table& root) const {
    static const std::vector<std::string> kKeys = {"machine", "set",    "policy", "cycles",
                                                   "seed",    "verify", "apps"};
    WorkloadFile workload;
    for (const auto& [key, node] : root) {
      check_key(key, kKeys, "key");
      if (key == "machine") workload.machine = text(node, "machine");
      if (key == "set") workload.set = texts(node, "set");
      if (key == "policy") workload.policy = text(node, "policy");
      if (key == "cycles") workload.cycles = whole(node, "cycles", 1);
      if (key == "seed") workload.seed = whole(node, "seed", 0);
      if (key == "verify") {
        if (!node.is_boolean()) fail(node, "'verify' must be true or false");
        workload.verify = node.as_boolean()->get();
      }
      if (key == "apps") workload.apps = apps(node);
    }
    if (workload.apps.empty()) {
      throw UserError({file_}, "names no application; add [[apps]] with app = \"hotspot\"");
    }
    return workload;
  }

 private:
  [[nodiscard]] SourceLocation place(const toml::source_region& region) const {
    return {file_, static_cast<std::uint32_t>(region.begin.line),
            static_cast<std::uint32_t>(region.begin.column)};
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw UserError(place(node.source()), message);
  }
  void check_key(const toml::key& key, const std::vector<std::string>& known, const char* what) const {
    for (const std::string& choice : known) {
      if (key.str() == choice) return;
    }
    throw UserError(place(key.source()), unknown_choice(what, key.str(), known));
  }
  [[nodiscard]] std::string text(const toml::node& node, const char* key) const {
    if (!node.is_string()) fail(node, fmt::format("'{}' must be a text", key));
    return node.as_string()->get();
  }
  [[nodiscard]] std::uint64_t whole(const toml::node& node, const char* key, std::int64_t low) const {
    if (!node.is_integer() || node.as_integer()->get() < low) {
      fail(node, fmt::format("'{}' must be a whole number of at least {}", key, low));
    }
    return static_cast<std::uint64_t>(node.as_integer()->get());
  }
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node, const char* key) const {
    if (!node.is_array()) fail(node, fmt::format("'{}' must be a list of texts", key));
    std::vector<std::string> values;
    for (const toml::node& part : *node.as_array()) values.push_back(text(part, key));
    return values;
  }
  /// 16, [16, 8] or "16,8".
  [[nodiscard]] std::string dimensions(const toml::node& node, const char* key) const {
    if (node.is_string()) return node.as_string()->get();
    if (node.is_integer()) return fmt::format("{}", whole(node, key, 1));
    if (!node.is_array()) fail(node, fmt::format("'{}' must be X, [X, Y] or [X, Y, Z]", key));
    std::string out;
    for (const toml::node& part : *node.as_array()) {
      out += fmt::format("{}{}", out.empty() ? "" : ",", whole(part, key, 1));
    }
    return out;
  }
  [[nodiscard]] std::vector<AppArguments> apps(const toml::node& node) const {
    static const std::vector<std::string> kKeys = {"app", "grid", "block", "shared", "args", "symbols"};
    if (!node.is_array()) fail(node, "'apps' must be a list of tables: [[apps]]");
    std::vector<AppArguments> list;
    for (const toml::node& part : *node.as_array()) {
      if (!part.is_table()) fail(part, "each of 'apps' must be a table: [[apps]]");
      AppArguments app;
      for (const auto& [key, value] : *part.as_table()) {
        check_key(key, kKeys, "key in [[apps]]");
        if (key == "app") app.app = text(value, "app");
        if (key == "grid") app.grid = dimensions(value, "grid");
        if (key == "block") app.block = dimensions(value, "block");
        if (key == "shared") {
          app.shared =
              value.is_integer() ? fmt::format("{}", whole(value, "shared", 0)) : text(value, "shared");
        }
        if (key == "args") app.args = texts(value, "args");
        if (key == "symbols") app.symbols = texts(value, "symbols");
      }
      if (app.app.empty()) fail(part, "[[apps]] needs 'app', such as app = \"hotspot\"");
      list.push_back(std::move(app));
    }
    return list;
  }

  const std::string& file_;
};

}  // namespace

WorkloadFile parse_workload(std::string_view text, const std::string& path) {
  toml::table root;
  try {
    root = toml::parse(text, std::string_view(path));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw UserError({path, static_cast<std::uint32_t>(at.line), static_cast<std::uint32_t>(at.column)},
                    std::string(error.description()));
  }
  WorkloadFile workload = Reader(path).read(root);
  workload.folder = std::filesystem::path(path).parent_path().string();
  return workload;
}

WorkloadFile read_workload(const std::string& path) { return parse_workload(read_file(path), path); }

}  // namespace gpumux::experiment
