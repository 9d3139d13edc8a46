#include "trace/trace_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace gpumux::trace {
namespace {

using Where = workload::MemHeader::Where;

constexpr std::uint64_t kMostEntries = kMostCodeBytes;  // entries of code: one for each byte

std::uint64_t word64(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

Dim3 read_dim(ByteReader& reader) {
  Dim3 d;
  for (std::uint32_t* part : {&d.x, &d.y, &d.z}) {
    *part = static_cast<std::uint32_t>(reader.varint_up_to(~std::uint32_t{0}, "a dimension is too large"));
    if (*part == 0) throw CorruptTrace{"a dimension is 0"};
  }
  return d;
}

/// Numbers the instructions of a function such that instructions that are adjacent in memory have consecutive
/// numbers.
class InstructionNumbers {
 public:
  InstructionNumbers(const std::vector<Code::Entry>& entries, std::uint32_t sm) {
    std::uint32_t bits = 16;
    bool bundles = sm < 70;  // 32 bytes hold three instructions after a word of scheduling data
    for (const Code::Entry& entry : entries) {
      bits |= entry.pc;
      bundles = bundles && entry.pc % 8 == 0 && entry.pc % 32 != 0;
    }
    bundles_ = bundles;
    shift_ = static_cast<unsigned>(std::countr_zero(bits));
  }
  [[nodiscard]] std::uint32_t operator()(std::uint32_t pc) const {
    return bundles_ ? pc / 32 * 3 + pc % 32 / 8 - 1 : pc >> shift_;
  }

 private:
  bool bundles_ = false;
  unsigned shift_ = 4;
};

/// Assigns entries to indices of the static table. A gap takes one index, whatever its length. If a pc has
/// several instructions (called functions have their own offsets), second instructions follow after all first
/// ones.
void place_entries(Code& code, std::uint32_t sm) {
  const InstructionNumbers number(code.entries, sm);
  std::vector<std::uint32_t> order(code.entries.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return code.entries[a].pc < code.entries[b].pc; });
  const bool async_copies = std::any_of(code.entries.begin(), code.entries.end(), [](const Code::Entry& e) {
    return e.inst.opcode.starts_with("LDGSTS");
  });
  const auto gap = static_cast<std::uint32_t>(code.entries.size());
  const auto add_gap = [&] {
    isa::StaticInst nothing;
    nothing.unit = isa::Unit::Control;
    nothing.latency_class = isa::LatencyClass::Control;
    code.table.push_back(nothing);
    code.entry_at.push_back(gap);
  };
  while (!order.empty()) {
    std::vector<std::uint32_t> later;
    std::uint32_t last = 0;
    bool first = true;
    for (const std::uint32_t e : order) {
      Code::Entry& entry = code.entries[e];
      const std::uint32_t n = number(entry.pc);
      if (!first && n == last) {
        later.push_back(e);
        continue;
      }
      const bool behind_gap = first ? !code.table.empty() : n != last + 1;
      if (behind_gap) add_gap();
      first = false;
      last = n;
      entry.index = static_cast<std::uint32_t>(code.table.size());
      code.table.push_back(static_inst(entry.inst, async_copies));
      if (behind_gap) code.table.back().flags |= isa::kLeader;
      code.entry_at.push_back(e);
    }
    order = std::move(later);
  }
}

}  // namespace

std::shared_ptr<const Trace> Trace::open(const std::string& path) {
  const auto fail = [&path](const std::string& what) {
    throw UserError({path}, fmt::format("cannot be read ({})", what));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(std::strerror(errno));
  struct Close {
    int file;
    ~Close() { ::close(file); }
  } close{file};
  struct stat status {};
  if (::fstat(file, &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("it is no regular file");
  auto trace = std::shared_ptr<Trace>(new Trace(path));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > 0) {
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (mapping == MAP_FAILED) fail(std::strerror(errno));
    trace->mapping_ = mapping;
    trace->bytes_ = {static_cast<const std::uint8_t*>(mapping), size};
  }
  trace->read();
  return trace;
}

std::shared_ptr<const Trace> Trace::from_bytes(std::string bytes, std::string name) {
  auto trace = std::shared_ptr<Trace>(new Trace(std::move(name)));
  trace->storage_ = std::move(bytes);
  trace->bytes_ = {reinterpret_cast<const std::uint8_t*>(trace->storage_.data()), trace->storage_.size()};
  trace->read();
  return trace;
}

Trace::~Trace() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

void Trace::fail(const CorruptTrace& corrupt) const {
  throw UserError({name_},
                  fmt::format("is a damaged trace: {}; convert it again from its text", corrupt.what));
}

std::uint64_t Trace::warp_instructions() const {
  std::uint64_t sum = 0;
  for (const Launch& launch : launches_) sum += launch.warp_instructions;
  return sum;
}

void Trace::read() {
  const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  if (!all.starts_with(kMagic)) {
    if (all.substr(0, kMagic.size() - 1) == kMagic.substr(0, kMagic.size() - 1)) {
      throw UserError({name_}, "is a compact trace of another version; convert it again from its text");
    }
    throw UserError({name_}, "is no compact trace (gpumux convert FOLDER -o FILE.gmt makes one)");
  }
  try {
    if (bytes_.size() < kHeaderBytes) throw CorruptTrace{"it ends too early"};
    const std::uint64_t size = word64(bytes_, 8);
    if (size != bytes_.size()) throw CorruptTrace{"its size is not what its header says"};
    const std::uint64_t index = word64(bytes_, 24);
    if (index < kHeaderBytes || index > size) throw CorruptTrace{"its index lies outside"};
    Checksum sum;
    sum.add(all.substr(kHeaderBytes));
    if (sum.value() != word64(bytes_, 16)) throw CorruptTrace{"its checksum is wrong"};
    identity_ = fmt::format("trace {:016x} {}", sum.value(), size);
    read_index(ByteReader(bytes_.subspan(index)), index);
  } catch (const CorruptTrace& corrupt) {
    fail(corrupt);
  }
}

void Trace::read_code(ByteReader& reader, const std::vector<std::string>& texts) {
  Code code;
  const std::uint64_t entries = reader.varint_up_to(kMostEntries, "too much code");
  std::uint64_t pc = 0;
  for (std::uint64_t i = 0; i < entries; ++i) {
    Code::Entry entry;
    pc += reader.signed_varint();
    if (pc >= kMostCodeBytes) throw CorruptTrace{"a pc is too large"};
    entry.pc = static_cast<std::uint32_t>(pc);
    const std::uint64_t text = reader.varint();
    if (text >= texts.size()) throw CorruptTrace{"an opcode is missing"};
    entry.inst.opcode = texts[text];
    if (!classify_opcode(entry.inst.opcode)) throw CorruptTrace{"an opcode is unknown"};
    entry.inst.access_bytes = reader.byte();
    entry.inst.immediate = static_cast<std::int64_t>(reader.varint()) - 1;
    const std::uint8_t counts = reader.byte();
    entry.inst.num_dst = counts >> 4U;
    entry.inst.num_src = counts & 15U;
    if (entry.inst.num_dst > kMaxRegisters || entry.inst.num_src > kMaxRegisters) {
      throw CorruptTrace{"an instruction has too many registers"};
    }
    for (unsigned k = 0; k < entry.inst.num_dst; ++k) entry.inst.dst[k] = reader.byte();
    for (unsigned k = 0; k < entry.inst.num_src; ++k) entry.inst.src[k] = reader.byte();
    code.entries.push_back(std::move(entry));
  }
  place_entries(code, sm_);
  codes_.push_back(std::move(code));
}

void Trace::read_index(ByteReader reader, std::uint64_t index_offset) {
  sm_ = static_cast<std::uint32_t>(reader.varint_up_to(999, "its SASS version is impossible"));
  std::vector<std::string> texts;
  for (std::uint64_t left = reader.varint(); left > 0; --left) texts.push_back(reader.text());
  for (std::uint64_t left = reader.varint_up_to(kMostPages, "too many pages"); left > 0; --left)
    (void)reader.varint();
  for (std::uint64_t left = reader.varint(); left > 0; --left) read_code(reader, texts);
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    Launch launch;
    const std::uint64_t text = reader.varint();
    if (text >= texts.size()) throw CorruptTrace{"a kernel has no name"};
    launch.kernel = texts[text];
    launch.id = reader.varint();
    launch.grid = read_dim(reader);
    launch.block = read_dim(reader);
    if (launch.block.x > kMostThreads || launch.block.y > kMostThreads || launch.block.z > kMostThreads ||
        launch.block.count() > kMostThreads || launch.grid.x > kMostBlocks || launch.grid.y > kMostBlocks ||
        launch.grid.z > kMostBlocks || launch.grid.x * std::uint64_t{launch.grid.y} > kMostBlocks ||
        launch.grid.count() > kMostBlocks) {
      throw CorruptTrace{"a launch is too large"};
    }
    launch.shared_bytes =
        static_cast<std::uint32_t>(reader.varint_up_to(1U << 24U, "too much shared memory"));
    launch.registers =
        static_cast<std::uint32_t>(reader.varint_up_to(kZeroRegister + 1U, "too many registers"));
    launch.code = static_cast<std::uint32_t>(reader.varint_up_to(~std::uint32_t{0}, "its code is missing"));
    if (launch.code >= codes_.size()) throw CorruptTrace{"its code is missing"};
    launch.local_low = reader.varint_up_to(Windows::kBytes, "its local memory is too large");
    launch.local_words = reader.varint_up_to(Windows::kBytes, "its local memory is too large");
    launch.warp_instructions = reader.varint();
    launch.thread_instructions = reader.varint();
    const std::uint64_t offset = reader.varint();
    const std::uint64_t body = reader.varint();
    const std::uint64_t tables = reader.varint();
    if (offset < kHeaderBytes || offset > index_offset || body > index_offset - offset ||
        tables > index_offset - offset - body) {
      throw CorruptTrace{"a launch lies outside"};
    }
    launch.body = bytes_.subspan(offset, body);
    launch.tables = bytes_.subspan(offset + body, tables);
    launches_.push_back(std::move(launch));
  }
  streams_ = static_cast<std::uint32_t>(reader.varint_up_to(reader.left(), "too many streams"));
  for (std::uint32_t i = 0; i < streams_; ++i) (void)reader.varint();
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    Command command;
    const std::uint64_t kind = reader.varint_up_to(2, "a command is unknown");
    command.kind = static_cast<CommandKind>(kind);
    if (command.kind == CommandKind::Launch) {
      command.launch = reader.varint();
      command.stream = static_cast<std::uint32_t>(reader.varint_up_to(streams_, "a stream is missing"));
      if (command.launch >= launches_.size() || command.stream >= streams_) {
        throw CorruptTrace{"a launch is missing"};
      }
    } else {
      constexpr std::uint64_t kMost = std::uint64_t{kMostPages} << kPageShift;
      command.address = reader.varint_up_to(kMost, "a copy is too large");
      command.bytes = reader.varint_up_to(kMost - command.address, "a copy is too large");
    }
    commands_.push_back(command);
  }
  if (!reader.done()) throw CorruptTrace{"something follows its index"};
}

LaunchTables read_tables(const Launch& launch) {
  LaunchTables tables;
  ByteReader reader(launch.tables);
  const std::uint64_t paths = reader.varint();
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < paths; ++i) {
    sizes.push_back(reader.varint());
    Path path;
    path.records =
        static_cast<std::uint32_t>(reader.varint_up_to(~std::uint32_t{0} - 64, "a warp is too long"));
    path.uses = reader.varint();
    tables.paths.push_back(path);
  }
  for (std::uint64_t i = 0; i < paths; ++i) tables.paths[i].runs = reader.bytes(sizes[i]);
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    Shape shape;
    const std::uint8_t where = reader.byte();
    if (where > static_cast<std::uint8_t>(Where::None)) throw CorruptTrace{"an address space is unknown"};
    shape.where = static_cast<Where>(where);
    constexpr std::uint64_t kMostPasses = 4096;
    if (shape.where == Where::Shared) {
      for (std::uint16_t& passes : shape.passes) {
        passes = static_cast<std::uint16_t>(reader.varint_up_to(kMostPasses, "too many passes"));
      }
    }
    if (shape.where == Where::Constant) {
      shape.passes.fill(static_cast<std::uint16_t>(reader.varint_up_to(kMostPasses, "too many passes")));
    }
    shape.first = static_cast<std::uint32_t>(tables.words.size());
    shape.count = static_cast<std::uint16_t>(reader.varint_up_to(kMaxTransactions, "too many lines"));
    for (unsigned i = 0; i < shape.count; ++i) {
      const std::uint64_t line = reader.signed_varint();
      const std::uint64_t touched = reader.varint_up_to(kMostTouched, "a line is impossible");
      if ((touched & 0xfU) == 0) throw CorruptTrace{"a line without sectors"};
      tables.words.push_back(transaction_of(line, touched).word);
    }
    if (shape.count == 0 && (shape.where == Where::Global || shape.where == Where::Local)) {
      throw CorruptTrace{"an access without lines"};
    }
    tables.shapes.push_back(shape);
  }
  std::uint64_t at = 1;
  for (std::uint64_t left = launch.grid.count(); left > 0; --left) {
    at += reader.signed_varint();
    if (at == 0 || at - 1 > launch.body.size()) throw CorruptTrace{"a block lies outside"};
    tables.block_at.push_back(at - 1);
  }
  if (!reader.done()) throw CorruptTrace{"something follows a launch's tables"};
  return tables;
}

}  // namespace gpumux::trace
