// The kernel by which CUB's device-wide sort sorts what fits the tile of one block.
#include <cub/device/dispatch/dispatch_radix_sort.cuh>

using Policy = cub::detail::radix::policy_hub<unsigned, cub::NullType, unsigned>::Policy1000;
template __global__ void cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<
    Policy, cub::SortOrder::Ascending, unsigned, cub::NullType, unsigned, cub::detail::identity_decomposer_t>(
    const unsigned*, unsigned*, const cub::NullType*, cub::NullType*, unsigned, int, int,
    cub::detail::identity_decomposer_t);
