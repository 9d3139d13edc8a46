// The way of messages from the parts that sent them to those that they are for.
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

/// From SMs to partitions, or back. Each thread keeps what the parts that it runs have sent, by the thread
/// that owns the receiver: so a message moves from core to core at most once, in a row with others. A
/// sender's messages keep their order; how those of different senders follow each other depends on who ran
/// whom, so receivers sort by time and sender.
template <typename Message>
class Exchange {
 public:
  /// Of the receivers, thread t owns [first_owned(t), first_owned(t + 1)).
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

  /// Takes what has been put into a sender's box, on the thread that ran it. `next`: see deliver(); with one
  /// thread, which need not wait for others, the messages are with their receivers at once.
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

  /// Brings all that was posted to the receivers that a thread owns, and next[receiver] forward to what it
  /// gets. Threads may do so side by side when all have posted.
  void deliver(std::uint32_t owner, Cycle* next) {
    for (std::uint32_t t = 0; t < threads_; ++t) {
      Post& post = posts_[std::size_t{t} * threads_ + owner];
      bring(post.messages, post.credits, next);
    }
  }

  /// The same for all, on one thread.
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
    // Nobody sleeps who waits for credits.
    for (const arch::Credit& credit : credits) receivers_[credit.to].credits->push_back(credit);
    messages.clear();
    credits.clear();
  }

  struct Receiver {
    HugePageVector<Message>* messages;
    HugePageVector<arch::Credit>* credits;
  };
  std::uint32_t threads_;
  std::vector<Posted> posted_;  // by thread, since the last deliver_all()
  std::vector<Post> posts_;     // [thread that ran the sender][owner of the receiver]
  std::vector<std::uint16_t> owner_;
  std::vector<Receiver> receivers_;
};

}  // namespace gpumux::engine
