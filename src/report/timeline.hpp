// Packs a timeline in Chrome trace format for a page: spans in rows, as typed arrays.
#pragma once

#include <string>
#include <string_view>

namespace gpumux::report {

/// Returns JSON with these members:
/// - `unit` of time: core cycles if the trace gives the `core_mhz` of its machine, else microseconds.
/// - `left_out`: thread blocks that the trace leaves out, as it says itself.
/// - `rows` (process, thread, level), and the texts that spans share: `names`, `categories`, `arguments`.
/// - `spans`, sorted by row and start: `count`, and base64 arrays `start` and `duration` (float64), `row`,
/// `name`, `category`, `arguments` (uint32).
/// - `counters`: `name`, `start` and `value` (float64).
/// Supports complete, begin/end and instant events, counters, and names of processes and threads. Overlapping
/// spans of a thread go into several rows. With unit core cycles, an event's `begin_cycle` and `end_cycle`
/// are used as they are. Throws UserError, with `where`, for a text that is not a trace.
[[nodiscard]] std::string pack_timeline(std::string_view trace, const std::string& where);

}  // namespace gpumux::report
