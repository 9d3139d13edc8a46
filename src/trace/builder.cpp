#include "trace/builder.hpp"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "base/hash.hpp"
#include "trace/bytes.hpp"

namespace gpumux::trace {
namespace {

using Where = workload::MemHeader::Where;

std::uint64_t hash_of(std::string_view bytes) {
  Checksum sum;
  sum.add(bytes);
  return mix64(sum.value());
}

void put_dim(std::string& out, const Dim3& d) {
  put_varint(out, d.x);
  put_varint(out, d.y);
  put_varint(out, d.z);
}

}  // namespace

void TraceBuilder::copy(bool to_device, Address address, std::uint64_t bytes) {
  constexpr std::uint64_t kPageBytes = std::uint64_t{1} << kPageShift;
  if (bytes > kPageBytes * kMostPages || address + bytes < address) {
    throw BuildError{fmt::format("a copy of {} bytes at 0x{:x} is impossible", bytes, address)};
  }
  while (bytes > 0) {  // adjacent pages may be renumbered apart
    const std::uint64_t part = std::min(bytes, kPageBytes - address % kPageBytes);
    put_varint(index_commands_, static_cast<std::uint64_t>(to_device ? CommandKind::CopyToDevice
                                                                     : CommandKind::CopyFromDevice));
    put_varint(index_commands_, translate_line(address / kLineBytes) * kLineBytes + address % kLineBytes);
    put_varint(index_commands_, part);
    ++commands_;
    address += part;
    bytes -= part;
  }
}

void TraceBuilder::begin_kernel(const KernelHeader& header) {
  header_ = header;
  warp_instructions_ = thread_instructions_ = 0;
  code_.clear();
  code_by_pc_.clear();
  body_.clear();
  block_at_.clear();
  paths_.clear();
  path_list_.clear();
  path_by_hash_.clear();
  sequence_by_hash_.clear();
  shapes_.clear();
  shape_count_ = 0;
  shape_numbers_.clear();
  shapes_seen_.clear();
  local_low_ = ~std::uint64_t{0};
  local_high_ = 0;
}

void TraceBuilder::begin_block(std::uint64_t index) {
  if (index >= header_.grid.count()) throw BuildError{"the block lies outside the grid"};
  if (block_at_.contains(index)) throw BuildError{"the block comes twice"};
  block_index_ = index;
  warps_.assign(header_.warps(), {});
}

void TraceBuilder::begin_warp(std::uint32_t warp) {
  if (warp >= warps_.size()) {
    throw BuildError{fmt::format("warp {} of a block of {} warps", warp, warps_.size())};
  }
  if (warps_[warp].seen) throw BuildError{fmt::format("warp {} comes twice", warp)};
  warp_ = warp;
  path_bytes_.clear();
  path_records_ = 0;
  expected_ = 0;
  run_length_ = 0;
  last_mask_ = kAllLanes;
  sequence_.clear();
  has_base_ = false;
  base_ = line_ = 0;
}

std::uint32_t TraceBuilder::instruction(std::uint32_t pc, const SassInst& inst) {
  const auto [first, last] = code_by_pc_.equal_range(pc);
  for (auto at = first; at != last; ++at) {
    if (code_[at->second].inst == inst) return at->second;
  }
  if (pc >= kMostCodeBytes) throw BuildError{fmt::format("pc 0x{:x} is too large", pc)};
  const std::optional<SassClass> what = classify(inst);
  if (!what) throw BuildError{fmt::format("unknown opcode '{}'", inst.opcode)};
  code_.push_back({pc, inst, *what});
  const auto number = static_cast<std::uint32_t>(code_.size() - 1);
  code_by_pc_.emplace(pc, number);
  return number;
}

bool TraceBuilder::has_addresses(std::uint32_t instruction) const {
  return code_[instruction].inst.access_bytes != 0;
}

void TraceBuilder::count(std::uint32_t instruction, LaneMask mask) {
  add_to_path(instruction, mask);
  ++warp_instructions_;
  thread_instructions_ += static_cast<std::uint64_t>(std::popcount(mask));
}

void TraceBuilder::record_bulk(std::uint32_t instruction, LaneMask mask,
                               const std::vector<Address>& addresses, std::uint32_t bytes) {
  count(instruction, mask);
  if (code_[instruction].what.unit != isa::Unit::Memory) return;  // a copy between shared memories
  access_.where = Where::None;
  access_.lines.clear();
  if (mask != 0 && !addresses.empty()) {
    const Address last = *std::max_element(addresses.begin(), addresses.end());
    if (last > ~Address{0} - bytes)
      throw BuildError{fmt::format("a copy of {} bytes at 0x{:x} ends beyond 64 bits", bytes, last)};
    coalesce_bulk(access_, addresses, bytes);
    if (access_.lines.size() > kMaxTransactions) {
      throw BuildError{
          fmt::format("a bulk copy of {} lines; at most {}", access_.lines.size(), kMaxTransactions)};
    }
  }
  put_item();
}

void TraceBuilder::record(std::uint32_t instruction, LaneMask mask, const Addresses& addresses) {
  count(instruction, mask);
  const Code& code = code_[instruction];
  if (code.what.unit == isa::Unit::Memory) add_item(code.inst, code.what, mask, addresses);
}

void TraceBuilder::add_to_path(std::uint32_t instruction, LaneMask mask) {
  ++path_records_;
  if (run_length_ != 0 && instruction == run_begin_ + run_length_ && mask == run_mask_) {
    ++run_length_;
    return;
  }
  end_run();
  run_begin_ = instruction;
  run_length_ = 1;
  run_mask_ = mask;
}

void TraceBuilder::end_run() {
  if (run_length_ == 0) return;
  const bool jump = run_begin_ != expected_;
  const bool new_mask = run_mask_ != last_mask_;
  put_varint(path_bytes_, std::uint64_t{run_length_ - 1} << 2U | (new_mask ? 2U : 0U) | (jump ? 1U : 0U));
  if (jump) put_signed(path_bytes_, std::uint64_t{run_begin_} - expected_);
  if (new_mask) put_word32(path_bytes_, run_mask_);
  expected_ = run_begin_ + run_length_;
  last_mask_ = run_mask_;
  run_length_ = 0;
}

std::uint64_t TraceBuilder::translate_line(std::uint64_t line) {
  constexpr unsigned kShift = kPageShift - 7;  // page shift for line numbers
  const std::uint64_t page = line >> kShift;
  const auto found = std::find(pages_.begin(), pages_.end(), page);
  const auto number = static_cast<std::uint64_t>(found - pages_.begin());
  if (found == pages_.end()) {
    if (pages_.size() == kMostPages) {
      throw BuildError{fmt::format("addresses lie in more than {} regions of 4 GiB", kMostPages)};
    }
    pages_.push_back(page);
  }
  return number << kShift | (line & ((std::uint64_t{1} << kShift) - 1));
}

bool TraceBuilder::find_shape(std::uint64_t& number) {
  shape_key_.clear();
  shape_key_.push_back(static_cast<char>(access_.where));
  if (access_.where == Where::Shared) {
    for (const std::uint16_t passes : access_.passes) put_varint(shape_key_, passes);
  }
  if (access_.where == Where::Constant) put_varint(shape_key_, access_.passes[0]);
  put_varint(shape_key_, access_.lines.size());
  for (const LineAccess& line : access_.lines) {
    put_signed(shape_key_, line.line - access_.lines.front().line);
    put_varint(shape_key_, touched_by(line));
  }
  const auto found = shape_numbers_.find(shape_key_);
  if (found != shape_numbers_.end()) {
    number = found->second;
    return true;
  }
  // A shape of several distant lines rarely occurs twice. Such a shape gets a table entry only at its second
  // occurrence.
  constexpr std::size_t kMostRemembered = 1U << 22U;
  const bool cheap = access_.where != Where::Global || access_.lines.size() <= 1;
  if (!cheap && shapes_seen_.size() < kMostRemembered && shapes_seen_.insert(hash_of(shape_key_)).second)
    return false;
  if (!cheap && shapes_seen_.size() >= kMostRemembered) return false;
  number = shape_count_++;
  shapes_ += shape_key_;
  shape_numbers_.emplace(shape_key_, number);
  return true;
}

namespace {

void check_addresses(const TraceBuilder::Addresses& addresses, LaneMask mask, std::uint32_t bytes) {
  for (; mask != 0; mask &= mask - 1) {
    const Address at = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
    if (at > ~Address{0} - (bytes - 1))
      throw BuildError{fmt::format("an access of {} bytes at 0x{:x} ends beyond 64 bits", bytes, at)};
  }
}

}  // namespace

void TraceBuilder::add_item(const SassInst& inst, const SassClass& what, LaneMask mask,
                            const Addresses& addresses) {
  access_.where = Where::None;
  access_.lines.clear();
  if (what.space == SassSpace::Constant && inst.access_bytes == 0 && mask != 0) {
    access_.where = Where::Constant;  // unknown address: counts as a hit of one word
    access_.passes.fill(1);
  } else if (inst.access_bytes != 0 && mask != 0) {
    check_addresses(addresses, mask, inst.access_bytes);
    coalesce(access_, what.space, (what.flags & isa::kAtomic) != 0, header_.windows, addresses, mask,
             inst.access_bytes);
  }
  put_item();
}

void TraceBuilder::put_item() {
  if (access_.where == Where::Global) {
    for (LineAccess& line : access_.lines) line.line = translate_line(line.line);
    if (!has_base_) base_ = line_ = access_.lines.front().line;
    has_base_ = true;
  }
  if (access_.where == Where::Local) {
    for (const LineAccess& line : access_.lines) {
      local_low_ = std::min(local_low_, line.line);
      local_high_ = std::max(local_high_, line.line);
    }
  }
  std::uint64_t shape = 0;
  if (!find_shape(shape)) {
    put_varint(sequence_, 0);
    put_varint(sequence_, access_.lines.size());
    std::uint64_t last = line_;
    for (const LineAccess& line : access_.lines) {
      put_signed(sequence_, line.line - last);
      put_varint(sequence_, touched_by(line));
      last = line.line;
    }
    line_ = access_.lines.front().line;
    return;
  }
  put_varint(sequence_, shape + 1);
  if (access_.lines.empty()) return;
  const std::uint64_t first = access_.lines.front().line;
  if (access_.where == Where::Global) {
    put_signed(sequence_, first - line_);
    line_ = first;
  } else {
    put_varint(sequence_, first);
  }
}

std::uint64_t TraceBuilder::path_number() {
  const std::uint64_t hash = hash_of(path_bytes_);
  const auto [first, last] = path_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    Path& path = path_list_[at->second];
    if (std::string_view(paths_).substr(path.begin, path.end - path.begin) != path_bytes_) continue;
    ++path.uses;
    return at->second;
  }
  path_list_.push_back({paths_.size(), paths_.size() + path_bytes_.size(), path_records_, 1});
  paths_ += path_bytes_;
  path_by_hash_.emplace(hash, path_list_.size() - 1);
  return path_list_.size() - 1;
}

void TraceBuilder::end_warp() {
  end_run();
  WarpEntry& entry = warps_[warp_];
  entry.seen = true;
  entry.path = path_number();
  entry.sequence = sequence_;
  entry.base = base_;
}

void TraceBuilder::end_block() {
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (!warps_[w].seen) throw BuildError{fmt::format("the block has no warp {}", w)};
  }
  block_at_[block_index_] = body_.size() + 1;
  std::uint64_t base = 0;
  for (const WarpEntry& entry : warps_) {
    put_varint(body_, entry.path);
    if (entry.sequence.empty()) {
      put_varint(body_, kNoSequence);
      continue;
    }
    // In body_, the coded bytes start at `same->second`. If equal bytes exist already, the warp refers to
    // them.
    const std::uint64_t hash = hash_of(entry.sequence);
    const auto [first, last] = sequence_by_hash_.equal_range(hash);
    auto same = first;
    for (; same != last; ++same) {
      if (std::string_view(body_).substr(same->second).starts_with(entry.sequence)) break;
    }
    if (same != last) {
      put_varint(body_, same->second + 2);
      put_varint(body_, entry.sequence.size());
    } else {
      put_varint(body_, kInlineSequence);
      put_varint(body_, entry.sequence.size());
      sequence_by_hash_.emplace(hash, body_.size());
      body_ += entry.sequence;
    }
    put_signed(body_, entry.base - base);
    base = entry.base;
  }
}

std::uint64_t TraceBuilder::text_number(const std::string& text) {
  const auto [found, added] = text_numbers_.emplace(text, texts_.size());
  if (added) texts_.push_back(text);
  return found->second;
}

std::string TraceBuilder::encode_code() {
  std::string out;
  put_varint(out, code_.size());
  std::uint64_t last = 0;
  for (const Code& code : code_) {
    put_signed(out, code.pc - last);
    last = code.pc;
    put_varint(out, text_number(code.inst.opcode));
    out.push_back(static_cast<char>(code.inst.access_bytes));
    put_varint(out, static_cast<std::uint64_t>(code.inst.immediate + 1));
    out.push_back(static_cast<char>(code.inst.num_dst << 4U | code.inst.num_src));
    for (unsigned i = 0; i < code.inst.num_dst; ++i) out.push_back(static_cast<char>(code.inst.dst[i]));
    for (unsigned i = 0; i < code.inst.num_src; ++i) out.push_back(static_cast<char>(code.inst.src[i]));
  }
  return out;
}

void TraceBuilder::end_kernel() {
  if (block_at_.size() != header_.grid.count()) {
    throw BuildError{fmt::format("the trace ends after {} of the grid's {} blocks", block_at_.size(),
                                 header_.grid.count())};
  }
  std::string tables;
  put_varint(tables, path_list_.size());
  for (const Path& path : path_list_) {
    put_varint(tables, path.end - path.begin);
    put_varint(tables, path.records);
    put_varint(tables, path.uses);
  }
  tables += paths_;
  put_varint(tables, shape_count_);
  tables += shapes_;
  // Blocks are usually stored in order and contiguously. Then all numbers except the first are the sizes of
  // blocks.
  std::uint64_t last = 1;
  for (std::uint64_t index = 0; index < header_.grid.count(); ++index) {
    const std::uint64_t at = block_at_.at(index);
    put_signed(tables, at - last);
    last = at;
  }

  const std::uint64_t offset = output_.position();
  output_.append(body_);
  output_.append(tables);
  const std::string code = encode_code();
  const auto [known, added] = code_numbers_.emplace(code, code_count_);
  if (added) {
    codes_ += code;
    ++code_count_;
  }

  std::string& out = index_launches_;
  put_varint(out, text_number(header_.name));
  put_varint(out, header_.id);
  put_dim(out, header_.grid);
  put_dim(out, header_.block);
  put_varint(out, header_.shared_bytes);
  put_varint(out, header_.registers);
  put_varint(out, known->second);
  put_varint(out, local_low_ <= local_high_ ? local_low_ : 0);
  put_varint(out, local_low_ <= local_high_ ? local_high_ - local_low_ + 1 : 0);
  put_varint(out, warp_instructions_);
  put_varint(out, thread_instructions_);
  put_varint(out, offset);
  put_varint(out, body_.size());
  put_varint(out, tables.size());

  auto stream = std::find(streams_.begin(), streams_.end(), header_.stream);
  if (stream == streams_.end()) {
    streams_.push_back(header_.stream);
    stream = streams_.end() - 1;
  }
  put_varint(index_commands_, static_cast<std::uint64_t>(CommandKind::Launch));
  put_varint(index_commands_, launches_);
  put_varint(index_commands_, static_cast<std::uint64_t>(stream - streams_.begin()));
  ++commands_;
  ++launches_;
  all_warp_instructions_ += warp_instructions_;
}

void TraceBuilder::finish(std::uint32_t sm) {
  std::string index;
  put_varint(index, sm);
  put_varint(index, texts_.size());
  for (const std::string& text : texts_) put_text(index, text);
  put_varint(index, pages_.size());
  for (const std::uint64_t page : pages_) put_varint(index, page);
  put_varint(index, code_count_);
  index += codes_;
  put_varint(index, launches_);
  index += index_launches_;
  put_varint(index, streams_.size());
  for (const std::uint64_t stream : streams_) put_varint(index, stream);
  put_varint(index, commands_);
  index += index_commands_;
  const std::uint64_t offset = output_.position();
  output_.append(index);
  output_.finish(offset);
}

}  // namespace gpumux::trace
