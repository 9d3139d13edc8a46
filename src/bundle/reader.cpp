#include "bundle/reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "bundle/checker.hpp"
#include "bundle/format.hpp"
#include "bundle/hashing.hpp"

namespace gpumux::bundle {
namespace {

/// Number of application ranges below the windows of other state spaces.
constexpr std::uint64_t kMostBase = 64;

/// A decompressor for this thread. zstd's memory depends on the given sizes, none of which is above
/// kMostChunk.
ZSTD_DCtx* decompressor() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                         &ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  return context.get();
}

}  // namespace

std::shared_ptr<const Bundle> Bundle::open(const std::string& path) {
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
  auto bundle = std::shared_ptr<Bundle>(new Bundle(path));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > 0) {
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) fail(std::strerror(errno));
    bundle->mapping_ = mapping;
    bundle->bytes_ = {static_cast<const char*>(mapping), size};
  }
  bundle->read();
  return bundle;
}

std::shared_ptr<const Bundle> Bundle::from_bytes(std::string bytes, std::string name) {
  auto bundle = std::shared_ptr<Bundle>(new Bundle(std::move(name)));
  bundle->storage_ = std::move(bytes);
  bundle->bytes_ = bundle->storage_;
  bundle->read();
  return bundle;
}

Bundle::~Bundle() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

void Bundle::fail(std::uint64_t byte, const std::string& what) const {
  throw UserError({name_}, fmt::format("byte {}: {}; record the program again", byte, what));
}

void Bundle::read() {
  if (!bytes_.starts_with(kMagic.substr(0, kMagic.size() - 1)))
    throw UserError({name_}, "is no bundle (gpumux capture -o FILE.gmx -- PROGRAM makes one)");
  if (!bytes_.starts_with(kMagic))
    throw UserError(
        {name_},
        fmt::format("byte {}: it is a bundle of version {}, and this gpumux reads version "
                    "{}; record the program again",
                    kMagic.size() - 1,
                    bytes_.size() < kMagic.size() ? 0 : static_cast<unsigned char>(bytes_[kMagic.size() - 1]),
                    static_cast<unsigned char>(kMagic.back())));
  if (bytes_.size() < kHeaderBytes)
    fail(bytes_.size(), fmt::format("it ends within its header of {} bytes", kHeaderBytes));
  Bytes header(bytes_.substr(0, kHeaderBytes));
  (void)header.take(kMagic.size(), "the magic");
  const auto size = header.word<std::uint64_t>();
  Digest sum;
  sum.low = header.word<std::uint64_t>();
  sum.high = header.word<std::uint64_t>();
  const auto index = header.word<std::uint64_t>();
  if (header.word<std::uint64_t>() != short_digest(bytes_.substr(0, kHeaderBytes - 8)))
    fail(kHeaderBytes - 8, "the digest of its header is wrong");
  if (size != bytes_.size())
    fail(kMagic.size(),
         fmt::format("its header says that it has {} bytes, and it has {}", size, bytes_.size()));
  if (index < kHeaderBytes || index > size)
    fail(kHeaderBytes - 16,
         fmt::format("its index lies at {}; {} to {} are possible", index, kHeaderBytes, size));
  const Digest found = digest(bytes_.substr(kHeaderBytes));
  if (found != sum) fail(kMagic.size() + 8, "the digest of its bytes is wrong");
  identity_ = fmt::format("bundle {:016x}{:016x} {}", found.high, found.low, size);
  read_index(bytes_.substr(index), index);
  check_records();
}

void Bundle::read_index(std::string_view index, std::uint64_t offset) {
  Bytes in(index);
  try {
    const std::uint64_t base = in.number(kMostBase, "the first address / 2^40");
    if (base == 0) Bytes::fail_at(0, "the first address is 0");
    addresses_.base = base << kAppShift;
    record_count_ = in.number(kMostRecordBytes, "the number of records");
    const std::uint64_t chunks = in.number(~std::uint64_t{0}, "the number of chunks");
    if (chunks > in.left())  // each chunk takes at least one byte
      in.fail(fmt::format("it has {} chunks, and {} bytes are left to list them", chunks, in.left()));
    std::uint64_t at = kHeaderBytes;
    std::uint64_t record_bytes = 0;
    for (std::uint64_t i = 0; i < chunks; ++i) {
      const std::uint64_t begin = in.position();
      const std::uint64_t entry = in.number(kMostChunk << 2U | 3U, "the entry of a chunk");
      Chunk chunk;
      chunk.raw = static_cast<std::uint32_t>(entry >> 2U);
      chunk.packed = (entry & kPacked) != 0;
      chunk.offset = at;
      const bool is_records = (entry & kRecords) != 0;
      const std::uint64_t most = is_records ? kMostChunk : kPieceBytes;
      if (chunk.raw == 0 || chunk.raw > most)
        Bytes::fail_at(begin, fmt::format("chunk {} has {} bytes; 1 to {} are possible", i, chunk.raw, most));
      chunk.stored = chunk.packed ? in.number(chunk.raw, "the packed size of a chunk") : chunk.raw;
      if (chunk.stored > offset - at)
        Bytes::fail_at(
            begin, fmt::format("chunk {} of {} bytes ends behind the index's first byte", i, chunk.stored));
      at += chunk.stored;
      if (is_records) record_bytes += chunk.raw;
      if (record_bytes > kMostRecordBytes)
        Bytes::fail_at(begin, fmt::format("there are more than {} bytes of records", kMostRecordBytes));
      (is_records ? record_chunks_ : pieces_).push_back(chunk);
    }
    if (!in.done()) in.fail(fmt::format("{} bytes follow the last chunk's entry", in.left()));
    if (at != offset)
      Bytes::fail_at(0, fmt::format("its chunks end at {}, and its index begins at {}", at, offset));
  } catch (const Corrupt& corrupt) {
    fail(offset + corrupt.at, corrupt.what);
  }
}

void Bundle::unpack(const Chunk& chunk, char* to) const {
  const std::string_view stored = bytes_.substr(chunk.offset, chunk.stored);
  if (!chunk.packed) {
    std::memcpy(to, stored.data(), stored.size());
    return;
  }
  const std::size_t size = ZSTD_decompressDCtx(decompressor(), to, chunk.raw, stored.data(), stored.size());
  if (ZSTD_isError(size) != 0)
    fail(chunk.offset, fmt::format("a packed chunk of {} bytes cannot be unpacked to {} ({})", chunk.stored,
                                   chunk.raw, ZSTD_getErrorName(size)));
  if (size != chunk.raw)
    fail(chunk.offset, fmt::format("a packed chunk has {} bytes, and its entry says {}", size, chunk.raw));
}

std::string Bundle::content(const Content& content) const {
  std::string bytes(content.bytes, '\0');
  std::uint64_t at = 0;
  for (const std::uint32_t piece : content.pieces) {
    unpack(pieces_.at(piece), bytes.data() + at);
    at += pieces_[piece].raw;
  }
  return bytes;
}

void Bundle::check_records() {
  Checker checker(addresses_.base);
  Reader reader(*this);
  Record record;
  std::uint64_t count = 0;
  const auto check_sizes = [&](const Content& content) {
    for (std::size_t i = 0; i < content.pieces.size(); ++i) {
      const std::uint64_t wanted = std::min(kPieceBytes, content.bytes - i * kPieceBytes);
      if (pieces_[content.pieces[i]].raw != wanted)
        throw Corrupt{fmt::format("piece {} has {} bytes, and {} are needed here", content.pieces[i],
                                  pieces_[content.pieces[i]].raw, wanted)};
    }
  };
  while (reader.next(record)) {
    try {
      checker.check(record);
      std::visit(
          [&](const auto& r) {
            if constexpr (requires { r.from.pieces; }) check_sizes(r.from);
            if constexpr (requires { r.ptx.pieces; }) check_sizes(r.ptx);
          },
          record);
    } catch (const Corrupt& corrupt) {
      reader.fail({corrupt.what, reader.record_at_});
    }
    const bool launches =
        std::holds_alternative<Launch>(record) || std::holds_alternative<LaunchWithPriority>(record);
    launches_ += launches ? 1 : 0;
    results_ += std::holds_alternative<Result>(record) ? 1 : 0;
    ++count;
  }
  if (count != record_count_)
    fail(bytes_.size(), fmt::format("it has {} records, and its index says {}", count, record_count_));
  addresses_.placed_end = checker.placed_end();
}

bool Reader::next(Record& record) {
  while (left_.done()) {
    if (chunk_ == bundle_->record_chunks_.size()) return false;
    const Bundle::Chunk& chunk = bundle_->record_chunks_[chunk_++];
    unpacked_.resize(chunk.raw);
    bundle_->unpack(chunk, unpacked_.data());
    left_ = Bytes(unpacked_);
  }
  record_at_ = left_.position();
  try {
    record = decode(coding_, left_, bundle_->pieces_.size());
  } catch (const Corrupt& corrupt) {
    fail(corrupt);
  }
  return true;
}

void Reader::fail(const Corrupt& corrupt) const {
  const Bundle::Chunk& chunk = bundle_->record_chunks_[chunk_ - 1];
  if (!chunk.packed) bundle_->fail(chunk.offset + corrupt.at, corrupt.what);
  bundle_->fail(chunk.offset,
                fmt::format("of the records that are packed here, byte {}: {}", corrupt.at, corrupt.what));
}

}  // namespace gpumux::bundle
