// Brings messages from the parts that sent them to their receivers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arch/messages.hpp"
#include "base/huge_pages.hpp"
#include "engine/workers.hpp"

namespace gpumux::engine {

[[nodiscard]] inline std::uint32_t receiver(const arch::MemRequest& request) { return request.partition; }
[[nodiscard]] inline std::uint32_t receiver(const arch::MemReply& reply) { return reply.sm; }

/// Messages from SMs to partitions, or from partitions to SMs. Each thread keeps the messages of the parts
/// that it runs, grouped by the thread that owns the receiver. A message therefore moves between host cores
/// at most once, in a row with others. The messages of one sender keep their order. The order between senders
/// depends on which thread ran which part, so receivers sort messages by time and sender.
template <typename Message>
class Exchange {
 public:
  /// Thread t owns the receivers [first_owned(t), first_owned(t + 1)).
  template <typename Box>
  Exchange(const std::vector<Box*>& receivers, std::uint32_t threads)
      : threads_(threads),
        posted_(threads),
        posts_(std::size_t{threads} * threads),
        owner_(receivers.size()) {
    for (Box* box : receivers) receivers_.push_back({&box->in, &box->credits_in});
    const auto count = static_cast<std::uint32_t>(receivers.size());
    for (std::uint32_t t = 0; t < threads; ++t) {
      std::fill(owner_.begin() + first_owned(t, count, threads),
                owner_.begin() + first_owned(t + 1, count, threads), static_cast<std::uint16_t>(t));
    }
  }

  /// Takes the messages and credits from a sender's box. Called on the thread that ran the sender. With one
  /// thread there is nothing to wait for, so the messages are delivered at once. `next`: see deliver().
  template <typename Box>
  void post(std::uint32_t thread, Box& box, Cycle* next) {
    if (threads_ == 1) {
      bring(box.out, box.credits_out, next);
      return;
    }
    posted_[thread].something = true;
    Post* const posts = &posts_[std::size_t{thread} * threads_];
    for (const Message& message : box.out) posts[owner_[receiver(message)]].messages.push_back(message);
    for (const arch::Credit& credit : box.credits_out) posts[owner_[credit.to]].credits.push_back(credit);
    box.out.clear();
    box.credits_out.clear();
  }

  /// Delivers everything that was posted to the receivers of thread `owner`, and lowers next[receiver] to the
  /// earliest message's time. After all threads have posted, they may call this concurrently.
  void deliver(std::uint32_t owner, Cycle* next) {
    for (std::uint32_t t = 0; t < threads_; ++t) {
      Post& post = posts_[std::size_t{t} * threads_ + owner];
      bring(post.messages, post.credits, next);
    }
  }

  /// deliver() for all owners, on one thread.
  void deliver_all(Cycle* next) {
    for (std::uint32_t t = 0; t < threads_; ++t) {
      if (!posted_[t].something) continue;
      posted_[t].something = false;
      for (std::uint32_t owner = 0; owner < threads_; ++owner) {
        Post& post = posts_[std::size_t{t} * threads_ + owner];
        bring(post.messages, post.credits, next);
      }
    }
  }

 private:
  struct alignas(64) Posted {
    bool something = false;
  };
  struct alignas(64) Post {
    HugePageVector<Message> messages;
    HugePageVector<arch::Credit> credits;
  };
  void bring(HugePageVector<Message>& messages, HugePageVector<arch::Credit>& credits, Cycle* next) {
    for (const Message& message : messages) {
      const std::uint32_t to = receiver(message);
      receivers_[to].messages->push_back(message);
      next[to] = std::min(next[to], message.time);
    }
    // Credits wake no part: a part that waits for credits does not sleep.
    for (const arch::Credit& credit : credits) receivers_[credit.to].credits->push_back(credit);
    messages.clear();
    credits.clear();
  }

  struct Receiver {
    HugePageVector<Message>* messages;
    HugePageVector<arch::Credit>* credits;
  };
  std::uint32_t threads_;
  std::vector<Posted> posted_;  // by thread: true if it has posted since the last deliver_all()
  std::vector<Post> posts_;     // [thread that ran the sender][owner of the receiver]
  std::vector<std::uint16_t> owner_;
  std::vector<Receiver> receivers_;
};

}  // namespace gpumux::engine
