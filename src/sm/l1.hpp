// L1 data cache: tags, line reservation, MSHRs. L1 knows nothing of warps: the instructions that wait for a
// line are in lists of waiters, which the LSU reads at the fill.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "arch/config.hpp"
#include "base/huge_pages.hpp"
#include "ledger/shadow_tags.hpp"
#include "sm/lost_locality.hpp"
#include "sm/pool.hpp"

namespace gpumux::sm {

/// Outcome of a load's access. The Fail kinds are reservation failures and leave everything unchanged.
enum class L1Result : std::uint8_t { Hit, Merged, Miss, FailLine, FailMshr, FailMerge, FailMissQueue };

struct L1Access {
  L1Result result = L1Result::Hit;
  std::uint8_t missing = 0;   // sectors that were absent (line caches: all or none)
  std::uint8_t pending = 0;   // missing sectors that were already requested
  std::uint8_t request = 0;   // sectors to request now; 0 unless result == Miss
  std::uint32_t mshr = kNil;  // MSHR for waiters (Merged, Miss)
};

class L1 {
 public:
  explicit L1(const arch::L1Config& config);

  /// Accesses `sectors` of `line` for a load. `queue_room`: the miss queue has a free entry.
  L1Access load(std::uint64_t line, std::uint8_t sectors, bool queue_room, AppId app = 0);
  /// Drops the sectors of an atomic that goes to L2. Returns the sectors that were present.
  std::uint8_t drop_sectors(std::uint64_t line, std::uint8_t sectors);
  /// Drops, updates or allocates the sectors of a store that goes to L2, depending on l1.write. `whole`: the
  /// store covers its sectors completely. Returns the sectors that were present.
  std::uint8_t write(std::uint64_t line, std::uint8_t sectors, bool whole, AppId app = 0);
  /// Adds a waiter to an MSHR returned by load().
  void wait(std::uint32_t mshr, std::uint32_t op, std::uint8_t sectors);
  /// Sectors of a line have arrived. Calls done(op) for each waiter that now has all its
  /// sectors, in order of waiting.
  template <typename Done>
  void fill(std::uint32_t mshr, std::uint8_t sectors, Done&& done) {
    Mshr& entry = mshrs_[mshr];
    Mask& mask = mask_at(entry.place);
    if (locality_ != nullptr) [[unlikely]]
      loader_ = mshr_loader_[mshr];
    sectors &= mask.pending;
    mask.pending &= static_cast<std::uint8_t>(~sectors);
    if (!entry.stale) arrive(entry, sectors);
    if (entry.first.op != kNil && (entry.first.sectors &= static_cast<std::uint8_t>(~sectors)) == 0) {
      const std::uint32_t op = entry.first.op;
      entry.first.op = kNil;
      --waiting_;
      done(op);
    }
    std::uint32_t* link = &entry.first.next;
    entry.last = kNil;
    while (*link != kNil) {
      const std::uint32_t index = *link;
      Waiter& waiter = waiters_[index];
      waiter.sectors &= static_cast<std::uint8_t>(~sectors);
      if (waiter.sectors != 0) {
        entry.last = index;
        link = &waiter.next;
        continue;
      }
      *link = waiter.next;
      const std::uint32_t op = waiter.op;
      waiters_.give(index);
      --waiting_;
      done(op);
    }
    if (mask.pending == 0) release(mshr);
  }
  /// Prefetches what load() of the line accesses.
  [[gnu::always_inline]] void prefetch(std::uint64_t line) const {
    __builtin_prefetch(&buckets_[home(line)], 1);
  }
  /// Prefetches the MSHR, which fill() accesses first, together with prefetch() of its line.
  [[gnu::always_inline]] void prefetch_mshr(std::uint32_t mshr) const {
    __builtin_prefetch(&mshrs_[mshr], 1);
  }
  /// First waiter of an MSHR. Call after prefetch_mshr() has completed.
  [[nodiscard]] std::uint32_t first_waiter(std::uint32_t mshr) const { return mshrs_[mshr].first.op; }
  /// Prefetches the sets that evictions access. First of three steps.
  [[gnu::always_inline]] void prefetch_sets() const {
    for (std::uint32_t set = 0; set < std::min(sets_, kSetsAhead); set += 64 / sizeof(Set))
      __builtin_prefetch(&sets_of_lines_[set], 1);
  }
  /// Prefetches the lines that are evicted next. Second step.
  [[gnu::always_inline]] void prefetch_victims() const {
    for (std::uint32_t set = 0; set < std::min(sets_, kSetsAhead); ++set)
      if (const std::uint16_t line = sets_of_lines_[set].read.oldest; line != kNone)
        __builtin_prefetch(&lines_[line], 1);
  }
  /// Prefetches the buckets of the lines that are evicted next. Third step.
  [[gnu::always_inline]] void prefetch_victims_buckets() const {
    for (std::uint32_t set = 0; set < std::min(sets_, kSetsAhead); ++set)
      if (const std::uint16_t line = sets_of_lines_[set].read.oldest; line != kNone)
        prefetch_next_victim(line);
  }

  /// Drops all lines. Data on its way still goes to its waiters, and is then dropped.
  void flush();
  /// Sets the bytes that L1 may use (unified L1 and shared memory). The number of ways scales.
  void resize(std::uint32_t bytes);
  [[nodiscard]] std::uint32_t bytes() const { return sets_ * ways_ * kLineBytes; }
  [[nodiscard]] std::uint32_t sets() const { return sets_; }
  [[nodiscard]] std::uint32_t ways() const { return ways_; }
  [[nodiscard]] std::uint32_t max_ways() const { return max_ways_; }
  [[nodiscard]] std::uint32_t set_index(std::uint64_t line) const;
  /// True: a store drops the sectors that it writes. False: it updates them.
  [[nodiscard]] bool write_evicts() const { return write_evict_; }

  /// Restricts each application to its granted ways of a set. An application with fewer lines evicts the
  /// oldest line of another application. An application with all its lines evicts one of its own, and waits
  /// while all of these are reserved. Must first be called before the first access.
  void divide_ways(const std::array<std::uint32_t, kMaxApps>& granted);
  /// Records the owner of each line from now on, so that limit_ways() can be used. Must be
  /// called before the first access.
  void begin_way_limits();
  /// Limits the lines of an application in a full set. At the limit, its oldest line is evicted for its next
  /// one; below, the oldest line of the set. 0: no limit.
  void limit_ways(AppId app, std::uint32_t ways);
  /// Limits each application to `each` MSHRs. Must first be called before the first access.
  void divide_mshrs(std::uint32_t each);
  /// Counts the MSHRs of each application: mshrs_of(). Must be called before the first access.
  void count_mshrs() { counts_mshrs_ = true; }
  /// Counts MSHRs and reports evictions to `shadow`, which has sets() sets and max_ways() ways. Must be
  /// called before the first access.
  void keep_ledger(ledger::ShadowTags* shadow) {
    count_mshrs();
    shadow_ = shadow;
    shadow_->set_ways(ways_);
    owner_.resize(lines_.size(), 0);
  }
  /// Sectors that are accessed together with these sectors.
  [[nodiscard]] std::uint8_t whole(std::uint8_t sectors) const {
    return sectored_ ? sectors : std::uint8_t{0xf};
  }
  /// Tells `locality` for which warp each line was loaded, and which lines are evicted. Loads are for the
  /// warp of next_loader(). Must be called before the first access.
  void keep_locality(LostLocality* locality) { locality_ = locality; }
  void next_loader(LostLocality::Loader loader) { loader_ = loader; }
  [[nodiscard]] const std::array<std::uint32_t, kMaxApps>& mshrs_of() const { return mshrs_of_; }
  /// Number of accesses in `sectors`: accesses count sectors or lines.
  [[nodiscard]] std::uint32_t units(std::uint8_t sectors) const {
    return sectored_ ? static_cast<std::uint32_t>(std::popcount(sectors)) : (sectors != 0 ? 1U : 0U);
  }
  [[nodiscard]] std::uint32_t mshrs_in_use() const { return mshrs_.in_use(); }
  [[nodiscard]] std::uint32_t waiters() const { return waiting_; }
  [[nodiscard]] std::uint32_t reserved_lines() const;

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr std::uint32_t kPerBucket = 8;
  static constexpr std::uint32_t kSetsAhead = 8;  // further sets are rarely used within a window

  /// State of a line that is present or on its way. The line has a place in the bucket of its hash, or in a
  /// following bucket if that one was full.
  struct Mask {
    std::uint16_t tag = 0;
    std::uint8_t valid = 0;
    std::uint8_t pending = 0;  // requested, not arrived
  };
  struct alignas(64) Bucket {
    std::array<Mask, kPerBucket> mask{};
    std::array<std::uint16_t, kPerBucket> way{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
    std::array<std::uint16_t, kPerBucket> mshr{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  };
  static_assert(sizeof(Bucket) == 64);
  /// A line of the data array.
  struct Line {
    std::uint64_t line = 0;
    std::uint32_t place = 0;      // bucket * kPerBucket + entry
    std::uint16_t newer = kNone;  // next line in the set's order of use
    std::uint16_t older = kNone;  // previous line; of a free line: the next free line
  };
  static_assert(sizeof(Line) == 16);
  /// A list of lines in order of use.
  struct Order {
    std::uint16_t newest = kNone;
    std::uint16_t oldest = kNone;
  };
  struct Set {
    Order read;
    std::uint16_t lines = 0;
    std::uint16_t reserved = 0;
    Order written;  // lines kept because stores wrote them; empty without l1.written_kept
  };
  /// Use of a line, if written lines are kept.
  struct Use {
    std::uint64_t last = 0;  // larger: more recent
    bool written = false;
  };
  /// An instruction that waits for sectors of a line.
  struct Waiter {
    std::uint32_t op = kNil;  // memory instruction
    std::uint32_t next = kNil;
    std::uint8_t sectors = 0;  // sectors still missing
  };
  struct Mshr {
    std::uint64_t line = 0;
    std::uint32_t place = 0;
    std::uint32_t last = kNil;  // last waiter after the first
    Waiter first;               // stored here because most lines have one waiter
    std::uint8_t merges = 0;
    bool stale = false;  // flushed while its data was on its way
    AppId app = 0;       // application of the miss
  };
  static_assert(sizeof(Mshr) == 32);

  [[nodiscard]] std::uint32_t set_of(std::uint64_t line) const;
  [[nodiscard]] static std::uint64_t hash(std::uint64_t line) { return line * 0x9e37'79b9'7f4a'7c15ULL; }
  /// Uses other bits than home(), so few lines of a bucket have equal tags.
  [[nodiscard]] static std::uint16_t tag_of(std::uint64_t line) {
    return static_cast<std::uint16_t>(hash(line) >> 24U);
  }
  [[nodiscard]] std::uint32_t home(std::uint64_t line) const {
    return static_cast<std::uint32_t>(hash(line) >> bucket_shift_);
  }
  [[nodiscard]] Mask& mask_at(std::uint32_t place) {
    return buckets_[place / kPerBucket].mask[place % kPerBucket];
  }
  [[nodiscard]] std::uint16_t& way_at(std::uint32_t place) {
    return buckets_[place / kPerBucket].way[place % kPerBucket];
  }
  [[nodiscard]] std::uint16_t& mshr_at(std::uint32_t place) {
    return buckets_[place / kPerBucket].mshr[place % kPerBucket];
  }
  /// Place of a line; kNil: the line is neither present nor on its way.
  [[nodiscard]] std::uint32_t find(std::uint64_t line) const;
  std::uint32_t take_place(std::uint64_t line);
  void give_place(std::uint32_t place, std::uint64_t line);
  /// On-miss allocation: true if the line waits for its data and cannot be evicted.
  [[nodiscard]] bool reserved(const Line& line) { return on_miss_ && mshr_at(line.place) != kNone; }
  [[gnu::always_inline]] void prefetch_next_victim(std::uint16_t index) const {
    __builtin_prefetch(&buckets_[lines_[index].place / kPerBucket], 1);
    if (lines_[index].newer != kNone) __builtin_prefetch(&lines_[lines_[index].newer], 1);
  }
  /// The order that contains the line.
  [[nodiscard]] Order& order_of(Set& set, std::uint16_t index) {
    return keeps_written_ && uses_[index].written ? set.written : set.read;
  }
  void unlink(Set& set, std::uint16_t index);
  void make_newest(Set& set, std::uint16_t index);
  void touch(std::uint16_t index);
  void drop(std::uint16_t index);
  void drop(std::uint16_t index, Set& set);
  /// Keeps a line that was written, as long as few lines are kept.
  void keep(std::uint16_t index, Set& set);
  /// The line to evict next if written lines are kept.
  [[nodiscard]] std::uint16_t victim_beside_kept(const Set& set);
  /// Drops unreserved lines while there are more than `most`: read lines first, oldest first.
  void shrink(Set& set, std::uint32_t most);
  /// Makes room for one line. Returns false if every line is reserved.
  [[nodiscard]] bool make_room(Set& set, AppId app);
  /// With divided or limited ways: the line to evict for one of the application; kNone:
  /// the application must wait.
  [[nodiscard]] std::uint16_t victim(const Set& set, AppId app);
  [[nodiscard]] bool lacks_way(Set& set, AppId app);
  [[nodiscard]] bool make_room_in_share(Set& set, AppId app);
  /// The application other than `app` that holds most lines of the set.
  [[nodiscard]] AppId other_holder(const Set& set, AppId app) const;
  /// Evicts the line for one of the application.
  void displace(std::uint16_t index, Set& set, AppId app) {
    if (shadow_ != nullptr) [[unlikely]]
      shadow_->evicted(owner_[index], static_cast<std::uint32_t>(&set - sets_of_lines_.data()),
                       lines_[index].line, app, [&] { return other_holder(set, app); });
    if (locality_ != nullptr) [[unlikely]]
      locality_->evicted(index, lines_[index].line);
    drop(index, set);
  }
  std::uint16_t insert(std::uint64_t line, std::uint32_t place, Set& set, AppId app);
  void arrive(const Mshr& entry, std::uint8_t sectors);
  void release(std::uint32_t mshr);

  bool sectored_;
  bool on_miss_;
  arch::L1Index index_;
  bool write_evict_;
  bool write_allocate_;
  bool power_of_two_;          // the number of sets is a power of two
  bool divides_ways_ = false;  // ways are divided or limited, so lines have owners
  bool limits_ways_ = false;
  bool divides_mshrs_ = false;
  bool counts_mshrs_ = false;
  std::uint32_t mshr_limit_;
  std::uint32_t merge_limit_;
  std::uint32_t sets_;
  std::uint32_t ways_;
  std::uint32_t max_ways_;
  unsigned bucket_shift_;
  HugePageVector<Bucket> buckets_;
  HugePageVector<std::uint16_t> passed_;  // by bucket: lines that found it full and are in a following one
  HugePageVector<Line> lines_;
  HugePageVector<Set> sets_of_lines_;
  std::uint16_t free_ = kNone;
  Pool<Mshr> mshrs_;
  Pool<Waiter> waiters_;  // waiters other than the first of their line
  std::uint32_t waiting_ = 0;
  // Only if stores allocate lines and these are kept:
  bool keeps_written_;
  std::uint32_t kept_percent_;
  std::uint64_t kept_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<Use> uses_;  // by line
  // Only while ways or MSHRs are divided:
  std::array<std::uint32_t, kMaxApps> granted_{};  // ways of a set
  std::vector<AppId> owner_;                       // by line
  ledger::ShadowTags* shadow_ = nullptr;
  LostLocality* locality_ = nullptr;
  LostLocality::Loader loader_;                    // only with locality_
  std::vector<LostLocality::Loader> mshr_loader_;  // by MSHR; only with locality_
  std::uint32_t mshrs_each_ = 0;
  std::array<std::uint32_t, kMaxApps> mshrs_of_{};  // MSHRs in use
};

}  // namespace gpumux::sm
