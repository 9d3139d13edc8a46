// Copies to and from a program's variables, which are identified by their host variables.
#include "copies.hpp"
#include "modules.hpp"

namespace gpumux::cudart {
namespace {

/// Copies between a variable and memory.
Error copy_symbol(bool to_symbol, const void* symbol, std::byte* memory, std::size_t bytes,
                  std::size_t offset, MemcpyKind kind, Where where) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  Error error = Error::Success;
  const Variable* const variable = find_variable(symbol, error);
  if (variable == nullptr) return returned(error);
  const program::VariableDescription& of = variable->description;
  if (offset > of.bytes || bytes > of.bytes - offset) return returned(Error::InvalidValue);
  if (variable->address == nullptr) return returned(Error::InvalidSymbol);
  void* const place = static_cast<std::byte*>(variable->address) + offset;
  return to_symbol ? copy(place, memory, bytes, kind, where) : copy(memory, place, bytes, kind, where);
}

Error to_symbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, MemcpyKind kind,
                Where where) {
  return copy_symbol(true, symbol, static_cast<std::byte*>(const_cast<void*>(from)), bytes, offset, kind,
                     where);
}
Error from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, MemcpyKind kind,
                  Where where) {
  return copy_symbol(false, symbol, static_cast<std::byte*>(to), bytes, offset, kind, where);
}

}  // namespace

GPUMUX_CUDART_API Error cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                                           std::size_t offset, MemcpyKind kind) {
  return to_symbol(symbol, from, bytes, offset, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, std::size_t bytes,
                                                std::size_t offset, MemcpyKind kind) {
  return to_symbol(symbol, from, bytes, offset, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                                std::size_t offset, MemcpyKind kind, StreamHandle stream) {
  return to_symbol(symbol, from, bytes, offset, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, std::size_t bytes,
                                                     std::size_t offset, MemcpyKind kind,
                                                     StreamHandle stream) {
  return to_symbol(symbol, from, bytes, offset, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                             std::size_t offset, MemcpyKind kind) {
  return from_symbol(to, symbol, bytes, offset, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, std::size_t bytes,
                                                  std::size_t offset, MemcpyKind kind) {
  return from_symbol(to, symbol, bytes, offset, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                                  std::size_t offset, MemcpyKind kind, StreamHandle stream) {
  return from_symbol(to, symbol, bytes, offset, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, std::size_t bytes,
                                                       std::size_t offset, MemcpyKind kind,
                                                       StreamHandle stream) {
  return from_symbol(to, symbol, bytes, offset, kind, in_per_thread(stream));
}

}  // namespace gpumux::cudart
