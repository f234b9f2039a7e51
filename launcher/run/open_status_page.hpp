// Opens the status page of --status-addr.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "live/page/status_server.hpp"

namespace ddprun {

struct OpenedPage {
  std::unique_ptr<StatusServer> server;
  std::string url;  // with its token, if it has one
};

/// Serves `page` at `address` in the event loop `serving`, and tells the user its URL. With
/// `secret`, the page gets a fresh token; without one, a warning says when strangers can see it.
/// Looks up names and runs `io` meanwhile. Errors: kUnavailable and kTimeout, with the option's
/// name and the address.
Result<OpenedPage> open_status_page(boost::asio::io_context& io, boost::asio::io_context& serving,
                                    const Endpoint& address, bool secret, StatusPage page);

}  // namespace ddprun
