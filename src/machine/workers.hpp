// A few threads that run the parts of one window of time side by side.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gpumux::machine {

/// run() hands out indices to the caller and threads - 1 helpers and returns when all are done. Windows
/// are tens of microseconds long, so waiting spins for a while before it yields. Which thread takes an
/// index never shows in results: the parts share nothing during a window.
class Workers {
 public:
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls work(i) once for each i in [0, count). Rethrows the exception of the lowest index.
  template <typename Work>
  void run(std::size_t count, const Work& work) {
    if (threads_.empty() || count < 2) {
      for (std::size_t i = 0; i < count; ++i) work(i);
      return;
    }
    start(
        count, [](const void* context, std::size_t i) { (*static_cast<const Work*>(context))(i); }, &work);
  }

 private:
  using Call = void (*)(const void*, std::size_t);
  void start(std::size_t count, Call call, const void* context);
  void take_indices();
  void helper();

  std::vector<std::jthread> threads_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::size_t> next_{0};
  std::atomic<unsigned> busy_{0};
  std::atomic<bool> stop_{false};
  std::size_t count_ = 0;
  Call call_ = nullptr;
  const void* context_ = nullptr;
  std::mutex error_mutex_;
  std::size_t error_index_ = 0;
  std::exception_ptr error_;
};

}  // namespace gpumux::machine
