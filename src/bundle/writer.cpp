#include "bundle/writer.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/growing_file.hpp"
#include "bundle/checker.hpp"
#include "bundle/coding.hpp"
#include "bundle/format.hpp"
#include "bundle/hashing.hpp"

namespace gpumux::bundle {
namespace {

constexpr unsigned kMostThreads = 4;
/// Number of pieces that are hashed and compressed together: 16 MiB, and up to the same size compressed.
constexpr std::size_t kBatch = 64;
constexpr int kLevel = 1;  // zstd's fastest standard level, since the disk is slower than the compressor

struct HashOfDigest {
  std::size_t operator()(const Digest& d) const { return d.low; }
};

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A zstd compressor that reuses its context.
class Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  /// Compresses `raw`. Returns false if the result would not be smaller.
  bool pack(std::string_view raw, std::string& packed) {
    packed.resize(ZSTD_compressBound(raw.size()));
    const std::size_t size =
        ZSTD_compressCCtx(context_.get(), packed.data(), packed.size(), raw.data(), raw.size(), kLevel);
    if (ZSTD_isError(size) != 0) throw InternalError(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
    packed.resize(size);
    return size < raw.size();
  }

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
};

/// Calls work(worker, i) for all i below `count`, on up to kMostThreads worker threads.
void in_parallel(std::size_t count, const std::function<void(unsigned, std::size_t)>& work) {
  const unsigned threads = std::min(
      {static_cast<unsigned>(count), kMostThreads, std::max(1U, std::thread::hardware_concurrency())});
  std::atomic<std::size_t> next{0};
  std::array<std::exception_ptr, kMostThreads> errors;
  const auto run = [&](unsigned worker) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(worker, i);
    } catch (...) {
      errors[worker] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (unsigned worker = 1; worker < threads; ++worker) others.emplace_back(run, worker);
    } catch (const std::system_error&) {  // no more threads available: fewer workers run
    }
    run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

/// A batch of pieces. Its buffers are reused.
struct Batch {
  std::vector<std::string_view> fresh;  // new pieces
  std::vector<char> smaller;            // 1: the compressed form is smaller
  std::vector<std::string> packed;
};

/// Waits for the writing thread at the end of the scope, also after an exception.
struct WritingEnds {
  const std::future<void>& writing;
  ~WritingEnds() {
    if (writing.valid()) writing.wait();
  }
};

}  // namespace

struct Writer::Impl {
  Impl(std::string path_, Address base)
      : path(std::move(path_)), file(path), checker(base), coding{base, 0}, base_(base) {
    file.write(std::string(kHeaderBytes, '\0'));
  }

  void append(std::string_view bytes) {
    sum.add(bytes);
    position += bytes.size();
    file.write(bytes);
  }
  void chunk(std::string_view raw, const std::string* smaller, std::uint64_t kind) {
    const std::string_view stored = smaller != nullptr ? std::string_view(*smaller) : raw;
    put_number(index, raw.size() << 2U | kind | (smaller != nullptr ? kPacked : 0));
    if (smaller != nullptr) put_number(index, stored.size());
    ++chunks;
    append(stored);
  }
  /// Keeps a batch of pieces: appends the numbers of all pieces, and writes the new ones to the file in their
  /// order. If `others` follow, writing may continue in another thread until written().
  void keep(std::span<const std::string_view> raw, bool others, std::vector<std::uint32_t>& numbers) {
    std::vector<Digest> digests(raw.size());
    in_parallel(raw.size(), [&](unsigned, std::size_t i) { digests[i] = bundle::digest(raw[i]); });
    Batch& batch = batches[batch_count++ % batches.size()];
    std::vector<std::string>& packed = batch.packed;
    batch.fresh.clear();
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto [at, is_new] = known.try_emplace(digests[i], pieces);
      numbers.push_back(at->second);
      if (!is_new) continue;
      if (pieces == ~std::uint32_t{0}) throw UserError({path}, "cannot hold more: it has 2^32 pieces");
      ++pieces;
      batch.fresh.push_back(raw[i]);
    }
    const std::size_t count = batch.fresh.size();
    batch.smaller.resize(count);
    if (packed.size() < count) packed.resize(count);
    in_parallel(count, [&](unsigned worker, std::size_t i) {
      batch.smaller[i] = static_cast<char>(compressors[worker].pack(batch.fresh[i], packed[i]));
    });
    written();
    if (others) {
      try {
        writing = std::async(std::launch::async, [this, &batch] { write(batch); });
        return;
      } catch (const std::system_error&) {  // no more threads available
      }
    }
    write(batch);
  }
  void write(const Batch& batch) {
    for (std::size_t i = 0; i < batch.fresh.size(); ++i)
      chunk(batch.fresh[i], batch.smaller[i] != 0 ? &batch.packed[i] : nullptr, 0);
  }
  /// Waits until all batches are written.
  void written() {
    if (writing.valid()) writing.get();
  }
  void flush_records() {
    if (records.empty()) return;
    record_bytes += records.size();
    if (record_bytes > kMostRecordBytes)
      throw UserError({path}, fmt::format("cannot hold more: its records have more than {} bytes; record a "
                                          "shorter run of the program",
                                          kMostRecordBytes));
    const bool smaller = compressors[0].pack(records, packed_records);
    chunk(records, smaller ? &packed_records : nullptr, kRecords);
    records.clear();
  }

  std::string path;
  GrowingFile file;
  Checker checker;
  CodingState coding;
  Address base_;
  RunningDigest sum;
  std::uint64_t position = kHeaderBytes;
  std::unordered_map<Digest, std::uint32_t, HashOfDigest> known;
  std::uint32_t pieces = 0;
  std::array<Compressor, kMostThreads> compressors;
  std::array<Batch, 2> batches;  // one batch is written while the next is compressed
  std::size_t batch_count = 0;
  std::string records;  // records not yet in the file
  std::string packed_records;
  std::uint64_t record_bytes = 0;
  std::uint64_t record_count = 0;
  std::string index;  // entries of the chunks
  std::uint64_t chunks = 0;
  std::future<void> writing;  // the last member, so that it ends before the members that it uses
};

Digest digest(std::span<const std::byte> bytes) { return digest(text(bytes)); }

Writer::Writer(std::string path, Address base) {
  GPUMUX_CHECK(base != 0 && base % (Address{1} << kAppShift) == 0);
  impl_ = std::make_unique<Impl>(std::move(path), base);
}

Writer::~Writer() = default;

Content Writer::keep(std::span<const std::byte> bytes) {
  Content content{bytes.size(), {}};
  content.pieces.reserve(pieces_of(bytes.size()));
  std::vector<std::string_view> batch;
  const WritingEnds before_bytes_go{impl_->writing};
  while (!bytes.empty()) {
    batch.clear();
    for (; !bytes.empty() && batch.size() < kBatch; bytes = bytes.subspan(batch.back().size()))
      batch.push_back(text(bytes.first(std::min<std::size_t>(bytes.size(), kPieceBytes))));
    impl_->keep(batch, !bytes.empty(), content.pieces);
  }
  return content;
}

void Writer::add(const Record& record) {
  const std::size_t begin = impl_->records.size();
  try {
    impl_->checker.check(record);
    encode(impl_->coding, record, impl_->records);
    if (impl_->records.size() > kMostChunk)
      throw Corrupt{fmt::format("a record of {} bytes; at most {} are possible",
                                impl_->records.size() - begin, kMostChunk - kRecordsBytes)};
  } catch (const Corrupt& corrupt) {
    impl_->records.resize(begin);
    throw UserError({impl_->path}, fmt::format("cannot hold what the program does: {}", corrupt.what));
  }
  ++impl_->record_count;
  if (impl_->records.size() >= kRecordsBytes) impl_->flush_records();
}

void Writer::finish() {
  Impl& w = *impl_;
  w.flush_records();
  const std::uint64_t index_offset = w.position;
  std::string index;
  put_number(index, w.base_ >> kAppShift);
  put_number(index, w.record_count);
  put_number(index, w.chunks);
  w.append(index);
  w.append(w.index);
  std::string header(kMagic);
  put_word(header, w.position);
  const Digest sum = w.sum.value();
  put_word(header, sum.low);
  put_word(header, sum.high);
  put_word(header, index_offset);
  put_word(header, short_digest(header));
  GPUMUX_CHECK(header.size() == kHeaderBytes);
  w.file.complete(header);
}

}  // namespace gpumux::bundle
