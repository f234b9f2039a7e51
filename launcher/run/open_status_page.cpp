#include "launcher/run/open_status_page.hpp"

#include <utility>

#include "base/log.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "launcher/run/resolve.hpp"

namespace ddprun {

namespace {

/// The address as a browser on another machine may use it.
std::string url_of(const Endpoint& address, const asio::ip::address& listening, std::uint16_t port,
                   const std::string& token) {
  const std::string host = listening.is_unspecified() ? host_name() : address.host;
  return "http://" + text_of({host, port}) + "/" + (token.empty() ? "" : "?token=" + token);
}

}  // namespace

Result<OpenedPage> open_status_page(asio::io_context& io, asio::io_context& serving,
                                    const Endpoint& address, bool secret, StatusPage page) {
  const auto listening = resolve(io, address.host);
  if (!listening)
    return Error{listening.error().kind, "--status-addr: " + listening.error().message};
  if (secret) page.token = fresh_token();
  if (secret && page.token.empty())
    return Error{Error::Kind::kUnavailable,
                 "--status-addr: there are no random numbers for a token"};
  if (!secret && !listening->is_loopback())
    log::warn("there is no secret: anyone who reaches the status page can read it");
  page.names = {host_name(), address.host};
  const std::string token = page.token;
  auto server =
      StatusServer::listen(serving.get_executor(), {*listening, address.port}, std::move(page));
  if (!server) return Error{server.error().kind, "--status-addr: " + server.error().message};
  std::string url = url_of(address, *listening, (*server)->port(), token);
  log::warn("the status page is at {}", url);
  return OpenedPage{std::move(*server), std::move(url)};
}

}  // namespace ddprun
