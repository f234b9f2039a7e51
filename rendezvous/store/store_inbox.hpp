// StoreInbox: the bytes that have arrived on a connection and are not yet dealt with.
//
// It takes no memory while it is empty, and grows only as bytes really arrive, so that a peer that
// announces much and sends little costs little.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace ddprun {

class StoreInbox {
 public:
  static constexpr std::size_t kSmall = 1024;  // the first block

  /// The bytes that are not yet consumed, valid until the next change.
  std::string_view unread() const { return {bytes_.get() + begin_, end_ - begin_}; }
  std::size_t capacity() const { return capacity_; }

  /// Returns free space behind unread(), at least for the next `missing` bytes or for a chunk of
  /// them. It is to be filled from its beginning; then arrived() says how far.
  std::span<char> buffer(std::size_t missing) {
    const std::size_t held = end_ - begin_;
    const std::size_t wanted = std::clamp(missing, kBufferMin, std::max(kChunk, held));
    // The block at least doubles, so that a long request in small pieces is copied a few times
    // only.
    if (capacity_ - end_ < wanted) make_space(std::max({held + wanted, 2 * held, kSmall}));
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void arrived(std::size_t bytes) { end_ += bytes; }

  /// Adds a copy of `bytes`.
  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::span<char> free = buffer(bytes.size());
      const std::size_t taken = bytes.copy(free.data(), free.size());
      arrived(taken);
      bytes.remove_prefix(taken);
    }
  }

  /// Forgets the first `bytes` of unread(), and frees the memory when nothing is left.
  void consume(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) *this = {};
  }

  StoreInbox() = default;
  StoreInbox(StoreInbox&& other) noexcept { *this = std::move(other); }
  StoreInbox& operator=(StoreInbox&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    capacity_ = std::exchange(other.capacity_, 0);
    begin_ = std::exchange(other.begin_, 0);
    end_ = std::exchange(other.end_, 0);
    return *this;
  }

 private:
  static constexpr std::size_t kBufferMin = 512;
  static constexpr std::size_t kChunk = std::size_t{64} << 10;

  // Moves what is held to the front of a block of at least `size` bytes.
  void make_space(std::size_t size) {
    const std::string_view held = unread();
    if (size <= capacity_) {
      std::memmove(bytes_.get(), held.data(), held.size());
    } else {
      auto bigger = std::make_unique_for_overwrite<char[]>(size);
      if (!held.empty()) std::memcpy(bigger.get(), held.data(), held.size());
      bytes_ = std::move(bigger);
      capacity_ = size;
    }
    end_ = held.size();
    begin_ = 0;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace ddprun
