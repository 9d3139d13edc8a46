// Streams and events.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel spin_kernel("spin");

/// Time is simulated time: two kernels in two streams take as long as one.
void streams() {
  Stream streams[2];
  Event events[3];
  for (Stream& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (Event& event : events) CHECK(cudaEventCreate(&event));
  int* const words = device<int>(64);
  const int rounds = 20000;
  float missing = 0;
  EXPECT_SAME(cudaEventElapsedTime(&missing, events[0], events[1]), 400);
  EXPECT_SAME(cudaGetLastError(), 400);
  CHECK(cudaEventRecord(events[0], nullptr));
  CHECK(launch(spin_kernel, {1}, {1}, 0, nullptr, words, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  EXPECT_SAME(cudaEventElapsedTime(&missing, events[0], events[1]), 600);
  CHECK(cudaEventSynchronize(events[1]));
  const float one = milliseconds(events[0], events[1]);
  EXPECT(one > 0);

  // Side by side: both begin after what the default stream has, and the default stream waits for both.
  CHECK(cudaEventRecord(events[0], nullptr));
  CHECK(launch(spin_kernel, {1}, {1}, 0, streams[0], words, rounds));
  CHECK(launch(spin_kernel, {1}, {1}, 0, streams[1], words + 32, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  CHECK(cudaEventSynchronize(events[1]));
  const float two = milliseconds(events[0], events[1]);
  EXPECT(two > 0.9F * one && two < 1.2F * one);

  // One after the other, by an event.
  CHECK(cudaEventRecord(events[0], streams[0]));
  CHECK(launch(spin_kernel, {1}, {1}, 0, streams[0], words, rounds));
  CHECK(cudaEventRecord(events[1], streams[0]));
  CHECK(cudaStreamWaitEvent(streams[1], events[1], 0));
  CHECK(launch(spin_kernel, {1}, {1}, 0, streams[1], words, rounds));
  CHECK(cudaEventRecord(events[2], streams[1]));
  EXPECT_SAME(cudaEventQuery(events[2]), 600);
  int asked = 1;
  while (cudaEventQuery(events[2]) == 600) ++asked;
  EXPECT(asked < 10);
  CHECK(cudaStreamQuery(streams[1]));
  const float in_turn = milliseconds(events[0], events[2]);
  EXPECT(in_turn > 1.8F * one);

  // The legacy default stream comes after a blocking one, and not after one that does not block.
  Stream apart;
  CHECK(cudaStreamCreateWithFlags(&apart, 1));
  unsigned flags = 0;
  CHECK(cudaStreamGetFlags(apart, &flags));
  EXPECT_SAME(flags, 1U);
  CHECK(cudaStreamGetFlags(streams[0], &flags));
  EXPECT_SAME(flags, 0U);
  CHECK(cudaEventRecord(events[0], apart));
  CHECK(launch(spin_kernel, {1}, {1}, 0, apart, words, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(milliseconds(events[0], events[1]) < 0.1F * one);
  CHECK(cudaEventRecord(events[0], streams[0]));
  CHECK(launch(spin_kernel, {1}, {1}, 0, streams[0], words, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(milliseconds(events[0], events[1]) > 0.9F * one);

  int called = 0;
  CHECK(cudaLaunchHostFunc(
      streams[0], [](void* data) { *static_cast<int*>(data) = 1; }, &called));
  CHECK(cudaStreamSynchronize(streams[0]));
  EXPECT_SAME(called, 1);
  for (Stream& stream : streams) CHECK(cudaStreamDestroy(stream));
  EXPECT_SAME(cudaStreamSynchronize(streams[0]), 400);
  std::printf("one %.6f two %.6f in turn %.6f\n", one, two, in_turn);
}

const Case streams_case("streams", streams);

}  // namespace
