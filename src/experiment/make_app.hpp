// Applications of any kind from what the command line or a file says: built in, a bundle, a trace, or a
// kernel of a PTX file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiment/file_program.hpp"
#include "experiment/run.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::trace {
class Trace;
}

namespace gpumux::experiment {

struct Applications {
  std::vector<AppSpec> specs;
  std::vector<std::shared_ptr<KernelOutputs>> outputs;  // of applications of PTX files
  std::vector<std::string> notes;                       // what their user should know, a line each
};

/// A trace that is open; `text` is its name.
[[nodiscard]] AppSpec trace_app(const std::string& text, const std::shared_ptr<const trace::Trace>& opened);

/// Reads every file that the applications name. Relative paths are relative to `folder`; empty: the current
/// one. Throws UserError for what does not exist, for options of the wrong kind of application, and, where
/// `verify` is set, for applications that cannot be verified.
[[nodiscard]] Applications make_apps(const std::vector<AppArguments>& arguments, const std::string& folder,
                                     bool verify);

}  // namespace gpumux::experiment
