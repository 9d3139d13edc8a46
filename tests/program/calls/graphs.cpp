// Graphs: nodes of all kinds, conditions, memory.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/program/calls/graph_calls.hpp"
#include "tests/program/calls/program.hpp"

namespace {

const Kernel append_kernel("append");
const Kernel count_down_kernel("count_down");
const Kernel decide_kernel("decide");

/// Parameters of a launch of one thread; arguments are taken when they are given to a call.
template <class... Arguments>
struct Launch {
  explicit Launch(const Kernel& kernel, Arguments... arguments) : values{arguments...} {
    params.function = &kernel;
    std::apply(
        [&](auto&... each) {
          std::size_t i = 0;
          ((pointers[i++] = &each), ...);
        },
        values);
    params.arguments = pointers;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  KernelParams params;
  std::tuple<Arguments...> values;
  void* pointers[sizeof...(Arguments)];
};

/// A node that writes a digit behind a number.
GraphNode digit(Graph graph, const std::vector<GraphNode>& after, int* number, int value) {
  GraphNode node = nullptr;
  const Launch launch(append_kernel, number, value);
  CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &launch.params));
  return node;
}

int read(const int* word) {
  int value = 0;
  CHECK(cudaMemcpy(&value, word, sizeof(value), kDeviceToHost));
  return value;
}
void write(int* word, int value) { CHECK(cudaMemcpy(word, &value, sizeof(value), kHostToDevice)); }

/// What a launch makes of 0.
int number_of(GraphExec exec, int* number, Stream stream = nullptr) {
  write(number, 0);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaDeviceSynchronize());
  return read(number);
}
GraphExec instantiated(Graph graph, unsigned long long flags = 0) {
  GraphExec exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, flags));
  return exec;
}

void topology() {
  int* const number = device<int>(1);
  Graph graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  GraphNode one = digit(graph, {}, number, 1);
  GraphNode empty = nullptr;
  CHECK(cudaGraphAddEmptyNode(&empty, graph, &one, 1));
  GraphNode two = digit(graph, {empty}, number, 2);
  GraphNode three = digit(graph, {two}, number, 3);
  std::size_t count = 0;
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_SAME(count, 3U);
  GraphNode from[4], to[4];
  count = 4;
  CHECK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
  EXPECT(count == 3 && from[0] == one && to[0] == empty && from[3] == nullptr);
  CHECK(cudaGraphGetRootNodes(graph, from, &count));
  EXPECT(count == 1 && from[0] == one);
  count = 4;
  CHECK(cudaGraphNodeGetDependencies(three, from, nullptr, &count));
  EXPECT(count == 1 && from[0] == two);
  count = 4;
  CHECK(cudaGraphNodeGetDependentNodes(empty, from, nullptr, &count));
  EXPECT(count == 1 && from[0] == two);
  GraphExec exec = instantiated(graph);
  EXPECT_SAME(number_of(exec, number), 123);

  // The other way round, and without the empty one.
  CHECK(cudaGraphRemoveDependencies(graph, &two, &three, nullptr, 1));
  EXPECT_SAME(cudaGraphRemoveDependencies(graph, &two, &three, nullptr, 1), 1);
  CHECK(cudaGraphAddDependencies(graph, &three, &one, nullptr, 1));
  CHECK(cudaGraphDestroyNode(empty));
  CHECK(cudaGraphAddDependencies(graph, &one, &two, nullptr, 1));
  GraphExec turned = instantiated(graph);
  EXPECT_SAME(number_of(turned, number), 312);
  UpdateInfo info;
  EXPECT_SAME(cudaGraphExecUpdate(exec, graph, &info), 910);
  EXPECT_SAME(info.result, 3);  // an empty node has become a kernel
  EXPECT_SAME(number_of(exec, number), 123);

  // A copy has nodes of its own; its parameters are brought to what was made of the first.
  Graph copy = nullptr;
  GraphNode copied = nullptr;
  CHECK(cudaGraphClone(&copy, graph));
  CHECK(cudaGraphNodeFindInClone(&copied, one, copy));
  const Launch four(append_kernel, number, 4);
  CHECK(cudaGraphKernelNodeSetParams(copied, &four.params));
  KernelParams params;
  CHECK(cudaGraphKernelNodeGetParams(copied, &params));
  EXPECT_SAME(*static_cast<int*>(params.arguments[1]), 4);
  CHECK(cudaGraphKernelNodeGetParams(one, &params));
  EXPECT_SAME(*static_cast<int*>(params.arguments[1]), 1);
  CHECK(cudaGraphExecUpdate(turned, copy, &info));
  EXPECT_SAME(info.result, 0);
  EXPECT_SAME(number_of(turned, number), 342);
  const Launch five(append_kernel, number, 5);
  CHECK(cudaGraphExecKernelNodeSetParams(turned, two, &five.params));
  CHECK(cudaGraphNodeSetEnabled(turned, three, 0));
  EXPECT_SAME(number_of(turned, number), 45);
  // Launched under capture it is a graph within another.
  Stream stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, 0));
  CHECK(launch(append_kernel, {1}, {1}, 0, stream, number, 8));
  CHECK(cudaGraphLaunch(turned, stream));
  CHECK(launch(append_kernel, {1}, {1}, 0, stream, number, 9));
  Graph outer = nullptr;
  CHECK(cudaStreamEndCapture(stream, &outer));
  count = 0;
  CHECK(cudaGraphGetNodes(outer, nullptr, &count));
  EXPECT_SAME(count, 3U);
  GraphExec nested = instantiated(outer);
  EXPECT_SAME(number_of(nested, number, stream), 8459);
  CHECK(cudaGraphExecDestroy(nested));
  CHECK(cudaGraphDestroy(outer));
  CHECK(cudaGraphAddDependencies(graph, &two, &three, nullptr, 1));  // a circle
  GraphExec none = nullptr;
  EXPECT_SAME(cudaGraphInstantiate(&none, graph, 0), 1);
  for (GraphExec each : {exec, turned}) CHECK(cudaGraphExecDestroy(each));
  for (Graph each : {graph, copy}) CHECK(cudaGraphDestroy(each));
}

void kinds() {
  int* const number = device<int>(4);
  Event event = nullptr;
  CHECK(cudaEventCreate(&event));
  Graph child = nullptr;
  CHECK(cudaGraphCreate(&child, 0));
  digit(child, {}, number, 7);
  digit(child, {}, number + 1, 8);

  Graph graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  FillParams fill{number, 0, 0, 4, 4, 1};
  GraphNode cleared = nullptr;
  CHECK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &fill));
  GraphNode one = digit(graph, {cleared}, number, 1);
  GraphNode inner = nullptr;
  CHECK(cudaGraphAddChildGraphNode(&inner, graph, &one, 1, child));
  Graph own = nullptr;
  CHECK(cudaGraphChildGraphNodeGetGraph(inner, &own));
  EXPECT(own != nullptr && own != child);
  GraphNode recorded = nullptr;
  CHECK(cudaGraphAddEventRecordNode(&recorded, graph, &inner, 1, event));
  Event is = nullptr;
  CHECK(cudaGraphEventRecordNodeGetEvent(recorded, &is));
  EXPECT(is == event);
  GraphNode waits = nullptr;
  CHECK(cudaGraphAddEventWaitNode(&waits, graph, &recorded, 1, event));
  digit(graph, {inner}, number, 2);
  const int constants[] = {5, 6};
  GraphNode constant = nullptr;
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&constant, graph, nullptr, 0, &table, constants, sizeof(constants), 4,
                                       kHostToDevice));
  GraphNode copied = nullptr;
  int results[2] = {};
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &waits, 1, results, number, sizeof(results), kDeviceToHost));
  for (const auto& [node, type] :
       {std::pair(inner, 4), std::pair(recorded, 7), std::pair(waits, 6), std::pair(copied, 1)}) {
    int has = -1;
    CHECK(cudaGraphNodeGetType(node, &has));
    EXPECT_SAME(has, type);
  }
  GraphExec exec = instantiated(graph);
  write(number, 99);
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaDeviceSynchronize());
  EXPECT_SAME(read(number), 172);
  EXPECT(results[0] / 10 == 1 || results[0] == 172);
  EXPECT_SAME(results[1], 8);
  int all[4] = {};
  CHECK(cudaMemcpyFromSymbol(all, &table, sizeof(all), 0, kDeviceToHost));
  EXPECT(all[0] == 1 && all[1] == 5 && all[2] == 6 && all[3] == 4);

  fill.value = 3;
  CHECK(cudaGraphExecMemsetNodeSetParams(exec, cleared, &fill));
  FillParams before;
  CHECK(cudaGraphMemsetNodeGetParams(cleared, &before));
  EXPECT_SAME(before.value, 0U);
  int other = 0;
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, copied, &other, number + 1, sizeof(other), kDeviceToHost));
  EXPECT_SAME(number_of(exec, number), 3172);
  EXPECT_SAME(other, 38);

  const std::string path = "graph.dot";
  CHECK(cudaGraphDebugDotPrint(graph, path.c_str(), 1));
  std::FILE* const file = std::fopen(path.c_str(), "r");
  EXPECT(file != nullptr);
  std::string text(1U << 14U, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  std::remove(path.c_str());
  for (const char* part : {"digraph dot", "append", "MEMSET", "CHILD GRAPH", " -> "})
    EXPECT(text.find(part) != std::string::npos);

  // An object of the program's lives as long as a graph that uses it, and what was made of it.
  int gone = 0;
  void* object = nullptr;
  CHECK(cudaUserObjectCreate(
      &object, &gone, [](void* of) { ++*static_cast<int*>(of); }, 1, 1));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, 0));
  CHECK(cudaUserObjectRelease(object, 1));
  GraphExec second = instantiated(graph);
  CHECK(cudaGraphDestroy(graph));
  EXPECT_SAME(gone, 0);
  CHECK(cudaGraphExecDestroy(second));
  EXPECT_SAME(gone, 1);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(child));
}

/// A conditional node behind others; its bodies.
std::vector<Graph> condition(Graph graph, const std::vector<GraphNode>& after, std::uint64_t handle, int kind,
                             unsigned size, GraphNode* made = nullptr) {
  NodeParams<ConditionParams> params{13, {}, {handle, kind, size, nullptr}};
  GraphNode node = nullptr;
  CHECK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &params));
  if (made != nullptr) *made = node;
  return std::vector<Graph>(params.of.bodies, params.of.bodies + size);
}

void conditions() {
  constexpr int kIf = 0;
  constexpr int kWhile = 1;
  constexpr int kSwitch = 2;
  Stream stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, 1));
  int* const words = device<int>(3);
  int* const number = words;
  int* const left = words + 1;
  int* const sum = words + 2;
  CHECK(cudaMemset(words, 0, 3 * sizeof(int)));

  // A loop whose body runs as often as a kernel in it says, in the time of the device: the host goes on.
  Graph loop = nullptr;
  CHECK(cudaGraphCreate(&loop, 0));
  std::uint64_t handle = 0;
  CHECK(cudaGraphConditionalHandleCreate(&handle, loop, 1, 1));
  GraphNode node = nullptr;
  const Graph body = condition(loop, {}, handle, kWhile, 1, &node).front();
  NodeParams<KernelParams> params{0, {}, {}};
  const Launch counts(count_down_kernel, handle, left, sum);
  params.of = counts.params;
  GraphNode counting = nullptr;
  CHECK(cudaGraphAddNode(&counting, body, nullptr, nullptr, 0, &params));
  digit(loop, {node}, number, 4);
  GraphExec exec = instantiated(loop);
  write(left, 5);
  CHECK(cudaGraphLaunch(exec, stream));
  EXPECT_SAME(cudaStreamQuery(stream), 600);
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(read(sum) == 15 && read(left) == 0 && read(number) == 4);
  write(left, 3);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphLaunch(exec, nullptr));  // behind it: once, and then left is -1
  CHECK(cudaDeviceSynchronize());
  EXPECT(read(sum) == 21 && read(left) == -1 && read(number) == 444);
  // What it adds to is changed in what was made of the graph.
  const Launch elsewhere(count_down_kernel, handle, left, number);
  CHECK(cudaGraphExecKernelNodeSetParams(exec, counting, &elsewhere.params));
  write(left, 2);
  EXPECT_SAME(number_of(exec, number, stream), 34);

  // One of several, and one of two within it, in the order of the stream.
  Graph choice = nullptr;
  CHECK(cudaGraphCreate(&choice, 0));
  std::uint64_t which = 0;
  std::uint64_t inner = 0;
  CHECK(cudaGraphConditionalHandleCreate(&which, choice, 0, 0));
  CHECK(cudaGraphConditionalHandleCreate(&inner, choice, 0, 1));
  GraphNode decided = nullptr;
  const Launch second(decide_kernel, which, 1U);
  CHECK(cudaGraphAddKernelNode(&decided, choice, nullptr, 0, &second.params));
  const std::vector<Graph> bodies = condition(choice, {decided}, which, kSwitch, 3);
  digit(bodies[0], {}, number, 5);
  GraphNode first = digit(bodies[1], {}, number, 6);
  GraphNode beside = digit(bodies[1], {}, sum, 1);  // in a stream of its own
  const std::vector<Graph> both = condition(bodies[1], {first, beside}, inner, kIf, 2);
  digit(both[0], {}, number, 7);
  digit(both[1], {}, number, 8);
  GraphExec chosen = instantiated(choice);
  write(sum, 0);
  EXPECT_SAME(number_of(chosen, number, stream), 68);
  EXPECT_SAME(read(sum), 1);
  const Launch third(decide_kernel, which, 0U);
  CHECK(cudaGraphExecKernelNodeSetParams(chosen, decided, &third.params));
  EXPECT_SAME(number_of(chosen, number, stream), 5);
  const Launch last(decide_kernel, which, 9U);
  CHECK(cudaGraphExecKernelNodeSetParams(chosen, decided, &last.params));
  EXPECT_SAME(number_of(chosen, number, stream), 0);

  // Under capture: a condition behind what was captured, and a body that is captured into its graph.
  Stream captured = nullptr;
  CHECK(cudaStreamCreate(&captured));
  CHECK(cudaStreamBeginCapture(captured, 0));
  CHECK(launch(append_kernel, {1}, {1}, 0, captured, number, 1));
  int status = 0;
  Graph into = nullptr;
  const GraphNode* after = nullptr;
  std::size_t count = 0;
  CHECK(cudaStreamGetCaptureInfo(captured, &status, nullptr, &into, &after, nullptr, &count));
  EXPECT(status == 1 && count == 1);
  std::uint64_t captures = 0;
  CHECK(cudaGraphConditionalHandleCreate(&captures, into, 1, 1));
  const Graph part = condition(into, {after[0]}, captures, kIf, 1, &node).front();
  CHECK(cudaStreamUpdateCaptureDependencies(captured, &node, nullptr, 1, 1));
  CHECK(launch(append_kernel, {1}, {1}, 0, captured, number, 3));
  Graph whole = nullptr;
  CHECK(cudaStreamEndCapture(captured, &whole));
  EXPECT(whole == into);
  CHECK(cudaStreamBeginCaptureToGraph(captured, part, nullptr, nullptr, 0, 0));
  CHECK(launch(append_kernel, {1}, {1}, 0, captured, number, 2));
  CHECK(cudaStreamEndCapture(captured, nullptr));
  GraphExec made = instantiated(whole);
  EXPECT_SAME(number_of(made, number, captured), 123);

  NodeParams<ConditionParams> wrong{13, {}, {handle, kWhile, 2, nullptr}};
  EXPECT_SAME(cudaGraphAddNode(&node, loop, nullptr, nullptr, 0, &wrong), 1);
  for (GraphExec each : {exec, chosen, made}) CHECK(cudaGraphExecDestroy(each));
  for (Graph each : {loop, choice, whole}) CHECK(cudaGraphDestroy(each));
  std::printf("%d\n", read(sum));
}

std::uint64_t attribute(int which) {
  std::uint64_t value = ~0ULL;
  CHECK(cudaDeviceGetGraphMemAttribute(0, which, &value));
  return value;
}

void memory() {
  constexpr std::size_t kBytes = 1U << 20U;
  constexpr int kUsed = 0;
  constexpr int kMostReserved = 3;
  Stream stream = nullptr;
  Stream other = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, 1));
  CHECK(cudaStreamCreateWithFlags(&other, 1));
  int* const loads_the_module = device<int>(1);
  CHECK(launch(append_kernel, {1}, {1}, 0, stream, loads_the_module, 0));
  std::size_t free_before = 0;
  std::size_t total = 0;
  CHECK(cudaMemGetInfo(&free_before, &total));

  // One behind the free of another has its address.
  Graph graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  AllocationParams params;
  params.bytes = kBytes;
  GraphNode first = nullptr;
  CHECK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &params));
  int* const number = static_cast<int*>(params.pointer);
  FillParams zero{number, 0, 0, 4, 1, 1};
  GraphNode cleared = nullptr;
  CHECK(cudaGraphAddMemsetNode(&cleared, graph, &first, 1, &zero));
  GraphNode written = digit(graph, {cleared}, number, 6);
  int seen = 0;
  GraphNode copied = nullptr;
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &written, 1, &seen, number, sizeof(seen), kDeviceToHost));
  GraphNode freed = nullptr;
  EXPECT_SAME(cudaGraphAddMemFreeNode(&freed, graph, nullptr, 0, number), 1);  // not behind its allocation
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, number));
  EXPECT_SAME(cudaGraphAddMemFreeNode(&freed, graph, &freed, 1, number), 1);  // twice
  GraphNode again = nullptr;
  CHECK(cudaGraphAddMemAllocNode(&again, graph, &freed, 1, &params));
  EXPECT(params.pointer == number);
  GraphNode beside = nullptr;
  CHECK(cudaGraphAddMemAllocNode(&beside, graph, &copied, 1, &params));
  EXPECT(params.pointer != number);
  void* pointer = params.pointer;
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &beside, 1, pointer));
  void* freed_pointer = nullptr;
  CHECK(cudaGraphMemFreeNodeGetParams(freed, &freed_pointer));
  EXPECT(freed_pointer == pointer);
  AllocationParams described;
  CHECK(cudaGraphMemAllocNodeGetParams(beside, &described));
  EXPECT(described.pointer == pointer && described.bytes == kBytes);
  EXPECT_SAME(attribute(kUsed), 0U);
  GraphExec exec = instantiated(graph);
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT_SAME(seen, 6);
  EXPECT_SAME(attribute(kUsed), 2 * kBytes);
  std::size_t free_now = 0;
  CHECK(cudaMemGetInfo(&free_now, &total));
  EXPECT_SAME(free_before - free_now, 2 * kBytes);
  EXPECT_SAME(cudaGraphLaunch(exec, stream), 1);  // `again` is still allocated
  CHECK(cudaFree(number));
  EXPECT_SAME(cudaFree(number), 1);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaFreeAsync(number, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaDeviceGraphMemTrim(0));
  EXPECT(attribute(kUsed) == 0 && attribute(kMostReserved) == 2 * kBytes);
  std::uint64_t none = 0;
  CHECK(cudaDeviceSetGraphMemAttribute(0, kMostReserved, &none));
  EXPECT_SAME(attribute(kMostReserved), 0U);

  // Captured. Graphs one behind the other in a stream share memory; those side by side do not.
  GraphExec execs[2];
  int* numbers[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamBeginCapture(stream, 0));
    void* made = nullptr;
    CHECK(cudaMallocAsync(&made, kBytes, stream));
    numbers[i] = static_cast<int*>(made);
    CHECK(launch(append_kernel, {1}, {1}, 0, stream, numbers[i], 1));
    CHECK(cudaFreeAsync(made, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    execs[i] = instantiated(graph);
    CHECK(cudaGraphDestroy(graph));
  }
  EXPECT(numbers[0] != numbers[1]);
  CHECK(cudaGraphLaunch(execs[0], stream));
  CHECK(cudaGraphLaunch(execs[1], stream));
  EXPECT_SAME(attribute(kUsed), kBytes);
  CHECK(cudaGraphLaunch(execs[1], other));
  EXPECT_SAME(attribute(kUsed), 2 * kBytes);
  CHECK(cudaDeviceSynchronize());
  for (GraphExec each : execs) CHECK(cudaGraphExecDestroy(each));
  CHECK(cudaDeviceGraphMemTrim(0));
  EXPECT_SAME(attribute(kUsed), 0U);

  // What a launch leaves is freed by the next one, where that is asked for.
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddMemAllocNode(&first, graph, nullptr, 0, &params));
  GraphExec leaves = instantiated(graph, 1);
  unsigned long long flags = 0;
  CHECK(cudaGraphExecGetFlags(leaves, &flags));
  EXPECT_SAME(flags, 1ULL);
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(leaves, stream));
  EXPECT_SAME(attribute(kUsed), kBytes);
  // And by a graph that frees it.
  Graph frees = nullptr;
  CHECK(cudaGraphCreate(&frees, 0));
  CHECK(cudaGraphAddMemFreeNode(&freed, frees, nullptr, 0, params.pointer));
  GraphExec free_exec = instantiated(frees);
  CHECK(cudaGraphLaunch(free_exec, stream));
  EXPECT_SAME(cudaGraphLaunch(free_exec, stream), 1);
  for (GraphExec each : {leaves, free_exec}) CHECK(cudaGraphExecDestroy(each));
  for (Graph each : {graph, frees}) CHECK(cudaGraphDestroy(each));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaDeviceGraphMemTrim(0));
  CHECK(cudaMemGetInfo(&free_now, &total));
  EXPECT_SAME(free_now, free_before);
}

const Case topology_case("graphs", topology);
const Case kinds_case("graph-nodes", kinds);
const Case conditions_case("conditions", conditions);
const Case memory_case("graph-memory", memory);

}  // namespace
