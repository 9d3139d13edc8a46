// A bundle as an application of a run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "experiment/run.hpp"

namespace gpumux::bundle {
class Bundle;
}

namespace gpumux::experiment {

/// "app.gmx" or "app.gmx:host_time=1": the file's name, by which `run` and `inspect` know a bundle; empty for
/// anything else.
[[nodiscard]] std::string bundle_path(std::string_view text);

/// Opens it; relative paths are relative to `folder`, empty: the current one. Throws UserError for a file
/// that is no bundle, for unknown settings, and, where `verify` is set, for a bundle without results.
[[nodiscard]] AppSpec bundle_app(const std::string& text, const std::string& folder, bool verify);
/// One that is open; `text` is its name.
[[nodiscard]] AppSpec bundle_app(const std::string& text, const std::shared_ptr<const bundle::Bundle>& opened,
                                 double host_time = 0);

}  // namespace gpumux::experiment
