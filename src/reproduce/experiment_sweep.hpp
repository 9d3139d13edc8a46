// Reads the sweep of an experiment: a table of its own, another file, or both. Collects the names that
// quantities may use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reproduce/experiment.hpp"
#include "reproduce/template_reader.hpp"

namespace gpumux::reproduce {

/// Names that occur in any scale of the sweep. Filters may use them.
struct SweepNames {
  std::vector<std::string> policies;  // canonical texts
  std::vector<std::string> machines, apps, goals;
  std::vector<std::string> cpus;                              // as in the sweep
  std::vector<std::string> programs;                          // programs of CPU cores in `cpus`
  std::map<std::string, std::vector<std::string>> set;        // values by canonical_key()
  std::map<std::string, std::vector<std::string>> variables;  // of templates of policies: values by name
  bool series = false;                                        // some scale keeps series
};

/// The canonical name of a key: l1.size for sm.l1.size.
[[nodiscard]] std::string canonical_key(const std::string& key);
/// The canonical text of a policy. Throws UserError if `text` is not a policy.
[[nodiscard]] std::string canonical_policy(const std::string& text);
/// Throws UserError at `where` unless `known` contains `text`. `what`: the kind of name, such as "policy".
void check_known(const SourceLocation& where, const char* what, const std::string& text,
                 const std::vector<std::string>& known);

/// Reads the sweep, the value `node` of key 'sweep' in the file `text`, into `scales` and `variables` of
/// `out`. The id of `out` must be set. Throws UserError with file:line:column.
[[nodiscard]] SweepNames read_sweep(const TemplateReader& reader, const toml::node& node,
                                    std::string_view text, const Sources& sources, Experiment& out);

}  // namespace gpumux::reproduce
