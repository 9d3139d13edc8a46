// A timeline in Chrome trace format, packed for a page: spans in rows, as typed arrays.
#pragma once

#include <string>
#include <string_view>

namespace gpumux::report {

/// JSON: `unit` of time, `left_out` (thread blocks that the trace leaves out by its own word), `rows`
/// (process, thread, name), `names`, `categories`, `arguments` (texts that spans share), `spans` with `count`
/// and base64 arrays, sorted by row and start: `start` and `duration` (float64, as in the trace), `row`,
/// `name`, `category`, `arguments` (uint32); `counters` with `name`, `start` and `value` (float64). Complete,
/// begin/end and instant events, counters and the names of processes and threads are taken; spans of a thread
/// that overlap lie in rows below each other. The unit is core cycles where the trace says `core_mhz` of its
/// machine, and an event's `begin_cycle` and `end_cycle` are then taken as they are; else microseconds.
/// Throws UserError, which names `where`, for what is no trace.
[[nodiscard]] std::string pack_timeline(std::string_view trace, const std::string& where);

}  // namespace gpumux::report
