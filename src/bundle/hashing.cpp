#include "bundle/hashing.hpp"

#include <new>

#define XXH_INLINE_ALL  // compiles XXH3 with the program's own instruction set
#include <xxhash.h>

#include "base/error.hpp"

namespace gpumux::bundle {
namespace {

XXH3_state_t& of(void* state) { return *static_cast<XXH3_state_t*>(state); }

}  // namespace

Digest digest(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::uint64_t short_digest(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

RunningDigest::RunningDigest() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  (void)XXH3_128bits_reset(&of(state_));
}

RunningDigest::~RunningDigest() { (void)XXH3_freeState(&of(state_)); }

void RunningDigest::add(std::string_view bytes) {
  (void)XXH3_128bits_update(&of(state_), bytes.data(), bytes.size());
}

Digest RunningDigest::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&of(state_));
  return {hash.low64, hash.high64};
}

}  // namespace gpumux::bundle
