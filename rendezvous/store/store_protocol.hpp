// The wire protocol of torch's TCPStore: this turns bytes into requests, and replies into bytes.
// The operation codes are those of torch/csrc/distributed/c10d/TCPStoreBackend.hpp in PyTorch 2.11,
// with BARRIER, which came later; TCPStoreLibUvBackend.cpp beside it has the arguments and replies.
//
// A request is a one-byte operation code and its arguments. Nothing says how long it is as a whole,
// so RequestScanner walks the arguments to find its end. It remembers how far it came, so that a
// request that arrives in many pieces is walked once. Numbers are little-endian and of fixed size;
// keys and values are a u64 length and as many bytes. StoreSession knows what a request does.
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

constexpr std::uint32_t kStoreMagic = 0x3C85F7CE;  // the number that VALIDATE carries
constexpr char kStoreFirstByte = 0;  // a connection begins with VALIDATE, whose code this is

/// Reads keys, or keys and values, one after the other.
class FieldReader {
 public:
  /// `bytes` are fields that RequestScanner has walked, so their lengths can be trusted.
  explicit FieldReader(std::string_view bytes) : bytes_{bytes} {}

  /// Returns the next field. To be called only as often as there are fields.
  std::string_view next() {
    std::uint64_t length;
    std::memcpy(&length, bytes_.data(), sizeof length);
    const std::string_view field = bytes_.substr(sizeof length, length);
    bytes_.remove_prefix(sizeof length + length);
    return field;
  }

 private:
  std::string_view bytes_;
};

/// The items of a request for several keys: `count` keys, or `count` pairs of a key and a value.
struct StoreFields {
  std::size_t count = 0;
  std::string_view bytes;
  FieldReader read() const { return FieldReader{bytes}; }
};

// clang-format off
// One struct for each request. Their texts point into the bytes that they were read from.
namespace store_request {
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

/// Any request. The index of an alternative is its operation code.
using StoreRequest = std::variant<
    store_request::Validate, store_request::Set, store_request::CompareSet, store_request::Get,
    store_request::Add, store_request::Check, store_request::Wait, store_request::CountKeys,
    store_request::DeleteKey, store_request::Append, store_request::MultiGet,
    store_request::MultiSet, store_request::CancelWait, store_request::Ping,
    store_request::QueuePush, store_request::QueuePop, store_request::QueueLength,
    store_request::ListKeys, store_request::Barrier>;
// clang-format on

/// Finds where requests end in a stream of bytes, within limits.
class RequestScanner {
 public:
  enum class Progress {
    kMore,      // the request has not all come
    kComplete,  // it has
    kInvalid,   // it breaks the protocol or a limit: see error()
  };

  /// `limits` outlive the scanner.
  explicit RequestScanner(const StoreLimits& limits) : limits_{&limits} {}

  /// Looks for the end of the request at the start of `bytes`. After kMore, call again with the
  /// same bytes and more behind them. A limit is enforced as soon as the length that exceeds it
  /// is there.
  Progress scan(std::string_view bytes);

  /// Returns the request that was found complete at the start of `bytes`.
  StoreRequest request(std::string_view bytes) const;
  /// Returns how many bytes that request takes.
  std::size_t size() const { return position_; }
  /// Begins with the next request.
  void restart();

  /// Returns, after kMore, how many bytes are still to come at least.
  std::size_t missing() const { return missing_; }

  /// Returns, after kInvalid, what is wrong.
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
  std::size_t position_ = 0;  // all bytes before it have been walked
  std::size_t missing_ = 0;
  std::uint64_t items_ = 0;  // a request with a count has any number of items, others have one
  std::uint64_t items_walked_ = 0;
  std::size_t field_ = 0;            // the next one of the item that is being walked
  std::uint8_t code_ = 0;            // valid when position_ > 0
  bool counted_ = false;             // the count has been read, or the request has none
  std::array<Span, 3> fields_ = {};  // the fields of the last item
  Error error_;
};

// These write the parts of replies; each appends to `out`.
void write_byte(std::string& out, std::uint8_t byte);
void write_u32(std::string& out, std::uint32_t number);
void write_i64(std::string& out, std::int64_t number);
void write_bytes(std::string& out, std::string_view bytes);  // a length and the bytes

}  // namespace ddprun
