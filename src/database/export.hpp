// Exports a results database as text, run by run in the order of planning.
#pragma once

#include <functional>
#include <string_view>

#include "database/sqlite.hpp"

namespace gpumux::database {

/// Takes the next piece of the text.
using Sink = std::function<void(std::string_view)>;

/// Writes one line per application of each run, with what was run, metrics, and every counter of the
/// application. Failed and pending runs are included; runs of CPU cores only have no lines. Throws UserError
/// if it is not a results database, or cannot be read.
void export_csv(Connection& connection, const Sink& sink);

/// Writes one line per CPU core with a program of each run: what the core executed, alone and beside the
/// run's applications. Throws as export_csv() does.
void export_cpus_csv(Connection& connection, const Sink& sink);

/// Writes {"schema": "gpumux.results/1", "runs": [...]}. A completed run has its whole "result"
/// (gpumux.result/1) and all its "counters". Throws as export_csv() does.
void export_json(Connection& connection, const Sink& sink);

}  // namespace gpumux::database
