#include "base/system/own_user_door.hpp"

#include <unistd.h>

#include <atomic>

#include "base/system/endpoint_text.hpp"

namespace ddprun {

namespace {

void say_that_all_may_enter(const Error& why) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  log::warn("{}; so any user of this machine can connect to this job", why.message);
}

}  // namespace

bool OwnUserDoor::lets_in(const asio::ip::tcp::socket& connection) {
  const auto user = users_.user_of(connection);
  if (user && (*user == 0 || *user == ::geteuid())) return true;
  if (!user && user.error().kind == Error::Kind::kUnavailable) {
    say_that_all_may_enter(user.error());
    return true;
  }
  boost::system::error_code gone;
  const auto port = connection.local_endpoint(gone).port();
  const auto peer = gone ? asio::ip::tcp::endpoint{} : connection.remote_endpoint(gone);
  if (user) {
    refused_.say("closed a connection to port {}: user {} may not use what belongs to user {}",
                 port, *user, ::geteuid());
  } else if (!gone && !peer.address().is_loopback()) {
    refused_.say("closed a connection from {}: {}", endpoint_text(peer), user.error().message);
  }
  return false;
}

}  // namespace ddprun
