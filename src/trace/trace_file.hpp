// An opened compact trace: its launches and commands, and the bytes that describe its warps.
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

/// The code that a launch executed. Paths refer to instructions by entry number. The static table has the
/// entries in the order of their addresses, with gaps for code that was not executed, so that an instruction
/// that follows another in memory also follows it in the table.
struct Code {
  struct Entry {
    std::uint32_t pc = 0;     // in the trace: bytes from the start of the function
    std::uint32_t index = 0;  // in the table
    SassInst inst;
  };
  std::vector<Entry> entries;
  std::vector<isa::StaticInst> table;
  std::vector<std::uint32_t> entry_at;  // by table index; entries.size() for gaps
};

struct Launch {
  std::string kernel;
  std::uint64_t id = 0;
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;
  std::uint32_t registers = 0;
  std::uint32_t code = 0;         // index into Trace::codes
  std::uint64_t local_low = 0;    // first touched word of the frame
  std::uint64_t local_words = 0;  // number of words from there to the last touched one
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::span<const std::uint8_t> body;    // data of the blocks
  std::span<const std::uint8_t> tables;  // paths, shapes, and positions of the blocks
  [[nodiscard]] std::uint32_t warps() const {
    return static_cast<std::uint32_t>((block.count() + kWarpSize - 1) / kWarpSize);
  }
};

struct Command {
  CommandKind kind = CommandKind::Launch;
  std::uint64_t launch = 0;  // Launch: index into Trace::launches
  std::uint32_t stream = 0;  // Launch: index of the stream
  Address address = 0;       // copies: in the trace's renumbered addresses
  std::uint64_t bytes = 0;
};

class Trace {
 public:
  /// Maps and checks a file. Throws UserError.
  static std::shared_ptr<const Trace> open(const std::string& path);
  /// Opens a trace in memory. `name` is for messages. Throws UserError.
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
  /// Size of the compact form in bytes.
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  /// Throws UserError with the file's name and the error.
  [[noreturn]] void fail(const CorruptTrace& corrupt) const;

 private:
  explicit Trace(std::string name) : name_(std::move(name)) {}
  void read();
  void read_index(ByteReader reader, std::uint64_t index_offset);
  void read_code(ByteReader& reader, const std::vector<std::string>& texts);

  std::string name_;
  std::string identity_;
  std::string storage_;      // for a trace in memory
  void* mapping_ = nullptr;  // for a file
  std::span<const std::uint8_t> bytes_;
  std::uint32_t sm_ = 0;
  std::uint32_t streams_ = 0;
  std::vector<Code> codes_;
  std::vector<Launch> launches_;
  std::vector<Command> commands_;
};

/// A memory instruction without its position: transactions with lines relative to the first line.
struct Shape {
  workload::MemHeader::Where where = workload::MemHeader::Where::None;
  std::array<std::uint16_t, kBankCounts> passes{};
  std::uint32_t first = 0;  // index of its first word in LaunchTables::words
  std::uint16_t count = 0;
};

/// A sequence of executed instructions that warps share.
struct Path {
  std::span<const std::uint8_t> runs;
  std::uint32_t records = 0;
  std::uint64_t uses = 0;  // number of warps that use the path
};

/// The decoded tables of a launch.
struct LaunchTables {
  std::vector<Path> paths;
  std::vector<Shape> shapes;
  std::vector<std::uint64_t> words;     // workload::Transaction with lines relative to the first, modulo 2^54
  std::vector<std::uint64_t> block_at;  // offsets in the body
};
/// Decodes the tables of a launch. Throws CorruptTrace.
[[nodiscard]] LaunchTables read_tables(const Launch& launch);

}  // namespace gpumux::trace
