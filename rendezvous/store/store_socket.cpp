#include "rendezvous/store/store_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

namespace ddprun {

namespace {

void set_option(int socket, int level, int name, int value) {
  // Where this fails the socket is broken, and the first read will say so.
  ::setsockopt(socket, level, name, &value, sizeof value);
}

// A worker whose machine has gone says nothing any more. Its connection is closed after two
// minutes.
void watch_for_dead_peers(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace

StoreSocket::StoreSocket(int socket, EdgePoll& poll, ClientId id, std::string address,
                         StoreState& state)
    : StoreConnection{id, std::move(address), state}, socket_{socket}, poll_{poll} {
  watch_for_dead_peers(socket);
}

StoreSocket::~StoreSocket() { poll_.forget(socket_.descriptor()); }

Result<void> StoreSocket::read(std::span<char> scratch) {
  if (session().paused()) return session().must_drain() ? Result<void>{} : session().proceed();
  if (!socket_.readable()) return {};
  const bool begun = session().request_begun();
  const std::span<char> buffer = begun ? session().buffer() : scratch;
  const std::size_t bytes = socket_.receive(buffer);
  if (bytes == 0) return {};
  return begun ? session().received(bytes) : session().received({buffer.data(), bytes});
}

void StoreSocket::flush() {
  const std::string_view output = session().output();
  if (!output.empty() && socket_.writable()) session().sent(socket_.send(output));
}

bool StoreSocket::unfinished() const {
  const bool can_send = socket_.writable() && !session().output().empty();
  const bool can_serve = session().paused() ? !session().must_drain() : socket_.readable();
  return can_send || can_serve;
}

}  // namespace ddprun
