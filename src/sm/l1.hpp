// L1 data cache: tags, line reservation, MSHRs. It knows nothing of warps; who waits for a line hangs in
// chains of waiters that the LSU reads back at the fill.
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

/// Outcome of a load's access. The Fail kinds are reservation failures: nothing has changed.
enum class L1Result : std::uint8_t { Hit, Merged, Miss, FailLine, FailMshr, FailMerge, FailMissQueue };

struct L1Access {
  L1Result result = L1Result::Hit;
  std::uint8_t missing = 0;   // sectors that were not there (line caches: all or none)
  std::uint8_t pending = 0;   // of these, already requested
  std::uint8_t request = 0;   // sectors to request now; 0 unless result == Miss
  std::uint32_t mshr = kNil;  // where waiters hang (Merged, Miss)
};

class L1 {
 public:
  explicit L1(const arch::L1Config& config);

  /// A load of `sectors` of `line` by an application. `queue_room`: the miss queue has a free entry.
  L1Access load(std::uint64_t line, std::uint8_t sectors, bool queue_room, AppId app = 0);
  /// An atomic that is on its way to L2 drops its sectors. Returns those that were there.
  std::uint8_t drop_sectors(std::uint64_t line, std::uint8_t sectors);
  /// A store that is on its way to L2 drops, updates or makes its sectors, by l1.write. `whole`: it covers
  /// them whole. Returns those that were there.
  std::uint8_t write(std::uint64_t line, std::uint8_t sectors, bool whole, AppId app = 0);
  /// Adds a waiter to an MSHR that load() gave.
  void wait(std::uint32_t mshr, std::uint32_t op, std::uint8_t sectors);
  /// Sectors of a line have arrived. Calls done(op) for each waiter that has all its sectors, in the order in
  /// which they began to wait.
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
  /// Brings what load() of the line looks at into the host's cache.
  [[gnu::always_inline]] void prefetch(std::uint64_t line) const {
    __builtin_prefetch(&buckets_[home(line)], 1);
  }
  /// With that of its line, what fill() looks at first,
  [[gnu::always_inline]] void prefetch_mshr(std::uint32_t mshr) const {
    __builtin_prefetch(&mshrs_[mshr], 1);
  }
  /// and then, when that is here: the first who waits for it.
  [[nodiscard]] std::uint32_t first_waiter(std::uint32_t mshr) const { return mshrs_[mshr].first.op; }
  /// Brings what evictions look at into the host's cache, one after the other: the sets,
  [[gnu::always_inline]] void prefetch_sets() const {
    for (std::uint32_t set = 0; set < std::min(sets_, kSetsAhead); set += 64 / sizeof(Set))
      __builtin_prefetch(&sets_of_lines_[set], 1);
  }
  /// the lines that go next,
  [[gnu::always_inline]] void prefetch_victims() const {
    for (std::uint32_t set = 0; set < std::min(sets_, kSetsAhead); ++set)
      if (const std::uint16_t line = sets_of_lines_[set].read.oldest; line != kNone)
        __builtin_prefetch(&lines_[line], 1);
  }
  /// and their buckets.
  [[gnu::always_inline]] void prefetch_victims_buckets() const {
    for (std::uint32_t set = 0; set < std::min(sets_, kSetsAhead); ++set)
      if (const std::uint16_t line = sets_of_lines_[set].read.oldest; line != kNone)
        prefetch_next_victim(line);
  }

  /// Drops all lines; data that is still on its way serves its waiters and is dropped too.
  void flush();
  /// Bytes that L1 may use from now on (unified L1 and shared memory). Ways scale.
  void resize(std::uint32_t bytes);
  [[nodiscard]] std::uint32_t bytes() const { return sets_ * ways_ * kLineBytes; }
  [[nodiscard]] std::uint32_t sets() const { return sets_; }
  [[nodiscard]] std::uint32_t ways() const { return ways_; }
  [[nodiscard]] std::uint32_t max_ways() const { return max_ways_; }
  [[nodiscard]] std::uint32_t set_index(std::uint64_t line) const;
  /// A store drops what it writes; else it updates it.
  [[nodiscard]] bool write_evicts() const { return write_evict_; }

  /// From now on replacement keeps each application to its ways of a set: one that holds fewer evicts the
  /// oldest line of another, one that does not evicts its own, and has to wait when these are all reserved.
  /// Before the first access for the first time.
  void divide_ways(const std::array<std::uint32_t, kMaxApps>& granted);
  /// Lines know from now on whose they are, and limit_ways() holds; before the first access.
  void begin_way_limits();
  /// Of a full set, the application's lines are at most so many: with as many, its own oldest one goes for
  /// its next, else the oldest of all. 0: no limit.
  void limit_ways(AppId app, std::uint32_t ways);
  /// From now on an application has at most so many MSHRs. Before the first access for the first time.
  void divide_mshrs(std::uint32_t each);
  /// From now on, before the first access, applications' MSHRs are counted: mshrs_of().
  void count_mshrs() { counts_mshrs_ = true; }
  /// From now on, before the first access, they are, and `shadow` is told of
  /// evictions; it has sets() sets and max_ways() ways.
  void keep_ledger(ledger::ShadowTags* shadow) {
    count_mshrs();
    shadow_ = shadow;
    shadow_->set_ways(ways_);
    owner_.resize(lines_.size(), 0);
  }
  /// Sectors that count as accessed with these.
  [[nodiscard]] std::uint8_t whole(std::uint8_t sectors) const {
    return sectored_ ? sectors : std::uint8_t{0xf};
  }
  /// From now on, before the first access, `locality` is told for which warps lines were brought in, and
  /// which go; loads come for the warp of next_loader().
  void keep_locality(LostLocality* locality) { locality_ = locality; }
  void next_loader(LostLocality::Loader loader) { loader_ = loader; }
  [[nodiscard]] const std::array<std::uint32_t, kMaxApps>& mshrs_of() const { return mshrs_of_; }
  /// Accesses are counted in sectors or lines.
  [[nodiscard]] std::uint32_t units(std::uint8_t sectors) const {
    return sectored_ ? static_cast<std::uint32_t>(std::popcount(sectors)) : (sectors != 0 ? 1U : 0U);
  }
  [[nodiscard]] std::uint32_t mshrs_in_use() const { return mshrs_.in_use(); }
  [[nodiscard]] std::uint32_t waiters() const { return waiting_; }
  [[nodiscard]] std::uint32_t reserved_lines() const;

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr std::uint32_t kPerBucket = 8;
  static constexpr std::uint32_t kSetsAhead = 8;  // more are seldom used within a window

  /// A line that is present or on its way has a place in the bucket of its hash, or in one behind it when
  /// that was full.
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
    std::uint16_t newer = kNone;  // neighbours in the set's order of use
    std::uint16_t older = kNone;  // of a free one: the next free one
  };
  static_assert(sizeof(Line) == 16);
  /// An order of use.
  struct Order {
    std::uint16_t newest = kNone;
    std::uint16_t oldest = kNone;
  };
  struct Set {
    Order read;
    std::uint16_t lines = 0;
    std::uint16_t reserved = 0;
    Order written;  // lines that are kept because stores wrote them; none without l1.written_kept
  };
  /// Of a line, where written ones are kept.
  struct Use {
    std::uint64_t last = 0;  // greater: later
    bool written = false;
  };
  /// Somebody who waits for sectors of a line.
  struct Waiter {
    std::uint32_t op = kNil;  // memory instruction
    std::uint32_t next = kNil;
    std::uint8_t sectors = 0;  // still missing
  };
  struct Mshr {
    std::uint64_t line = 0;
    std::uint32_t place = 0;
    std::uint32_t last = kNil;  // waiter behind the first
    Waiter first;               // most lines have one
    std::uint8_t merges = 0;
    bool stale = false;  // flushed while pending
    AppId app = 0;       // who missed
  };
  static_assert(sizeof(Mshr) == 32);

  [[nodiscard]] std::uint32_t set_of(std::uint64_t line) const;
  [[nodiscard]] static std::uint64_t hash(std::uint64_t line) { return line * 0x9e37'79b9'7f4a'7c15ULL; }
  /// Other bits than home(): few lines of a bucket share them.
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
  /// kNil: the line is neither present nor on its way.
  [[nodiscard]] std::uint32_t find(std::uint64_t line) const;
  std::uint32_t take_place(std::uint64_t line);
  void give_place(std::uint32_t place, std::uint64_t line);
  /// On-miss allocation: the line waits for its data and cannot be evicted.
  [[nodiscard]] bool reserved(const Line& line) { return on_miss_ && mshr_at(line.place) != kNone; }
  [[gnu::always_inline]] void prefetch_next_victim(std::uint16_t index) const {
    __builtin_prefetch(&buckets_[lines_[index].place / kPerBucket], 1);
    if (lines_[index].newer != kNone) __builtin_prefetch(&lines_[lines_[index].newer], 1);
  }
  /// That the line is in.
  [[nodiscard]] Order& order_of(Set& set, std::uint16_t index) {
    return keeps_written_ && uses_[index].written ? set.written : set.read;
  }
  void unlink(Set& set, std::uint16_t index);
  void make_newest(Set& set, std::uint16_t index);
  void touch(std::uint16_t index);
  void drop(std::uint16_t index);
  void drop(std::uint16_t index, Set& set);
  /// The line has been written: it is kept, while few are.
  void keep(std::uint16_t index, Set& set);
  /// Where written lines are kept, the line that goes next.
  [[nodiscard]] std::uint16_t victim_beside_kept(const Set& set);
  /// Drops lines that are not reserved, read ones first, the oldest first, while there are more than `most`.
  void shrink(Set& set, std::uint32_t most);
  /// Frees space until one line fits. False: every line is reserved.
  [[nodiscard]] bool make_room(Set& set, AppId app);
  /// Of divided or limited ways, the line that goes for one of the application; kNone: it has to wait.
  [[nodiscard]] std::uint16_t victim(const Set& set, AppId app);
  [[nodiscard]] bool lacks_way(Set& set, AppId app);
  [[nodiscard]] bool make_room_in_share(Set& set, AppId app);
  /// Who holds most lines of the set beside this one.
  [[nodiscard]] AppId other_holder(const Set& set, AppId app) const;
  /// The line makes place for one of the application.
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
  bool power_of_two_;          // sets
  bool divides_ways_ = false;  // or limits them: lines have owners
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
  HugePageVector<std::uint16_t> passed_;  // by bucket: lines that found it full and lie behind it
  HugePageVector<Line> lines_;
  HugePageVector<Set> sets_of_lines_;
  std::uint16_t free_ = kNone;
  Pool<Mshr> mshrs_;
  Pool<Waiter> waiters_;  // that are not the first of their line
  std::uint32_t waiting_ = 0;
  // Where stores take lines and these are kept:
  bool keeps_written_;
  std::uint32_t kept_percent_;
  std::uint64_t kept_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<Use> uses_;  // by line
  // While ways or MSHRs are divided:
  std::array<std::uint32_t, kMaxApps> granted_{};  // ways of a set
  std::vector<AppId> owner_;                       // by line
  ledger::ShadowTags* shadow_ = nullptr;
  LostLocality* locality_ = nullptr;
  LostLocality::Loader loader_;                    // while a locality is kept
  std::vector<LostLocality::Loader> mshr_loader_;  // likewise, by MSHR
  std::uint32_t mshrs_each_ = 0;
  std::array<std::uint32_t, kMaxApps> mshrs_of_{};  // in use
};

}  // namespace gpumux::sm
