// The kernels of CUB's device-wide reduction, scan and sort (of keys that fit one block's tile), instantiated by a host function
// that nobody calls.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

void instantiate(void* storage, size_t& bytes, const int* in, int* out, int n) {
  cub::DeviceReduce::Sum(storage, bytes, in, out, n);
  cub::DeviceScan::ExclusiveSum(storage, bytes, in, out, n);
}
