// Graphs: captured from two streams, made node by node, launched several times, and changed in between.
#include <cstdio>
#include <vector>

__global__ void add(int* to, int value) { to[threadIdx.x] += value; }
__global__ void sum(const int* a, const int* b, int* to) { to[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }

int calls = 0;
void count(void* by) { calls += *static_cast<int*>(by); }

bool all_are(const std::vector<int>& values, int wanted) {
  for (const int value : values)
    if (value != wanted) return false;
  return true;
}

int main() {
  constexpr int kCount = 128;
  constexpr std::size_t kBytes = kCount * sizeof(int);
  int *a, *b, *c;
  cudaMalloc(&a, kBytes);
  cudaMalloc(&b, kBytes);
  cudaMalloc(&c, kBytes);
  cudaMemset(a, 0, kBytes);
  std::vector<int> host(kCount, 7), back(kCount);
  cudaStream_t one, two;
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  cudaEvent_t fork, join;
  cudaEventCreate(&fork);
  cudaEventCreate(&join);

  // a += 1 beside b = 7 + 2, then c = a + b.
  cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, one);
  cudaStreamWaitEvent(two, fork, 0);
  add<<<1, kCount, 0, one>>>(a, 1);
  cudaMemcpyAsync(b, host.data(), kBytes, cudaMemcpyHostToDevice, two);
  add<<<1, kCount, 0, two>>>(b, 2);
  cudaEventRecord(join, two);
  cudaStreamWaitEvent(one, join, 0);
  sum<<<1, kCount, 0, one>>>(a, b, c);
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(two, &status);
  bool right = status == cudaStreamCaptureStatusActive;
  cudaGraph_t captured;
  right = right && cudaStreamEndCapture(one, &captured) == cudaSuccess;
  std::size_t nodes = 0;
  cudaGraphGetNodes(captured, nullptr, &nodes);
  right = right && nodes == 4;
  cudaGraphExec_t plan;
  right = right && cudaGraphInstantiate(&plan, captured, 0) == cudaSuccess;
  cudaGraphDestroy(captured);
  for (int i = 0; i < 3; ++i) right = right && cudaGraphLaunch(plan, one) == cudaSuccess;
  cudaStreamSynchronize(one);
  cudaMemcpy(back.data(), c, kBytes, cudaMemcpyDeviceToHost);
  right = right && all_are(back, 3 + 9);
  host.assign(kCount, 20);  // read when the graph is launched
  cudaGraphLaunch(plan, one);
  cudaStreamSynchronize(one);
  cudaMemcpy(back.data(), c, kBytes, cudaMemcpyDeviceToHost);
  right = right && all_are(back, 4 + 22);

  // c = 0, c += 5, and the host counts beside it.
  cudaGraph_t made;
  cudaGraphCreate(&made, 0);
  cudaGraphNode_t zero, five, hosts, end;
  cudaMemsetParams fill{};
  fill.dst = c;
  fill.elementSize = 4;
  fill.width = kCount;
  fill.height = 1;
  right = right && cudaGraphAddMemsetNode(&zero, made, nullptr, 0, &fill) == cudaSuccess;
  int value = 5;
  void* arguments[] = {&c, &value};
  cudaKernelNodeParams launch{};
  launch.func = (void*)add;
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(kCount);
  launch.kernelParams = arguments;
  right = right && cudaGraphAddKernelNode(&five, made, &zero, 1, &launch) == cudaSuccess;
  int by = 10;
  cudaHostNodeParams call{count, &by};
  right = right && cudaGraphAddHostNode(&hosts, made, nullptr, 0, &call) == cudaSuccess;
  const cudaGraphNode_t both[] = {five, hosts};
  right = right && cudaGraphAddEmptyNode(&end, made, both, 2) == cudaSuccess;
  cudaGraphExec_t second;
  right = right && cudaGraphInstantiate(&second, made, 0) == cudaSuccess;
  cudaGraphLaunch(second, two);
  value = 6;  // taken when the node was made
  cudaMemcpyAsync(back.data(), c, kBytes, cudaMemcpyDeviceToHost, two);
  cudaStreamSynchronize(two);
  right = right && all_are(back, 5) && calls == 10;
  cudaGraphExecKernelNodeSetParams(second, five, &launch);
  cudaGraphLaunch(second, two);
  cudaStreamSynchronize(two);
  cudaMemcpy(back.data(), c, kBytes, cudaMemcpyDeviceToHost);
  right = right && all_are(back, 6) && calls == 20 && cudaGetLastError() == cudaSuccess;
  cudaGraphExecDestroy(plan);
  cudaGraphExecDestroy(second);
  cudaGraphDestroy(made);
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
