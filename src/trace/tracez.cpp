#include "trace/tracez.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace gpumux::trace {
namespace {

constexpr std::uint64_t kMostHeader = 1U << 20U;
constexpr std::uint64_t kMostDictionary = 1U << 24U;
constexpr std::uint64_t kMostFrame = 1U << 28U;  // uncompressed bytes

class TracezBytes final : public ByteStream {
 public:
  explicit TracezBytes(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rb"), &std::fclose) {
    if (file_ == nullptr) throw UserError({path_}, fmt::format("cannot be read ({})", std::strerror(errno)));
    if (::fseeko(file_.get(), 0, SEEK_END) != 0)
      throw UserError({path_}, fmt::format("cannot be read ({})", std::strerror(errno)));
    size_ = static_cast<std::uint64_t>(::ftello(file_.get()));
    read_header();
    blocks_ = number32();
  }

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t given = 0;
    while (given < size) {
      if (used_ == text_.size()) {
        text_.clear();
        used_ = 0;
        given_ = given;
        make_text();
        if (text_.empty()) break;
      }
      const std::size_t part = std::min(size - given, text_.size() - used_);
      std::memcpy(buffer + given, text_.data() + used_, part);
      used_ += part;
      given += part;
    }
    return given;
  }

 private:
  // --- the file -----------------------------------------------------------------------------------
  [[noreturn]] void fail(std::uint64_t byte, const std::string& what) const {
    throw DamagedFile(path_, byte, what, given_);
  }
  void seek(std::uint64_t at) {
    if (at > size_) fail(size_, fmt::format("what it says to lie at byte {} is behind its end", at));
    if (::fseeko(file_.get(), static_cast<off_t>(at), SEEK_SET) != 0)
      fail(at, fmt::format("it cannot be read ({})", std::strerror(errno)));
    at_ = at;
  }
  void take(void* out, std::uint64_t bytes) {
    if (bytes > size_ - at_ || std::fread(out, 1, bytes, file_.get()) != bytes)
      fail(at_, "it ends too early");
    at_ += bytes;
  }
  std::uint64_t number(unsigned bytes) {
    std::array<std::uint8_t, 8> raw{};
    take(raw.data(), bytes);
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{raw[i]} << (8 * i);
    return value;
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(4)); }

  void read_header() {
    seek(0);
    text_.resize(std::min(kMostHeader, size_));
    take(text_.data(), text_.size());
    const std::size_t end = text_.find('\0');
    if (end == std::string::npos) fail(0, "it has no zero byte behind the kernel's header");
    text_.resize(end);
    const bool is_text = std::all_of(text_.begin(), text_.end(), [](char c) {
      return c == '\n' || c == '\t' || c == '\r' || (c >= ' ' && c <= '~');
    });
    if (!is_text) fail(0, "it does not begin with the text of a kernel's header");
    if (text_.find("#traces format") == std::string::npos) text_ += "\n#traces format\n";
    seek(end + 1);
    const std::uint32_t dictionary = number32();
    (void)number32();  // approximate number of instructions in a frame
    if (dictionary > kMostDictionary) fail(at_ - 8, "its dictionary is too large");
    std::vector<char> bytes(dictionary);
    take(bytes.data(), bytes.size());
    if (dictionary != 0) {
      dictionary_.reset(ZSTD_createDDict(bytes.data(), bytes.size()));
      if (dictionary_ == nullptr) fail(end + 9, "its dictionary is damaged");
    }
    if (size_ < 8) fail(size_, "it ends too early");
    seek(size_ - 8);
    seek(number(8));
  }

  // --- its text -----------------------------------------------------------------------------------
  /// Makes the next part of the text: the start of a block, a frame of a warp, or the end of a block.
  void make_text() {
    if (frames_ > 0) return next_frame();
    if (warps_ > 0) return next_warp();
    if (within_block_) {
      text_ = "\n#END_TB\n";
      within_block_ = false;
      return;
    }
    if (blocks_ > 0) next_block();
  }
  void next_block() {
    --blocks_;
    std::array<std::uint32_t, 3> block{};
    for (std::uint32_t& part : block) part = number32();
    for (unsigned i = 0; i < 7; ++i) (void)number32();  // its cluster and the position in it
    warps_ = number32();
    warp_ = 0;
    text_ = fmt::format("\n#BEGIN_TB\n\nthread block = {},{},{}\n", block[0], block[1], block[2]);
    within_block_ = true;
  }
  void next_warp() {
    --warps_;
    const std::uint32_t instructions = number32();
    frames_ = number32();
    const std::uint64_t place = number(8);
    const std::uint64_t counts = std::uint64_t{frames_} * 4;
    if (counts > size_ - at_) fail(at_, "it ends too early");
    index_ = at_ + counts;
    seek(place);
    if (number32() != instructions || number32() != frames_)
      fail(place, "a warp says otherwise than the index how much it has");
    if (frames_ == 0) seek(index_);
    text_ = fmt::format("\nwarp = {}\ninsts = {}\n", warp_++, instructions);
  }
  void next_frame() {
    --frames_;
    const std::uint64_t begin = at_;
    const std::uint32_t bytes = number32();
    if (bytes > size_ - at_) fail(begin, "it ends too early");
    std::vector<char> packed(bytes);
    take(packed.data(), packed.size());
    const unsigned long long whole = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (whole == ZSTD_CONTENTSIZE_ERROR || whole == ZSTD_CONTENTSIZE_UNKNOWN || whole > kMostFrame)
      fail(begin, "the zstd data of a warp is damaged");
    text_.resize(whole);
    const std::size_t got =
        dictionary_ != nullptr
            ? ZSTD_decompress_usingDDict(context_.get(), text_.data(), text_.size(), packed.data(),
                                         packed.size(), dictionary_.get())
            : ZSTD_decompressDCtx(context_.get(), text_.data(), text_.size(), packed.data(), packed.size());
    if (ZSTD_isError(got) != 0 || got != whole) fail(begin, "the zstd data of a warp is damaged");
    text_ += '\n';
    if (frames_ == 0) seek(index_);
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<ZSTD_DDict, std::size_t (*)(ZSTD_DDict*)> dictionary_{nullptr, &ZSTD_freeDDict};
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;      // position in the file
  std::uint64_t index_ = 0;   // position of the next warp or block, while a warp is read
  std::uint32_t blocks_ = 0;  // blocks to come; then warps and frames to come
  std::uint32_t warps_ = 0;
  std::uint32_t frames_ = 0;
  std::uint32_t warp_ = 0;
  bool within_block_ = false;
  std::string text_;
  std::size_t used_ = 0;   // bytes of text_ that were read
  std::size_t given_ = 0;  // bytes that this read() returned before the current part
};

}  // namespace

std::unique_ptr<ByteStream> open_tracez(const std::string& path) {
  return std::make_unique<TracezBytes>(path);
}

}  // namespace gpumux::trace
