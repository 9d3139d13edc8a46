// A results database as text, run by run in the order in which they were planned.
#pragma once

#include <functional>
#include <string_view>

#include "database/sqlite.hpp"

namespace gpumux::database {

/// Takes the next piece of the text.
using Sink = std::function<void(std::string_view)>;

/// One line per application of each run, runs that failed or are pending included: what was run, metrics,
/// every counter of the application. Runs of CPU cores alone have none. Throws UserError when the database is
/// no results database or cannot be read.
void export_csv(Connection& connection, const Sink& sink);

/// The same with one line per CPU core of each run that has a program: what it executed, alone and beside the
/// run's applications.
void export_cpus_csv(Connection& connection, const Sink& sink);

/// {"schema": "gpumux.results/1", "runs": [...]}; a run that ended has its whole "result" (gpumux.result/1)
/// and all its "counters".
void export_json(Connection& connection, const Sink& sink);

}  // namespace gpumux::database
