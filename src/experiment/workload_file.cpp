#include "experiment/workload_file.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "experiment/toml_reader.hpp"

namespace gpumux::experiment {
namespace {

std::vector<AppArguments> read_apps(const TomlReader& reader, const toml::node& node) {
  if (!node.is_array()) reader.fail(node, "'apps' must be a list of tables: [[apps]]");
  std::vector<AppArguments> list;
  for (const toml::node& part : *node.as_array()) {
    if (!part.is_table()) reader.fail(part, "each of 'apps' must be a table: [[apps]]");
    list.push_back(reader.app(*part.as_table()));
    if (list.back().app.empty()) reader.fail(part, "[[apps]] needs 'app', such as app = \"hotspot\"");
  }
  return list;
}

}  // namespace

WorkloadFile parse_workload(std::string_view text, const std::string& path) {
  static const std::vector<std::string> kKeys = {"machine", "set",    "policy", "cycles",
                                                 "seed",    "verify", "apps",   "instructions"};
  const TomlReader reader(path);
  const toml::table root = reader.parse(text);
  WorkloadFile workload;
  workload.folder = std::filesystem::path(path).parent_path().string();
  for (const auto& [key, node] : root) {
    reader.check_key(key, kKeys, "key");
    if (key == "machine") workload.machine = reader.text(node, "machine");
    if (key == "set") workload.set = reader.texts(node, "set");
    if (key == "policy") workload.policy = reader.text(node, "policy");
    if (key == "cycles") workload.cycles = reader.whole(node, "cycles", 1);
    if (key == "instructions") workload.instructions = reader.whole(node, "instructions", 1);
    if (key == "seed") workload.seed = reader.whole(node, "seed", 0);
    if (key == "verify") {
      if (!node.is_boolean()) reader.fail(node, "'verify' must be true or false");
      workload.verify = node.as_boolean()->get();
    }
    if (key == "apps") workload.apps = read_apps(reader, node);
  }
  if (workload.apps.empty()) {
    throw UserError({path}, "names no application; add [[apps]] with app = \"hotspot\"");
  }
  return workload;
}

WorkloadFile read_workload(const std::string& path) { return parse_workload(read_file(path), path); }

}  // namespace gpumux::experiment
