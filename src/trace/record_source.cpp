#include "trace/record_source.hpp"

#include <algorithm>

namespace gpumux::trace {
namespace {

/// Longer paths (in records) are not kept for other warps.
constexpr std::uint32_t kLongestShared = 1U << 20U;
/// Approximate limit for the expanded records of a launch: 256 MB.
constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 25U;

}  // namespace

void RunReader::next_run() {
  const std::uint64_t head = reader_.varint();
  if ((head & 1U) != 0) next_ += reader_.signed_varint();
  if ((head & 2U) != 0) mask_ = reader_.word32();
  const std::uint64_t count = (head >> 2U) + 1;
  const std::uint64_t entries = code_->entries.size();
  if (count > left_ || next_ >= entries || count > entries - next_) {
    throw CorruptTrace{"a warp runs beyond its code"};
  }
  run_left_ = static_cast<std::uint32_t>(count);
}

std::uint32_t RunReader::read(workload::ExecRecord* out, std::uint32_t count) {
  std::uint32_t memory = 0;
  while (count > 0) {
    if (run_left_ == 0) next_run();
    const std::uint32_t part = std::min(count, run_left_);
    const Code::Entry* entry = code_->entries.data() + next_;
    for (std::uint32_t i = 0; i < part; ++i) {
      out[i] = {entry[i].index, mask_};
      memory += code_->table[entry[i].index].unit == isa::Unit::Memory ? 1 : 0;
    }
    out += part;
    next_ += part;
    run_left_ -= part;
    left_ -= part;
    count -= part;
  }
  return memory;
}

ExpandedPath* PathStore::acquire(std::uint64_t number) {
  const Path& path = this->path(number);
  if (path.uses < 2 || path.records > kLongestShared) return nullptr;
  std::unique_ptr<ExpandedPath>& place = expanded_[number];
  if (place == nullptr) {
    if (records_ + path.records > kMostRecords) make_room();
    place = std::make_unique<ExpandedPath>();
    place->records.resize(path.records);
    RunReader reader(path, code_);
    std::uint32_t memory = 0;
    for (std::uint32_t at = 0; at < path.records;) {
      const std::uint32_t part = std::min(ExpandedPath::kStep, path.records - at);
      place->memory_before.push_back(memory);
      memory += reader.read(place->records.data() + at, part);
      at += part;
    }
    place->memory_before.push_back(memory);
    records_ += path.records;
  }
  ++place->users;
  return place.get();
}

void PathStore::make_room() {
  for (std::unique_ptr<ExpandedPath>& place : expanded_) {
    if (place == nullptr || place->users != 0) continue;
    records_ -= place->records.size();
    place.reset();
  }
}

}  // namespace gpumux::trace
