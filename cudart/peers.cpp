// Peer access between devices. There is one device, which is no peer of itself.
#include <cstdio>

#include "copies.hpp"
#include "session.hpp"

namespace gpumux::cudart {
namespace {

constexpr auto kNotEnabled = static_cast<Error>(705);  // cudaErrorPeerAccessNotEnabled

/// The error of a call that needs a second device.
Error without_peer() {
  const Error error = connected();
  return returned(error == Error::Success ? Error::InvalidDevice : error);
}

Error copy_3d_of_peers(const PeerCopy3D* of, Where where) {
  if (of == nullptr) return returned(Error::InvalidValue);
  if (const Error error = connected(); error != Error::Success) return returned(error);
  if (of->from_device != 0 || of->to_device != 0) return returned(Error::InvalidDevice);
  const Copy3D plain{of->from_array, of->from_at, of->from,   of->to_array,
                     of->to_at,      of->to,      of->extent, MemcpyKind::DeviceToDevice};
  return copy_3d(&plain, where);
}

}  // namespace

GPUMUX_CUDART_API Error cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return returned(Error::InvalidValue);
  if (const Error error = connected(); error != Error::Success) return returned(error);
  if (device != 0 || peer != 0) return returned(Error::InvalidDevice);
  *can = 0;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDeviceEnablePeerAccess(int, unsigned flags) {
  return flags != 0 ? returned(Error::InvalidValue) : without_peer();
}
GPUMUX_CUDART_API Error cudaDeviceDisablePeerAccess(int peer) {
  if (const Error error = connected(); error != Error::Success) return returned(error);
  return returned(peer == 0 ? kNotEnabled : Error::InvalidDevice);
}
GPUMUX_CUDART_API Error cudaDeviceGetP2PAttribute(int* value, int, int, int) {
  return value == nullptr ? returned(Error::InvalidValue) : without_peer();
}

GPUMUX_CUDART_API Error cudaMemcpy3DPeer(const PeerCopy3D* of) { return copy_3d_of_peers(of, kBlocking); }
GPUMUX_CUDART_API Error cudaMemcpy3DPeer_ptds(const PeerCopy3D* of) {
  return copy_3d_of_peers(of, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpy3DPeerAsync(const PeerCopy3D* of, StreamHandle stream) {
  return copy_3d_of_peers(of, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy3DPeerAsync_ptsz(const PeerCopy3D* of, StreamHandle stream) {
  return copy_3d_of_peers(of, in_per_thread(stream));
}

}  // namespace gpumux::cudart
