// Priorities of streams, launches and graphs' kernels.
#include "tests/program/calls/graph_calls.hpp"
#include "tests/program/calls/program.hpp"

namespace {

const Kernel spin_kernel("spin");

constexpr int kPriority = 8;       // an attribute of launches, streams and nodes
constexpr unsigned kBlocks = 960;  // twice what the machine holds
constexpr int kRounds = 300;

struct Attribute {
  int id;
  int unused = 0;
  int value[16] = {};
};
struct Config {
  Dim grid, block;
  std::size_t shared = 0;
  Stream stream = nullptr;
  Attribute* attributes = nullptr;
  unsigned count = 0;
};

/// Whether what was launched last, in the second stream, was over first.
struct Race {
  Event begin = nullptr, ends[2] = {};
  Stream streams[2] = {};
  Race() {
    CHECK(cudaEventCreate(&begin));
    for (Event& end : ends) CHECK(cudaEventCreate(&end));
  }
  [[nodiscard]] bool last_wins() const {
    for (int i = 0; i < 2; ++i) CHECK(cudaEventRecord(ends[i], streams[i]));
    CHECK(cudaDeviceSynchronize());
    return milliseconds(begin, ends[1]) < 0.9F * milliseconds(begin, ends[0]);
  }
};

void priorities() {
  int least = 1;
  int greatest = 1;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least == 0 && greatest == -5);
  int* const word = device<int>(1);
  Race race;
  Stream(&streams)[2] = race.streams;
  CHECK(cudaStreamCreateWithPriority(&streams[0], 1, 3));  // as near as there is
  CHECK(cudaStreamCreateWithPriority(&streams[1], 1, greatest));
  int priority = 1;
  CHECK(cudaStreamGetPriority(streams[0], &priority));
  EXPECT_SAME(priority, 0);
  CHECK(cudaStreamGetPriority(streams[1], &priority));
  EXPECT_SAME(priority, -5);
  CHECK(cudaStreamGetPriority(nullptr, &priority));
  EXPECT_SAME(priority, 0);

  const auto spin = [&](Stream stream) {
    CHECK(launch(spin_kernel, {kBlocks}, {32}, 0, stream, word, kRounds));
  };
  const auto both = [&] {
    CHECK(cudaEventRecord(race.begin, streams[0]));
    for (Stream stream : streams) spin(stream);
    return race.last_wins();
  };
  EXPECT(both());
  // A stream may change, for what comes.
  CHECK(cudaStreamSetAttribute(streams[1], kPriority, &least));
  EXPECT(!both());
  const int middle = -2;
  CHECK(cudaStreamSetAttribute(streams[1], kPriority, &middle));
  CHECK(cudaStreamSetAttribute(streams[0], kPriority, &greatest));
  EXPECT(!both());
  CHECK(cudaStreamSetAttribute(streams[0], kPriority, &least));
  EXPECT(both());

  // A launch has its own.
  CHECK(cudaStreamSetAttribute(streams[1], kPriority, &least));
  CHECK(cudaEventRecord(race.begin, streams[0]));
  spin(streams[0]);
  Attribute attribute{kPriority, 0, {greatest}};
  Config config{{kBlocks}, {32}, 0, streams[1], &attribute, 1};
  int rounds = kRounds;
  void* arguments[] = {const_cast<int**>(&word), &rounds};
  CHECK(cudaLaunchKernelExC(&config, &spin_kernel, arguments));
  EXPECT(race.last_wins());
  // What a launch may ask for and need not get: to begin before the one before it ends; and a cluster of one
  // block.
  constexpr int kProgrammaticSerialization = 6;
  constexpr int kClusterDimension = 4;
  Attribute several[] = {{kProgrammaticSerialization, 0, {1}}, {kClusterDimension, 0, {1, 1, 1}}};
  config.attributes = several;
  config.count = 2;
  CHECK(cudaLaunchKernelExC(&config, &spin_kernel, arguments));

  // Kernels of graphs have that of the stream of the launch, or where that is asked for their own.
  Graph graph = nullptr;
  GraphNode node = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  KernelParams params{&spin_kernel, {kBlocks}, {32}, 0, arguments, nullptr};
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  CHECK(cudaGraphKernelNodeSetAttribute(node, kPriority, &greatest));
  CHECK(cudaGraphKernelNodeGetAttribute(node, kPriority, &priority));
  EXPECT_SAME(priority, greatest);
  GraphExec execs[2];
  CHECK(cudaGraphInstantiate(&execs[0], graph, 0));
  CHECK(cudaGraphInstantiate(&execs[1], graph, 8));
  const auto beside = [&](GraphExec exec) {
    CHECK(cudaEventRecord(race.begin, streams[0]));
    spin(streams[0]);
    CHECK(cudaGraphLaunch(exec, streams[1]));
    return race.last_wins();
  };
  EXPECT(!beside(execs[0]));
  EXPECT(beside(execs[1]));
  CHECK(cudaStreamSetAttribute(streams[1], kPriority, &greatest));
  EXPECT(beside(execs[0]));
}

/// As they come, whatever that does: without their time nothing does.
void launched() {
  int* const word = device<int>(1);
  for (const int priority : {0, -1, -5, -3}) {
    Stream stream = nullptr;
    CHECK(cudaStreamCreateWithPriority(&stream, 1, priority));
    CHECK(launch(spin_kernel, {kBlocks}, {32}, 0, stream, word, kRounds));
  }
  CHECK(cudaDeviceSynchronize());
}

/// Clusters of two blocks, and nothing else.
void cluster_launch() {
  int* word = device<int>(1);
  int rounds = 1;
  void* arguments[] = {static_cast<void*>(&word), &rounds};
  Attribute clusters{4, 0, {2, 1, 1}};
  const Config config{{kBlocks}, {32}, 0, nullptr, &clusters, 1};
  EXPECT_SAME(cudaLaunchKernelExC(&config, &spin_kernel, arguments), 801);
}

const Case launched_case("priorities-launched", launched);
const Case cluster_case("cluster-launch", cluster_launch);
const Case priorities_case("priorities", priorities);

}  // namespace
