#include "cpu/trace/trace_writer.hpp"

#include <fmt/core.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace gpumux::cpu {

struct TraceWriter::Compressor {
  Compressor() : context(ZSTD_createCCtx(), &ZSTD_freeCCtx), out(ZSTD_CStreamOutSize()) {
    // A low level suffices, because neighbouring records differ little. The checksum detects damage.
    constexpr int kLevel = 3;
    if (context == nullptr ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel)) != 0 ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1)) != 0) {
      throw InternalError("the zstd encoder cannot be set up");
    }
  }
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context;
  std::vector<char> out;
};

TraceWriter::TraceWriter(std::string path) : path_(std::move(path)) {
  if (path_.ends_with(".xz") || path_.ends_with(".gz")) {
    throw UserError({path_}, "CPU traces are written plain or as .zst");
  }
  buffer_.reserve(kBuffer);
  if (path_.ends_with(".zst")) compressor_ = std::make_unique<Compressor>();
  file_ = std::fopen(path_.c_str(), "wb");
  if (file_ == nullptr) throw UserError({path_}, fmt::format("cannot be written ({})", std::strerror(errno)));
}

TraceWriter::~TraceWriter() {
  if (file_ != nullptr) (void)std::fclose(file_);
}

void TraceWriter::write(const char* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file_) == size) return;
  throw UserError({path_}, fmt::format("cannot be written ({})", std::strerror(errno)));
}

void TraceWriter::flush() {
  const auto* bytes = reinterpret_cast<const char*>(buffer_.data());
  const std::size_t size = buffer_.size() * sizeof(Record);
  if (compressor_ == nullptr) {
    write(bytes, size);
  } else {
    ZSTD_inBuffer in{bytes, size, 0};
    while (in.pos < in.size) {
      ZSTD_outBuffer out{compressor_->out.data(), compressor_->out.size(), 0};
      const std::size_t result = ZSTD_compressStream2(compressor_->context.get(), &out, &in, ZSTD_e_continue);
      GPUMUX_CHECK(ZSTD_isError(result) == 0);
      write(compressor_->out.data(), out.pos);
    }
  }
  flushed_ += buffer_.size();
  buffer_.clear();
}

void TraceWriter::close() {
  flush();
  for (std::size_t left = compressor_ == nullptr ? 0 : 1; left > 0;) {
    ZSTD_inBuffer in{nullptr, 0, 0};
    ZSTD_outBuffer out{compressor_->out.data(), compressor_->out.size(), 0};
    left = ZSTD_compressStream2(compressor_->context.get(), &out, &in, ZSTD_e_end);
    GPUMUX_CHECK(ZSTD_isError(left) == 0);
    write(compressor_->out.data(), out.pos);
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0) {
    throw UserError({path_}, fmt::format("cannot be written ({})", std::strerror(errno)));
  }
}

}  // namespace gpumux::cpu
