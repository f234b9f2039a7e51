// Words for the store's tests: requests as bytes, replies as bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rendezvous/store/store_session.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

template <typename Number>
std::string raw(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

inline std::string text(std::string_view bytes) {
  return raw(std::uint64_t{bytes.size()}) + std::string{bytes};
}

// A request: its code, then what is given, in order.
inline std::string request(int code, std::initializer_list<std::string> parts = {}) {
  std::string bytes(1, static_cast<char>(code));
  for (const std::string& part : parts) bytes += part;
  return bytes;
}

inline std::string keys(std::initializer_list<std::string> names) {
  std::string bytes = raw(std::uint64_t{names.size()});
  for (const std::string& name : names) bytes += text(name);
  return bytes;
}

inline std::string i64(std::int64_t number) { return raw(number); }

inline std::string validate() { return request(0x00, {raw(kStoreMagic)}); }
inline std::string set(std::string_view key, std::string_view value) {
  return request(0x01, {text(key), text(value)});
}
inline std::string compare_set(std::string_view key, std::string_view expected,
                               std::string_view desired) {
  return request(0x02, {text(key), text(expected), text(desired)});
}
inline std::string get(std::string_view key) { return request(0x03, {text(key)}); }
inline std::string add(std::string_view key, std::int64_t amount) {
  return request(0x04, {text(key), i64(amount)});
}
inline std::string check(std::initializer_list<std::string> names) {
  return request(0x05, {keys(names)});
}
inline std::string wait_for(std::initializer_list<std::string> names) {
  return request(0x06, {keys(names)});
}
inline std::string count_keys() { return request(0x07); }
inline std::string delete_key(std::string_view key) { return request(0x08, {text(key)}); }
inline std::string append(std::string_view key, std::string_view value) {
  return request(0x09, {text(key), text(value)});
}
inline std::string multi_get(std::initializer_list<std::string> names) {
  return request(0x0a, {keys(names)});
}
inline std::string multi_set(std::initializer_list<std::pair<std::string, std::string>> pairs) {
  std::string bytes = request(0x0b, {i64(static_cast<std::int64_t>(pairs.size()))});
  for (const auto& [key, value] : pairs) bytes += text(key) + text(value);
  return bytes;
}
inline std::string cancel_wait() { return request(0x0c); }
inline std::string ping(std::uint32_t nonce) { return request(0x0d, {raw(nonce)}); }
inline std::string queue_push(std::string_view key, std::string_view value) {
  return request(0x0e, {text(key), text(value)});
}
inline std::string queue_pop(std::string_view key) { return request(0x0f, {text(key)}); }
inline std::string queue_length(std::string_view key) { return request(0x10, {text(key)}); }
inline std::string list_keys() { return request(0x11); }
inline std::string barrier(std::string_view key, std::int64_t world_size) {
  return request(0x12, {text(key), i64(world_size)});
}

inline const std::string kStop(1, '\0');       // a WAIT has ended; CHECK: ready
inline const std::string kCancelled(1, '\1');  // a WAIT was cancelled; CHECK: not ready

// A store and its clients, without a network.
class StoreFixture {
 public:
  explicit StoreFixture(StoreLimits limits = {}) : state{limits} {}

  // A new client, which has said VALIDATE.
  StoreSession& client(std::uint32_t pid = 0, const std::string& address = "10.0.0.1") {
    StoreSession& session = stranger(address);
    CHECK(answer(session, validate()).empty());
    if (pid != 0) CHECK(answer(session, ping(pid)) == raw(pid));
    return session;
  }

  StoreSession& stranger(const std::string& address = "10.0.0.1") {
    sessions.push_back(std::make_unique<StoreSession>(sessions.size() + 1, address, state));
    return *sessions.back();
  }

  // Delivers `bytes` and returns what the client then reads.
  std::string answer(StoreSession& session, std::string_view bytes) {
    const auto served = session.received(bytes);
    INFO((served ? "" : served.error().message));
    CHECK(served.has_value());
    wake();
    return read(session);
  }

  // Delivers `bytes`, which must cost the client its connection; returns why.
  std::string refusal(StoreSession& session, std::string_view bytes) {
    const auto served = session.received(bytes);
    REQUIRE(served.has_error());
    return served.error().message;
  }

  static std::string read(StoreSession& session) {
    std::string bytes{session.output()};
    session.sent(bytes.size());
    return bytes;
  }

  void wake() {
    for (const ClientId id : state.store.take_ready()) sessions[id - 1]->settle();
  }

  StoreState state;
  std::vector<std::unique_ptr<StoreSession>> sessions;
};

}  // namespace ddprun
