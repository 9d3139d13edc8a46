#include "trace/kernel_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trace/cursor.hpp"
#include "trace/lines.hpp"

namespace gpumux::trace {

void Cursor::end(const char* after) const {
  if (!done()) fail(fmt::format("'{}' follows {}; nothing was expected", rest().substr(0, 40), after));
}

void Cursor::fail_missing(const char* what) const {
  fail(fmt::format("the line ends where {} was expected", what));
}

void Cursor::fail_number(const char* what, const char* first, const char* expected) const {
  if (first == end_) fail_missing(what);
  const std::string_view all(first, static_cast<std::size_t>(end_ - first));
  fail_at(first, fmt::format("'{}' is no {}; {} was expected",
                             all.substr(0, std::min<std::size_t>(40, all.find(' '))), what, expected));
}

namespace {

constexpr std::array<std::uint32_t, 17> kSassVersions = {60, 61, 62,  70,  72,  75,  80,  86, 87,
                                                         89, 90, 100, 101, 103, 110, 120, 121};
constexpr std::uint32_t kFirstTracer = 3;
constexpr std::uint32_t kLastTracer = 6;
constexpr std::uint32_t kTracerWithValues = 6;  // has values of registers and a second immediate
constexpr std::uint32_t kMostAccessBytes = 16;
constexpr std::uint32_t kMostBulkBytes = 1U << 18U;  // at one address; more than any shared memory
constexpr std::uint32_t kMostBulkAddresses = 1U << 18U;

class KernelReader {
 public:
  KernelReader(const std::string& path, TraceVersions& versions, TraceBuilder& builder)
      : lines_(path), versions_(versions), builder_(builder), cache_(kCacheSize) {}

  void read() {
    read_header();
    try {
      builder_.begin_kernel(header_);
      while (next_line()) {
        if (line_ != "#BEGIN_TB") fail("#BEGIN_TB was expected");
        read_block();
      }
      builder_.end_kernel();
    } catch (const BuildError& error) {
      fail(error.what);
    }
  }

 private:
  /// Reads the next line that is not blank, without spaces around it.
  bool next_line() {
    while (lines_.next(line_)) {
      line_ = trim(line_);
      if (!line_.empty()) return true;
    }
    return false;
  }
  [[noreturn]] void fail(const std::string& what) const { lines_.fail(what); }

  // --- header -----------------------------------------------------------------------------------
  /// The value of a header line "-KEY = VALUE", or nothing if the line has another key.
  [[nodiscard]] std::optional<std::string_view> value_of(std::string_view key) const {
    if (!line_.starts_with(key)) return std::nullopt;
    std::string_view rest = line_.substr(key.size());
    rest = trim(rest);
    if (rest.empty() || rest.front() != '=') return std::nullopt;
    return trim(rest.substr(1));
  }
  std::uint64_t number(const char* what, std::string_view text, std::uint64_t most) const {
    const std::optional<std::uint64_t> value = parse_uint(text);
    if (!value || *value > most) {
      lines_.fail(fmt::format("'{}' is no {}; a number of at most {} was expected", text, what, most),
                  text.data());
    }
    return *value;
  }
  Dim3 dimensions(const char* what, std::string_view text, std::uint64_t most) const {
    const auto wrong = [&] {
      lines_.fail(
          fmt::format("'{}' is no {}; (X,Y,Z) with numbers from 1 to {} was expected", text, what, most),
          text.data());
    };
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') wrong();
    const std::vector<std::string> parts = split(text.substr(1, text.size() - 2), ',');
    if (parts.size() != 3) wrong();
    Dim3 d;
    std::uint32_t* const places[] = {&d.x, &d.y, &d.z};
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::optional<std::uint64_t> value = parse_uint(trim(parts[i]));
      if (!value || *value == 0 || *value > most || (product *= *value) > most) wrong();
      *places[i] = static_cast<std::uint32_t>(*value);
    }
    return d;
  }

  void read_header() {
    bool grid = false;
    bool block = false;
    bool registers = false;
    std::uint32_t tracer = 0;
    std::uint32_t sm = 0;
    while (true) {
      if (!next_line()) fail("the file ends within the kernel's header");
      if (line_.starts_with("#traces format")) break;
      if (line_.front() != '-') {
        fail(fmt::format("'{}' is no line of a kernel's header (-KEY = VALUE, up to #traces format)",
                         line_.substr(0, 40)));
      }
      if (const auto name = value_of("-kernel name")) {
        header_.name = *name;
      } else if (const auto id = value_of("-kernel id")) {
        header_.id = number("kernel id", *id, ~std::uint64_t{0});
      } else if (const auto dim = value_of("-grid dim")) {
        header_.grid = dimensions("grid", *dim, kMostBlocks);
        grid = true;
      } else if (const auto threads = value_of("-block dim")) {
        header_.block = dimensions("block", *threads, kMostThreads);
        block = true;
      } else if (const auto shared = value_of("-shmem")) {
        header_.shared_bytes =
            static_cast<std::uint32_t>(number("size of shared memory", *shared, Windows::kBytes));
      } else if (const auto regs = value_of("-nregs")) {
        header_.registers =
            static_cast<std::uint32_t>(number("number of registers", *regs, kZeroRegister + 1U));
        registers = true;
      } else if (const auto version = value_of("-binary version")) {
        sm = static_cast<std::uint32_t>(number("SASS version", *version, 999));
        check_sm(sm);
      } else if (const auto stream = value_of("-cuda stream id")) {
        header_.stream = number("stream", *stream, ~std::uint64_t{0});
      } else if (const auto shared_base = value_of("-shmem base_addr")) {
        header_.windows.shared_base = address(*shared_base);
      } else if (const auto local_base = value_of("-local mem base_addr")) {
        header_.windows.local_base = address(*local_base);
      } else if (const auto trace = value_of("-accelsim tracer version")) {
        tracer = static_cast<std::uint32_t>(number("tracer version", *trace, 999));
        check_tracer(tracer);
        has_values_ = tracer >= kTracerWithValues;
      } else if (const auto info = value_of("-enable lineinfo")) {
        line_info_ = number("0 or 1", *info, 1) != 0;
      }  // other keys do not affect execution
    }
    for (const auto& [given, key] : {std::pair{!header_.name.empty(), "-kernel name"},
                                     {grid, "-grid dim"},
                                     {block, "-block dim"},
                                     {registers, "-nregs"},
                                     {sm != 0, "-binary version"},
                                     {tracer != 0, "-accelsim tracer version"}}) {
      if (!given) fail(fmt::format("the kernel's header has no '{}'", key));
    }
  }

  Address address(std::string_view text) const {
    Cursor cursor(lines_, text);
    const Address value = cursor.hex("address");
    cursor.end("the address");
    return value;
  }

  void check_sm(std::uint32_t sm) {
    if (std::find(kSassVersions.begin(), kSassVersions.end(), sm) == kSassVersions.end()) {
      fail(fmt::format("SASS version {} is not supported; known: {}", sm, fmt::join(kSassVersions, ", ")));
    }
    if (versions_.sm == 0) versions_.sm = sm;
    if (versions_.sm / 10 != sm / 10) {  // sm_80 code runs on sm_86, sm_70 code does not
      fail(fmt::format("SASS version {} in a trace that began with {}: no GPU runs both", sm, versions_.sm));
    }
  }
  void check_tracer(std::uint32_t tracer) {
    if (tracer < kFirstTracer || tracer > kLastTracer) {
      fail(fmt::format("tracer version {} is not supported; known: {} to {}", tracer, kFirstTracer,
                       kLastTracer));
    }
    if (versions_.tracer == 0) versions_.tracer = tracer;
    if (versions_.tracer != tracer) {
      fail(fmt::format("tracer version {} in a trace that began with version {}", tracer, versions_.tracer));
    }
  }

  // --- blocks -----------------------------------------------------------------------------------
  std::string_view expect(const char* key) {
    if (!next_line()) fail(fmt::format("the file ends where '{} = ' was expected", key));
    const auto value = value_of(key);
    if (!value) fail(fmt::format("'{}' where '{} = ' was expected", line_.substr(0, 40), key));
    return *value;
  }

  void read_block() {
    const std::string_view text = expect("thread block");
    const std::vector<std::string> parts = split(text, ',');
    const std::array<std::uint32_t, 3> size = {header_.grid.x, header_.grid.y, header_.grid.z};
    std::array<std::uint64_t, 3> at{};
    bool good = parts.size() == 3;
    for (std::size_t i = 0; good && i < 3; ++i) {
      const std::optional<std::uint64_t> value = parse_uint(trim(parts[i]));
      good = value && *value < size[i];
      if (good) at[i] = *value;
    }
    if (!good) {
      lines_.fail(fmt::format("'{}' is no block of a grid of ({},{},{})", text, size[0], size[1], size[2]),
                  text.data());
    }
    builder_.begin_block(at[0] + size[0] * (at[1] + std::uint64_t{size[1]} * at[2]));
    while (true) {
      if (!next_line()) fail("the file ends within a block (no #END_TB)");
      if (line_ == "#END_TB") break;
      // The position in a cluster is ignored: blocks of a cluster are dispatched like other blocks.
      if (value_of("cluster id") || value_of("cluster cta") || value_of("cluster rank")) continue;
      const auto warp = value_of("warp");
      if (!warp) fail(fmt::format("'{}' where 'warp = ' or #END_TB was expected", line_.substr(0, 40)));
      read_warp(static_cast<std::uint32_t>(number("warp", *warp, kMostWarps - 1)));
    }
    builder_.end_block();
  }

  void read_warp(std::uint32_t warp) {
    builder_.begin_warp(warp);
    const std::uint64_t count = number("number of instructions", expect("insts"), ~std::uint32_t{0} - 64U);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!next_line()) {
        fail(fmt::format("the file ends after {} of the warp's {} instructions", i, count));
      }
      if (line_.front() == '#' || line_.front() == 'w' || line_.front() == '-') {
        fail(fmt::format("'{}' after {} of the warp's {} instructions", line_.substr(0, 40), i, count));
      }
      read_instruction();
    }
    builder_.end_warp();
  }

  // --- instructions -----------------------------------------------------------------------------
  /// The part of an instruction line between mask and addresses, which is the same at each execution.
  struct Known {
    std::uint32_t pc = ~std::uint32_t{0};
    std::uint32_t id = 0;
    bool has_addresses = false;
    unsigned listed = 0;  // number of listed registers
    std::string text;
  };
  static constexpr std::size_t kCacheSize = 1U << 14U;

  void read_instruction() {
    Cursor cursor(lines_, line_);
    if (line_info_) (void)cursor.decimal("source line", ~std::uint32_t{0});
    const auto pc = static_cast<std::uint32_t>(cursor.hex("pc", 8));
    const auto mask = static_cast<LaneMask>(cursor.hex("mask", 8));
    Known& known = cache_[(pc >> 3U) % kCacheSize];
    if (known.pc == pc && !known.text.empty() && cursor.skip(known.text)) {
      if (known.has_addresses) read_addresses(cursor, mask);
      if (!cursor.done()) (void)read_tail(cursor, known.listed);
      builder_.record(known.id, mask, addresses_);
      return;
    }
    const char* begin = cursor.at();
    SassInst inst;
    unsigned listed = read_registers(cursor, "number of destinations", inst.dst, inst.num_dst);
    const char* opcode_at = cursor.at();
    const std::string_view opcode = cursor.word("an opcode");
    // The tracer marks a loop that waits for an mbarrier, of which the trace has one iteration.
    if (opcode == "REPLAY_START" || opcode == "REPLAY_END") return;
    inst.opcode = opcode;
    if (!classify_opcode(opcode)) cursor.fail_at(opcode_at, fmt::format("unknown opcode '{}'", opcode));
    listed += read_registers(cursor, "number of sources", inst.src, inst.num_src);
    // A flag that tells whether the instruction ends a group of products.
    const std::string_view base = opcode.substr(0, opcode.find('.'));
    if (base.ends_with("GMMA") && (has_values_ || cursor.words() == 3)) (void)cursor.decimal("0 or 1", 1);
    const bool bulk = is_bulk_copy(opcode);
    const std::uint64_t width =
        cursor.decimal("width of an access", bulk ? kMostBulkBytes : kMostAccessBytes);
    if (bulk && width != 0) {
      read_bulk_copy(cursor, pc, mask, static_cast<std::uint32_t>(width), inst, listed);
      return;
    }
    inst.access_bytes = static_cast<std::uint8_t>(width);
    std::string_view text(begin, static_cast<std::size_t>(cursor.at() - begin));
    text = trim(text);
    // The text lives until the next line is read.
    if (inst.access_bytes != 0) read_addresses(cursor, mask);
    Tail tail;
    if (!cursor.done()) tail = read_tail(cursor, listed);
    const bool keep = keeps_immediate(opcode);
    if (keep) inst.immediate = kept_immediate(base, tail, inst.num_dst);
    const std::uint32_t id = builder_.instruction(pc, inst);
    if (!keep) {
      known.pc = pc;
      known.id = id;
      known.has_addresses = inst.access_bytes != 0;
      known.listed = listed;
      known.text = text;
    }
    builder_.record(id, mask, addresses_);
  }

  /// Reads the numbers after a bulk copy's width. There are two forms: "MODE ..." and "MBARRIER MULTICAST
  /// [BLOCKS] BYTES OUTSIDE MODE ...", with MODE 3 (COUNT ADDRESS...) or 4 (FIRST COUNT DIFFERENCE...). BYTES
  /// is the size of the whole copy. OUTSIDE of these bytes are outside the tensor, so they are filled and not
  /// read.
  void read_bulk_copy(Cursor& cursor, std::uint32_t pc, LaneMask mask, std::uint32_t width, SassInst& inst,
                      unsigned listed) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 32U;
    constexpr std::uint64_t kAddressList = 3;
    constexpr std::uint64_t kAddressDifferences = 4;
    std::uint64_t mode = 0;
    std::uint64_t bytes = 0;
    const char* at = cursor.at();
    const std::uint64_t first = cursor.hex("mode or mbarrier");
    if (first == kAddressList || first == kAddressDifferences) {  // the form without an mbarrier
      mode = first;
    } else {
      if (cursor.decimal("0 or 1 (multicast)", 1) != 0) (void)cursor.hex("mask of blocks", 8);
      const std::uint64_t all = cursor.decimal("number of bytes", kMost);
      const std::uint64_t outside = cursor.decimal("number of bytes outside", kMost);
      bytes = all - std::min(all, outside);
      at = cursor.at();
      mode = cursor.decimal("address mode (3 or 4)", kAddressDifferences);
      if (mode < kAddressList)
        cursor.fail_at(at, fmt::format("'{}' is no address mode; 3 or 4 was expected", mode));
    }
    bulk_.clear();
    Address address = mode == kAddressDifferences ? cursor.hex("address") : 0;
    const std::uint64_t count = cursor.decimal("number of addresses", kMostBulkAddresses);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (mode == kAddressList) {
        address = cursor.hex("address");
      } else if (i > 0) {
        address += cursor.signed_decimal("address difference");
      }
      bulk_.push_back(address);
    }
    if (!cursor.done()) (void)read_tail(cursor, listed);
    inst.access_bytes = 4;  // bytes per lane of its lines; builder_ gets the bytes of the copy
    const std::uint64_t each = bytes != 0 && count != 0 ? (bytes + count - 1) / count : width;
    builder_.record_bulk(builder_.instruction(pc, inst), mask, bulk_,
                         static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, 1, kMostBulkBytes)));
  }

  /// Reads a list of registers. Returns how many are listed, including those that are not kept.
  unsigned read_registers(Cursor& cursor, const char* what,
                          std::array<std::uint8_t, kMaxRegisters>& registers, std::uint8_t& kept) const {
    const std::uint64_t count = cursor.decimal(what, kMaxRegisters);
    for (std::uint64_t i = 0; i < count; ++i) {
      const char* at = cursor.at();
      const std::string_view text = cursor.word("a register");
      // Uniform registers and predicates are not tracked, because traces rarely list them.
      const bool other = text.starts_with("UR") || text.starts_with("P") || text.starts_with("UP");
      const std::string_view digits =
          text.substr(other ? std::min(text.size(), text.find_first_of("0123456789T")) : 1);
      const std::optional<std::uint64_t> value = text == "RZ" ? kZeroRegister : parse_uint(digits);
      const bool good = other ? !digits.empty() : text.front() == 'R' && value && *value <= kZeroRegister;
      if (!good) cursor.fail_at(at, fmt::format("'{}' is no register (R0 to R255)", text));
      if (!other) registers[kept++] = static_cast<std::uint8_t>(*value);
    }
    return static_cast<unsigned>(count);
  }

  void read_addresses(Cursor& cursor, LaneMask mask) {
    const std::uint64_t mode = cursor.decimal("address mode (0, 1 or 2)", 2);
    const auto each_lane = [mask](auto visit) {
      for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
        visit(static_cast<std::size_t>(std::countr_zero(rest)));
      }
    };
    if (mode == 0) {
      each_lane([&](std::size_t lane) { addresses_[lane] = cursor.hex("address"); });
      return;
    }
    Address at = cursor.hex("address");
    if (mode == 1) {
      const std::uint64_t stride = cursor.signed_decimal("stride");
      each_lane([&](std::size_t lane) {
        addresses_[lane] = at;
        at += stride;
      });
      return;
    }
    bool first = true;
    each_lane([&](std::size_t lane) {
      if (!first) at += cursor.signed_decimal("address difference");
      first = false;
      addresses_[lane] = at;
    });
  }

  /// The part of an instruction line after the addresses.
  struct Tail {
    std::int64_t immediate = SassInst::kNoImmediate;
    std::int64_t second = SassInst::kNoImmediate;
    std::optional<std::uint64_t> first_value;  // value of the first listed register in its first lane
  };
  Tail read_tail(Cursor& cursor, unsigned listed) const {
    Tail tail;
    tail.immediate = read_immediate(cursor);
    if (!has_values_) {
      cursor.end("the immediate");
      return tail;
    }
    if (!cursor.done() && cursor.rest().front() != 'V' && cursor.rest().front() != 'N')
      tail.second = read_immediate(cursor);
    if (cursor.done() || cursor.skip("NoVal")) {
      cursor.end("'NoVal'");
      return tail;
    }
    if (!cursor.skip("Val")) cursor.fail("'Val' or 'NoVal' was expected");
    for (unsigned i = 0; i < listed; ++i) {
      const char* at = cursor.at();
      const std::uint64_t values = cursor.decimal("number of values", kWarpSize);
      if (values != 1 && values != kWarpSize)
        cursor.fail_at(at,
                       fmt::format("'{}' is no number of values; 1 or {} was expected", values, kWarpSize));
      for (std::uint64_t lane = 0; lane < values; ++lane) {
        const std::uint64_t value = cursor.hex("value of a register");
        if (!tail.first_value) tail.first_value = value;
      }
    }
    cursor.end("the values of registers");
    return tail;
  }

  /// Reads a decimal or hexadecimal immediate. A negative one counts as none.
  std::int64_t read_immediate(Cursor& cursor) const {
    const char* at = cursor.at();
    const std::string_view text = cursor.word("an immediate");
    std::string_view digits = text;
    if (digits.starts_with('-')) digits.remove_prefix(1);
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    const bool good = !digits.empty() && digits.size() <= 20 &&
                      digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (!good) cursor.fail_at(at, fmt::format("'{}' is no immediate", text.substr(0, 40)));
    const std::optional<std::int64_t> value = parse_int(text);
    return value && *value >= 0 ? *value : SassInst::kNoImmediate;
  }

  /// The value for SassInst::immediate. Tracers of version 6 write the threads that a BAR waits for as the
  /// second immediate. If the barrier's number is in a register, they write the threads as the first
  /// immediate and list the register as a destination.
  std::int64_t kept_immediate(std::string_view base, const Tail& tail, unsigned destinations) const {
    if (base != "BAR" || !has_values_) return tail.immediate;
    const bool in_register = destinations > 0 && tail.first_value && tail.second <= 0;
    const std::int64_t number =
        in_register ? static_cast<std::int64_t>(*tail.first_value & 0xffU) : tail.immediate;
    const std::int64_t threads = in_register ? tail.immediate : tail.second;
    if (number < 0 || threads <= 0 || threads > kMostThreads) return number;
    return threads << 8U | number;
  }

  LineReader lines_;
  TraceVersions& versions_;
  TraceBuilder& builder_;
  KernelHeader header_;
  bool line_info_ = false;
  bool has_values_ = false;  // kTracerWithValues
  std::string_view line_;
  std::vector<Known> cache_;
  TraceBuilder::Addresses addresses_{};
  std::vector<Address> bulk_;  // of a bulk copy
};

}  // namespace

void read_kernel(const std::string& path, TraceVersions& versions, TraceBuilder& builder) {
  KernelReader(path, versions, builder).read();
}

}  // namespace gpumux::trace
