// XXH3 digests of contents and files, by Debian's libxxhash.
#pragma once

#include <cstddef>
#include <string_view>

#include "bundle/records.hpp"

namespace gpumux::bundle {

[[nodiscard]] Digest digest(std::string_view bytes);
[[nodiscard]] std::uint64_t short_digest(std::string_view bytes);

/// The digest of bytes that arrive in several parts.
class RunningDigest {
 public:
  RunningDigest();
  ~RunningDigest();
  RunningDigest(const RunningDigest&) = delete;
  RunningDigest& operator=(const RunningDigest&) = delete;
  void add(std::string_view bytes);
  [[nodiscard]] Digest value() const;

 private:
  void* state_;
};

}  // namespace gpumux::bundle
