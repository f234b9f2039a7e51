// EtcdClient asks the members of an etcd cluster, one request at a time: over one connection that
// it keeps, of HTTP/1.1, with TLS where the place says so.
//
// It speaks to one member as long as that answers. When it does not, the next request goes to the
// next one, in their order and around.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/etcd/etcd_place.hpp"
#include "rendezvous/etcd/etcd_text.hpp"

namespace ddprun {

/// The longest answer that is read. The ids of as many nodes as a job may have take less than half.
inline constexpr std::size_t kEtcdAnswerBytesMax = 4 * 1024 * 1024;

class EtcdClient {
 public:
  struct Reply {
    unsigned status = 0;  // the code of HTTP
    std::string body;
  };

  /// Reads the certificates. Errors: kNotFound and kInvalid, which name the file.
  static Result<std::unique_ptr<EtcdClient>> make(const asio::any_io_executor& executor,
                                                  EtcdPlace place);
  ~EtcdClient();
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;

  /// Asks the member whose turn it is. Only one request at a time. Errors: kUnavailable and
  /// kTimeout, which name the member; the next request goes to the next member then.
  asio::awaitable<Result<Reply>> ask(EtcdPost post, std::chrono::milliseconds timeout);

  /// The next request goes to the next member.
  void ask_another();

 private:
  struct Connection;
  struct Tls;

  EtcdClient(const asio::any_io_executor& executor, EtcdPlace place);
  Result<void> read_certificates();
  using Addresses = asio::ip::tcp::resolver::results_type;
  asio::awaitable<Result<void>> connect(std::chrono::milliseconds timeout);
  asio::awaitable<Result<void>> connect_to(const Addresses& addresses);
  asio::awaitable<Result<Reply>> ask_once(const EtcdPost& post, std::chrono::milliseconds timeout);
  const Endpoint& member() const { return place_.members[next_]; }
  Error failed(const Error& why) const;

  asio::any_io_executor executor_;
  EtcdPlace place_;
  std::unique_ptr<Tls> tls_;  // null: none
  std::size_t next_ = 0;
  std::unique_ptr<Connection> connection_;  // null: there is none
};

}  // namespace ddprun
