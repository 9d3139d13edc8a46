// Profiles of isolated applications, for policies that ask for them (policy::Policy::profile_request).
#pragma once

#include <string>
#include <vector>

#include "experiment/run.hpp"
#include "policy/profile.hpp"

namespace gpumux::experiment {

/// The profile of each application of the run, on the same machine with the same inputs and warp scheduler. A
/// profile comes from the request's file, or from isolated runs of request.cycles in which no SM holds more
/// than 1, 2, 3... blocks of any kernel. Each of these runs is kept in the cache folder; an empty folder name
/// keeps nothing.
/// Throws UserError for a file that is missing, not a profile, for another machine, or without one of the
/// applications.
[[nodiscard]] std::vector<policy::AppProfile> profiles(const RunSpec& spec,
                                                       const policy::ProfileRequest& request,
                                                       const std::string& cache_folder);

/// The content of a profile file (schema gpumux.profile/1) with the run's applications. Requires
/// request.depth Curve.
[[nodiscard]] std::string profile_document(const RunSpec& spec, Cycle cycles,
                                           const std::vector<policy::AppProfile>& profiles);

}  // namespace gpumux::experiment
