#include "workload/replay_stream.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"

namespace gpumux::workload {

namespace {

// Bits of the first byte of a record. The parts that differ from the expected values follow as bytes, in this
// order.
constexpr std::uint8_t kOtherPc = 1;      // pc is not the previous pc + 1: the difference follows
constexpr std::uint8_t kOtherLanes = 2;   // lanes differ from the previous record's: four bytes follow
constexpr std::uint8_t kOtherPasses = 4;  // shared_passes is not 1: its value follows
constexpr unsigned kWhereShift = 3;       // memory instruction: 3 bits of MemHeader::Where
constexpr unsigned kCountShift = 6;       // transactions, up to 2; 3: their number follows
constexpr std::uint8_t kMany = 3;

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes.push_back(static_cast<std::uint8_t>(value | 0x80U));
  bytes.push_back(static_cast<std::uint8_t>(value));
}
std::uint64_t get(const std::vector<std::uint8_t>& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = bytes[at++];
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}
/// Maps a signed difference modulo 2^64 to an unsigned number that is small if the difference is (zigzag
/// coding).
std::uint64_t folded(std::uint64_t difference) { return difference << 1U ^ (0 - (difference >> 63U)); }
std::uint64_t unfolded(std::uint64_t value) { return value >> 1U ^ (0 - (value & 1U)); }

}  // namespace

ReplayStream::ReplayStream(std::unique_ptr<BlockStream> inside, const std::vector<isa::StaticInst>& table)
    : BlockStream(inside->warps()),
      inside_(std::move(inside)),
      table_(&table),
      logs_(streams_.size()),
      overwrites_(inside_->warps()),
      before_(streams_.size()),
      words_(streams_.size()) {
  look_for_overwrites();
  for (std::uint32_t w = 0; w < warps(); ++w) {
    keep(w, 0);
    streams_[w] = inside_->stream(w);
  }
}

/// Appends the inner stream's records of the warp to the log, except the first `already` records.
void ReplayStream::keep(std::uint32_t warp, std::uint32_t already) {
  const WarpStream& stream = inside_->stream(warp);
  Log& log = logs_[warp];
  const std::uint64_t* words = stream.mem_next + words_[warp];
  for (const ExecRecord* record = stream.next + already; record != stream.end; ++record) {
    const bool memory = takes_words(*record);
    const MemHeader header = memory ? std::bit_cast<MemHeader>(*words) : MemHeader{};
    const std::uint64_t* const transactions = memory ? words + 1 : words;
    if (memory) words += 1 + header.transactions;
    const std::uint32_t expected = log.last.pc + 1;
    std::uint8_t first = 0;
    if (record->pc != expected) first |= kOtherPc;
    if (record->active != log.last.active) first |= kOtherLanes;
    if (memory) {
      if (header.shared_passes != 1) first |= kOtherPasses;
      first |= static_cast<std::uint8_t>(static_cast<unsigned>(header.where) << kWhereShift);
      first |= static_cast<std::uint8_t>(std::min<unsigned>(header.transactions, kMany) << kCountShift);
    }
    log.bytes.push_back(first);
    if ((first & kOtherPc) != 0) put(log.bytes, folded(std::uint64_t{record->pc} - expected));
    if ((first & kOtherLanes) != 0) {
      for (unsigned shift = 0; shift < 32; shift += 8)
        log.bytes.push_back(static_cast<std::uint8_t>(record->active >> shift));
    }
    if ((first & kOtherPasses) != 0) put(log.bytes, header.shared_passes);
    if (memory && header.transactions >= kMany) put(log.bytes, header.transactions);
    for (std::uint32_t i = 0; i < header.transactions; ++i) {
      put(log.bytes, folded(transactions[i] - log.last.word));
      log.last.word = transactions[i];
    }
    log.last.pc = record->pc;
    log.last.active = record->active;
    ++log.records;
  }
  words_[warp] = static_cast<std::uint64_t>(words - stream.mem_next);
}

/// Looks for overwrites in the inner stream's records beyond before_.
void ReplayStream::look_for_overwrites() {
  overwrites_.follow(
      *inside_, before_, *table_, [](std::uint32_t, const ExecRecord&, bool) {}, words_);
}

/// Refills the inner stream. The emulator may advance other warps as well, if they share a barrier.
void ReplayStream::refill_inside(std::uint32_t warp, std::uint32_t wanted) {
  for (std::uint32_t w = 0; w < warps(); ++w) before_[w] = inside_->stream(w).available();
  inside_->refill(warp, wanted);
  look_for_overwrites();
  for (std::uint32_t w = 0; w < warps(); ++w) {
    if (inside_->stream(w).available() != before_[w]) keep(w, before_[w]);
  }
}

void ReplayStream::refill(std::uint32_t warp, std::uint32_t wanted) {
  if (replays()) {
    read(warp, wanted);
    return;
  }
  for (std::uint32_t w = 0; w < warps(); ++w) {
    inside_->stream(w).next = streams_[w].next;
    words_[w] -= static_cast<std::uint64_t>(streams_[w].mem_next - inside_->stream(w).mem_next);
    inside_->stream(w).mem_next = streams_[w].mem_next;
  }
  refill_inside(warp, wanted);
  for (std::uint32_t w = 0; w < warps(); ++w) streams_[w] = inside_->stream(w);
}

bool ReplayStream::may_restart(std::span<const std::uint32_t> left) const {
  for (std::uint32_t w = 0; w < warps(); ++w) {
    const std::uint64_t given = replays() ? readers_[w].records : logs_[w].records;
    if (given - left[w] > overwrites_.first(w)) return false;
  }
  return true;
}

void ReplayStream::restart() {
  readers_.assign(warps(), {});
  for (std::uint32_t w = 0; w < warps(); ++w) {
    streams_[w] = {};
    read(w, 1);
  }
}

/// Makes at least `wanted` records available from the log, after the records that the machine has not
/// consumed yet.
void ReplayStream::read(std::uint32_t warp, std::uint32_t wanted) {
  Reader& reader = readers_[warp];
  WarpStream& stream = streams_[warp];
  Log& log = logs_[warp];
  const std::uint32_t left = stream.available();
  if (left < wanted && reader.records == log.records) {
    for (std::uint32_t w = 0; w < warps(); ++w) {  // all records are in the logs
      WarpStream& all = inside_->stream(w);
      for (; all.next != all.end; ++all.next) {
        if (takes_words(*all.next)) all.mem_next += 1 + std::bit_cast<MemHeader>(*all.mem_next).transactions;
      }
      words_[w] = 0;
    }
    if (!inside_->stream(warp).finished) refill_inside(warp, wanted - left);
  }
  if (left > 0) {
    reader.given.erase(reader.given.begin(), reader.given.end() - left);
    reader.words.erase(reader.words.begin(), reader.words.begin() + (stream.mem_next - reader.words.data()));
  } else {
    reader.given.clear();
    reader.words.clear();
  }
  for (std::uint32_t have = left; have < wanted && reader.records < log.records; ++have, ++reader.records) {
    const std::uint8_t first = log.bytes[reader.at++];
    State& last = reader.last;
    ++last.pc;
    if ((first & kOtherPc) != 0) last.pc += static_cast<std::uint32_t>(unfolded(get(log.bytes, reader.at)));
    if ((first & kOtherLanes) != 0) {
      last.active = 0;
      for (unsigned shift = 0; shift < 32; shift += 8)
        last.active |= LaneMask{log.bytes[reader.at++]} << shift;
    }
    reader.given.push_back({last.pc, last.active});
    if (!takes_words(reader.given.back())) continue;
    MemHeader header;
    header.shared_passes = (first & kOtherPasses) != 0 ? static_cast<std::uint16_t>(get(log.bytes, reader.at))
                                                       : std::uint16_t{1};
    header.where = static_cast<MemHeader::Where>(first >> kWhereShift & 7U);
    header.transactions = static_cast<std::uint16_t>(first >> kCountShift);
    if (header.transactions == kMany)
      header.transactions = static_cast<std::uint16_t>(get(log.bytes, reader.at));
    reader.words.push_back(std::bit_cast<std::uint64_t>(header));
    for (std::uint32_t i = 0; i < header.transactions; ++i) {
      last.word += unfolded(get(log.bytes, reader.at));
      reader.words.push_back(last.word);
    }
  }
  stream.next = reader.given.data();
  stream.end = reader.given.data() + reader.given.size();
  stream.mem_next = reader.words.data();
  stream.finished = reader.records == log.records && inside_->stream(warp).finished;
}

std::size_t ReplayStream::bytes() const {
  std::size_t sum = 0;
  for (const Log& log : logs_) sum += log.bytes.size();
  return sum;
}

std::uint64_t ReplayStream::records() const {
  std::uint64_t sum = 0;
  for (const Log& log : logs_) sum += log.records;
  return sum;
}

}  // namespace gpumux::workload
