// The wire protocol of torch's TCPStore: bytes to requests, replies to bytes.
//
// A request is a one-byte operation code and its arguments; nothing says how long it is as a
// whole, so RequestScanner walks the arguments to find its end, and remembers how far it came: a
// request that arrives in many pieces is walked once. Numbers are little-endian and of fixed
// size; keys and values are a u64 length and as many bytes. What a request does is
// store_session.hpp's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "rendezvous/store/store_limits.hpp"

namespace ddprun {

constexpr std::uint32_t kStoreMagic = 0x3C85F7CE;  // what VALIDATE carries
constexpr char kStoreFirstByte = 0;                // VALIDATE's code: how a connection begins

/// Keys, or keys and values, one after the other: `count` times as many as one item has.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_{bytes} {}

  std::string_view next() {  // only as often as there are fields
    std::uint64_t length;
    std::memcpy(&length, bytes_.data(), sizeof length);
    const std::string_view field = bytes_.substr(sizeof length, length);
    bytes_.remove_prefix(sizeof length + length);
    return field;
  }

 private:
  std::string_view bytes_;
};

struct StoreFields {
  std::size_t count = 0;
  std::string_view bytes;
  FieldReader read() const { return FieldReader{bytes}; }
};

// clang-format off
namespace store_request {  // views into the bytes they were read from
struct Validate { std::uint32_t magic; };
struct Set { std::string_view key, value; };
struct CompareSet { std::string_view key, expected, desired; };
struct Get { std::string_view key; };
struct Add { std::string_view key; std::int64_t amount; };
struct Check { StoreFields keys; };
struct Wait { StoreFields keys; };
struct CountKeys {};
struct DeleteKey { std::string_view key; };
struct Append { std::string_view key, value; };
struct MultiGet { StoreFields keys; };
struct MultiSet { StoreFields pairs; };
struct CancelWait {};
struct Ping { std::uint32_t nonce; };
struct QueuePush { std::string_view key, value; };
struct QueuePop { std::string_view key; };
struct QueueLength { std::string_view key; };
struct ListKeys {};
struct Barrier { std::string_view key; std::int64_t world_size; };
}  // namespace store_request

using StoreRequest = std::variant<  // in the order of their codes
    store_request::Validate, store_request::Set, store_request::CompareSet, store_request::Get,
    store_request::Add, store_request::Check, store_request::Wait, store_request::CountKeys,
    store_request::DeleteKey, store_request::Append, store_request::MultiGet,
    store_request::MultiSet, store_request::CancelWait, store_request::Ping,
    store_request::QueuePush, store_request::QueuePop, store_request::QueueLength,
    store_request::ListKeys, store_request::Barrier>;
// clang-format on

class RequestScanner {
 public:
  enum class Progress { kMore, kComplete, kInvalid };

  explicit RequestScanner(const StoreLimits& limits) : limits_{&limits} {}

  /// Looks for the end of the request at the start of `bytes`. After kMore, call again with the
  /// same bytes and more behind them. A limit is enforced as soon as the length that exceeds it
  /// is there.
  Progress scan(std::string_view bytes);

  /// After kComplete: the request, how many of `bytes` it takes, and on to the next.
  StoreRequest request(std::string_view bytes) const;
  std::size_t size() const { return position_; }
  void restart();

  /// After kMore: at least so many bytes are still to come.
  std::size_t missing() const { return missing_; }

  /// After kInvalid: why.
  const Error& error() const { return error_; }

 private:
  struct Span {
    std::size_t begin;
    std::size_t length;
  };

  bool begin(std::string_view bytes);
  bool count_items(std::string_view bytes);
  bool walk_field(char kind, std::string_view bytes);
  bool walk_text(std::size_t bytes_max, const char* what, std::string_view bytes);
  bool take(std::size_t prefix, std::uint64_t length, std::string_view bytes);
  bool refuse(std::string sentence);

  std::string_view text(std::size_t field, std::string_view bytes) const;
  template <typename Number>
  Number number(std::size_t field, std::string_view bytes) const;
  StoreFields items(std::string_view bytes) const;

  const StoreLimits* limits_;
  std::size_t position_ = 0;  // all before it has been walked
  std::size_t missing_ = 0;
  std::uint64_t items_ = 0;  // a counted request has any number, others one
  std::uint64_t items_walked_ = 0;
  std::size_t field_ = 0;            // the next one of the item
  std::uint8_t code_ = 0;            // valid once position_ > 0
  bool counted_ = false;             // the count has been read
  std::array<Span, 3> fields_ = {};  // those of the last item
  Error error_;
};

// Replies; each appends to `out`.
void write_byte(std::string& out, std::uint8_t byte);
void write_u32(std::string& out, std::uint32_t number);
void write_i64(std::string& out, std::int64_t number);
void write_bytes(std::string& out, std::string_view bytes);  // a length and the bytes

}  // namespace ddprun
