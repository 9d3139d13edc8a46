#include "trace/output.hpp"

#include <utility>

#include "base/error.hpp"
#include "trace/bytes.hpp"

namespace gpumux::trace {

void Output::finish(std::uint64_t index_offset) {
  std::string header(kMagic);
  put_word64(header, position());
  put_word64(header, checksum_.value());
  put_word64(header, index_offset);
  GPUMUX_CHECK(header.size() == kHeaderBytes);
  close(header);
}

FileOutput::FileOutput(std::string path) : file_(std::move(path)) {
  file_.write(std::string(kHeaderBytes, '\0'));
}

}  // namespace gpumux::trace
