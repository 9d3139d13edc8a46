// Builds the compact form of a trace from its launches, blocks, warps and instructions, in the order of their
// appearance.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/types.hpp"
#include "trace/coalesce.hpp"
#include "trace/format.hpp"
#include "trace/output.hpp"
#include "trace/sass.hpp"

namespace gpumux::trace {

/// An error in the trace that is being built. The caller adds the position.
struct BuildError {
  std::string what;
};

/// A kernel launch, without its blocks.
struct KernelHeader {
  std::string name;
  std::uint64_t id = 0;  // of the launch, in the trace's numbering
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;  // per block
  std::uint32_t registers = 0;     // per thread
  std::uint64_t stream = 0;
  Windows windows;
  [[nodiscard]] std::uint32_t warps() const {
    return static_cast<std::uint32_t>((block.count() + kWarpSize - 1) / kWarpSize);
  }
};

/// Writer of the compact form. Order of calls: (copy | begin_kernel (begin_block (begin_warp record*
/// end_warp)* end_block)* end_kernel)* finish. Throws BuildError for inconsistent numbers, and the exceptions
/// of the output.
class TraceBuilder {
 public:
  using Addresses = std::array<Address, kWarpSize>;

  explicit TraceBuilder(Output& output) : output_(output) {}

  void copy(bool to_device, Address address, std::uint64_t bytes);
  void begin_kernel(const KernelHeader& header);
  /// Starts the block `index` of the grid (x fastest). Blocks may come in any order.
  void begin_block(std::uint64_t index);
  void begin_warp(std::uint32_t warp);
  /// Registers an instruction of this kernel and returns its number for record().
  std::uint32_t instruction(std::uint32_t pc, const SassInst& inst);
  [[nodiscard]] bool has_addresses(std::uint32_t instruction) const;
  /// Adds an executed instruction. `addresses`: one for each lane in `mask`, if the instruction accesses
  /// memory.
  void record(std::uint32_t instruction, LaneMask mask, const Addresses& addresses);
  /// Adds an executed bulk copy of `bytes` at each of the addresses.
  void record_bulk(std::uint32_t instruction, LaneMask mask, const std::vector<Address>& addresses,
                   std::uint32_t bytes);
  void end_warp();
  void end_block();
  void end_kernel();
  /// Completes the trace. `sm`: its SASS version, 70 for sm_70.
  void finish(std::uint32_t sm);

  [[nodiscard]] std::uint64_t warp_instructions() const { return all_warp_instructions_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

 private:
  struct Code {
    std::uint32_t pc;
    SassInst inst;
    SassClass what;
  };
  struct Path {
    std::uint64_t begin;  // offset in paths_
    std::uint64_t end;
    std::uint32_t records;
    std::uint64_t uses;
  };
  void add_to_path(std::uint32_t instruction, LaneMask mask);
  void end_run();
  void count(std::uint32_t instruction, LaneMask mask);
  void add_item(const SassInst& inst, const SassClass& what, LaneMask mask, const Addresses& addresses);
  /// Appends the item of the access in access_.
  void put_item();
  /// Looks up the number of the access's shape, and adds the shape to the table if it is worth it. Returns
  /// false if the shape has no number.
  bool find_shape(std::uint64_t& number);
  std::uint64_t translate_line(std::uint64_t line);
  std::uint64_t path_number();
  std::uint64_t text_number(const std::string& text);
  std::string encode_code();

  Output& output_;
  std::string index_launches_;
  std::string index_commands_;
  std::string codes_;
  std::uint64_t code_count_ = 0;
  std::unordered_map<std::string, std::uint64_t> code_numbers_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint64_t> text_numbers_;
  std::vector<std::uint64_t> pages_;
  std::uint64_t launches_ = 0;
  std::uint64_t commands_ = 0;
  std::vector<std::uint64_t> streams_;
  std::uint64_t all_warp_instructions_ = 0;

  // State of the current launch.
  KernelHeader header_;
  std::uint64_t warp_instructions_ = 0;
  std::uint64_t thread_instructions_ = 0;
  std::vector<Code> code_;
  std::unordered_multimap<std::uint32_t, std::uint32_t> code_by_pc_;
  std::string body_;
  std::unordered_map<std::uint64_t, std::uint64_t> block_at_;  // by block index: offset in body_ + 1
  std::string paths_;
  std::vector<Path> path_list_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> path_by_hash_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> sequence_by_hash_;
  std::string shapes_;
  std::uint64_t shape_count_ = 0;
  std::unordered_map<std::string, std::uint64_t> shape_numbers_;
  std::unordered_set<std::uint64_t> shapes_seen_;
  std::uint64_t local_low_ = ~std::uint64_t{0};
  std::uint64_t local_high_ = 0;

  // State of the current block and warp.
  struct WarpEntry {
    bool seen = false;
    std::uint64_t path = 0;
    std::string sequence;
    std::uint64_t base = 0;
  };
  std::vector<WarpEntry> warps_;
  std::uint64_t block_index_ = 0;
  std::uint32_t warp_ = 0;
  std::string path_bytes_;
  std::uint32_t path_records_ = 0;
  std::uint32_t expected_ = 0;
  std::uint32_t run_begin_ = 0;
  std::uint32_t run_length_ = 0;
  LaneMask run_mask_ = 0;
  LaneMask last_mask_ = 0;
  std::string sequence_;
  bool has_base_ = false;
  std::uint64_t base_ = 0;
  std::uint64_t line_ = 0;  // line of the last global access
  MemoryAccess access_;
  std::string shape_key_;
};

}  // namespace gpumux::trace
