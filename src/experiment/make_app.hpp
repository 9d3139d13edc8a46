// Makes applications of any kind from the command line or a file: built in, a bundle, a trace, or kernels of
// PTX files.
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
  std::vector<std::shared_ptr<KernelOutputs>> outputs;  // of applications from PTX files
  std::vector<std::string> notes;                       // for the user, one line each
};

/// An application for an open trace. `text`: its name.
[[nodiscard]] AppSpec trace_app(const std::string& text, const std::shared_ptr<const trace::Trace>& opened);

/// Makes the applications, and reads every file that they name. Relative paths are relative to `folder`;
/// empty: the current folder. Throws UserError for missing files, for options of the wrong kind of
/// application, and, with `verify`, for applications that cannot be verified.
[[nodiscard]] Applications make_apps(const std::vector<AppArguments>& arguments, const std::string& folder,
                                     bool verify);

}  // namespace gpumux::experiment
