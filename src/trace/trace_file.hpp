// An opened compact trace: its launches and commands, and access to the bytes that describe warps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "isa/timing_class.hpp"
#include "trace/bytes.hpp"
#include "trace/coalesce.hpp"
#include "trace/format.hpp"
#include "trace/sass.hpp"

namespace gpumux::trace {

/// The code that a launch executed. Entries are numbered as the paths number them; the machine's table has
/// them in the order of their addresses, with gaps where code was not executed, so that an instruction that
/// follows another in memory follows it in the table.
struct Code {
  struct Entry {
    std::uint32_t pc = 0;     // in the trace: bytes from the function's begin
    std::uint32_t index = 0;  // in the table
    SassInst inst;
  };
  std::vector<Entry> entries;
  std::vector<isa::StaticInst> table;
  std::vector<std::uint32_t> entry_at;  // by table index; entries.size() in gaps
};

struct Launch {
  std::string kernel;
  std::uint64_t id = 0;
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;
  std::uint32_t registers = 0;
  std::uint32_t code = 0;         // index into Trace::codes
  std::uint64_t local_low = 0;    // first word of the frame that is touched
  std::uint64_t local_words = 0;  // words from there on
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::span<const std::uint8_t> body;    // blocks
  std::span<const std::uint8_t> tables;  // paths, shapes, where blocks are
  [[nodiscard]] std::uint32_t warps() const {
    return static_cast<std::uint32_t>((block.count() + kWarpSize - 1) / kWarpSize);
  }
};

struct Command {
  CommandKind kind = CommandKind::Launch;
  std::uint64_t launch = 0;  // Launch: index into Trace::launches
  std::uint32_t stream = 0;  // Launch: index of its stream
  Address address = 0;       // copies, in the trace's renumbered addresses
  std::uint64_t bytes = 0;
};

class Trace {
 public:
  /// Maps the file and checks it. Throws UserError.
  static std::shared_ptr<const Trace> open(const std::string& path);
  /// The same from memory; `name` is what messages call it.
  static std::shared_ptr<const Trace> from_bytes(std::string bytes, std::string name);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// A hash of the contents.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  [[nodiscard]] std::uint32_t sm() const { return sm_; }
  [[nodiscard]] std::uint32_t streams() const { return streams_; }
  [[nodiscard]] const std::vector<Launch>& launches() const { return launches_; }
  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }
  [[nodiscard]] const Code& code(const Launch& launch) const { return codes_[launch.code]; }
  [[nodiscard]] std::uint64_t warp_instructions() const;
  /// Of the compact form.
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  /// Throws the UserError that says what is wrong with this file.
  [[noreturn]] void fail(const CorruptTrace& corrupt) const;

 private:
  explicit Trace(std::string name) : name_(std::move(name)) {}
  void read();
  void read_index(ByteReader reader, std::uint64_t index_offset);
  void read_code(ByteReader& reader, const std::vector<std::string>& texts);

  std::string name_;
  std::string identity_;
  std::string storage_;      // of a trace in memory
  void* mapping_ = nullptr;  // of a file
  std::span<const std::uint8_t> bytes_;
  std::uint32_t sm_ = 0;
  std::uint32_t streams_ = 0;
  std::vector<Code> codes_;
  std::vector<Launch> launches_;
  std::vector<Command> commands_;
};

/// What a memory instruction does, apart from where: transactions relative to the first line.
struct Shape {
  workload::MemHeader::Where where = workload::MemHeader::Where::None;
  std::array<std::uint16_t, kBankCounts> passes{};
  std::uint32_t first = 0;  // of its words in LaunchTables::words
  std::uint16_t count = 0;
};

/// A sequence of executed instructions that warps share.
struct Path {
  std::span<const std::uint8_t> runs;
  std::uint32_t records = 0;
  std::uint64_t uses = 0;  // warps
};

/// A launch's tables, decoded when it begins.
struct LaunchTables {
  std::vector<Path> paths;
  std::vector<Shape> shapes;
  std::vector<std::uint64_t> words;     // workload::Transaction, lines modulo 2^54 relative to the first
  std::vector<std::uint64_t> block_at;  // offsets in the body
};
/// Throws CorruptTrace.
[[nodiscard]] LaunchTables read_tables(const Launch& launch);

}  // namespace gpumux::trace
