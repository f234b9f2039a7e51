#include "rendezvous/etcd/etcd_client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/coroutines.hpp"
#include "base/lookup_error.hpp"
#include "live/http/http_reading.hpp"

namespace ddprun {

namespace {

namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

Error error_of(const error_code& code) {
  if (code == http::error::end_of_stream)
    return {Error::Kind::kUnavailable, "the connection was closed"};
  return {Error::Kind::kUnavailable, code.message()};
}

Error no_answer() { return {Error::Kind::kTimeout, "no answer"}; }

Error file_error(const std::string& key, const std::string& path, const error_code& code) {
  return {Error::Kind::kInvalid, "--rdzv-conf " + key + "=" + path + ": " + code.message()};
}

}  // namespace

struct EtcdClient::Tls {
  ssl::context context{ssl::context::tls_client};
};

struct EtcdClient::Connection {
  using Secure = ssl::stream<tcp::socket>;
  std::optional<tcp::socket> plain;
  std::optional<Secure> secure;  // one of the two is there
  HttpBuffer buffer{kEtcdAnswerBytesMax};
  bool used = false;

  tcp::socket& socket() { return plain ? *plain : secure->next_layer(); }

  asio::awaitable<std::pair<error_code, std::size_t>> read_some(asio::mutable_buffer into) {
    auto reading =
        plain ? plain->async_read_some(into, kQuietly) : secure->async_read_some(into, kQuietly);
    const auto [error, bytes] = co_await std::move(reading);
    co_return std::pair{error, bytes};
  }

  asio::awaitable<error_code> write(const std::string& text) {
    auto writing = plain ? asio::async_write(*plain, asio::buffer(text), kQuietly)
                         : asio::async_write(*secure, asio::buffer(text), kQuietly);
    const auto [error, bytes] = co_await std::move(writing);
    co_return error;
  }

  asio::awaitable<Result<Reply>> talk(const EtcdPost& post, const std::string& host) {
    http::request<http::string_body> request{http::verb::post, post.path, 11, post.body};
    request.set(http::field::host, host);
    request.set(http::field::content_type, "application/json");
    request.prepare_payload();
    const std::string text = (std::ostringstream{} << request).str();
    if (const auto unsent = co_await write(text)) co_return error_of(unsent);
    http::response_parser<http::string_body> parser;
    parser.body_limit(kEtcdAnswerBytesMax);
    const ReadSome read = [this](asio::mutable_buffer into) { return read_some(into); };
    if (const auto unread = co_await read_response(read, buffer, parser))
      co_return error_of(unread);
    used = parser.get().keep_alive();
    co_return Reply{parser.get().result_int(), std::move(parser.get().body())};
  }
};

Result<std::unique_ptr<EtcdClient>> EtcdClient::make(const asio::any_io_executor& executor,
                                                     EtcdPlace place) {
  std::unique_ptr<EtcdClient> client{new EtcdClient{executor, std::move(place)}};
  if (const auto ready = client->read_certificates(); !ready) return ready.error();
  return client;
}

EtcdClient::EtcdClient(const asio::any_io_executor& executor, EtcdPlace place)
    : executor_{executor}, place_{std::move(place)} {}

EtcdClient::~EtcdClient() = default;

Result<void> EtcdClient::read_certificates() {
  if (!place_.tls) return {};
  tls_ = std::make_unique<Tls>();
  ssl::context& context = tls_->context;
  error_code wrong;
  context.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, wrong);
  context.set_verify_mode(ssl::verify_peer, wrong);
  if (place_.ca_file.empty())
    context.set_default_verify_paths(wrong);
  else
    context.load_verify_file(place_.ca_file, wrong);
  if (wrong) return file_error("cacert", place_.ca_file, wrong);
  if (place_.cert_file.empty()) return {};
  context.use_certificate_chain_file(place_.cert_file, wrong);
  if (wrong) return file_error("cert", place_.cert_file, wrong);
  const std::string& key = place_.key_file.empty() ? place_.cert_file : place_.key_file;
  context.use_private_key_file(key, ssl::context::pem, wrong);
  if (wrong) return file_error("key", key, wrong);
  return {};
}

/// A slow name server delays a caller no longer than it takes itself: it is asked again for
/// each connection, and connections are kept.
asio::awaitable<Result<void>> EtcdClient::connect(std::chrono::milliseconds timeout) {
  tcp::resolver resolver{executor_};
  auto resolving = resolver.async_resolve(member().host, std::to_string(member().port), kQuietly);
  const auto found = co_await in_time(Clock::now() + timeout, std::move(resolving));
  if (!found) co_return Error{Error::Kind::kTimeout, "no name server answers"};
  const auto& [unknown, addresses] = *found;
  if (unknown) co_return Error{Error::Kind::kUnavailable, lookup_error(member().host, unknown)};
  auto connecting = connect_to(addresses);
  auto connected = co_await in_time(Clock::now() + timeout, std::move(connecting));
  if (!connected) co_return no_answer();
  co_return std::move(*connected);
}

asio::awaitable<Result<void>> EtcdClient::connect_to(const Addresses& addresses) {
  auto connection = std::make_unique<Connection>();
  if (tls_)
    connection->secure.emplace(executor_, tls_->context);
  else
    connection->plain.emplace(executor_);
  const auto [unconnected, address] =
      co_await asio::async_connect(connection->socket(), addresses, kQuietly);
  if (unconnected) co_return error_of(unconnected);
  error_code ignored;
  connection->socket().set_option(tcp::no_delay{true}, ignored);
  if (connection->secure) {
    auto& secure = *connection->secure;
    SSL_set_tlsext_host_name(secure.native_handle(), member().host.c_str());
    secure.set_verify_callback(ssl::host_name_verification{member().host}, ignored);
    const auto [untrusted] = co_await secure.async_handshake(ssl::stream_base::client, kQuietly);
    if (untrusted) co_return Error{error_of(untrusted).kind, "TLS: " + untrusted.message()};
  }
  connection_ = std::move(connection);
  co_return Result<void>{};
}

asio::awaitable<Result<EtcdClient::Reply>> EtcdClient::ask_once(const EtcdPost& post,
                                                                std::chrono::milliseconds timeout) {
  if (!connection_) {
    const auto connected = co_await connect(timeout);
    if (!connected) co_return connected.error();
  }
  std::unique_ptr<Connection> connection = std::move(connection_);
  connection->used = false;
  const std::string host = text_of(member());
  auto talking = connection->talk(post, host);
  auto reply = co_await in_time(Clock::now() + timeout, std::move(talking));
  if (!reply) co_return no_answer();
  if (*reply && connection->used) connection_ = std::move(connection);
  co_return std::move(*reply);
}

/// A connection that was kept may have been closed meanwhile, and that says nothing of the member.
asio::awaitable<Result<EtcdClient::Reply>> EtcdClient::ask(EtcdPost post,
                                                           std::chrono::milliseconds timeout) {
  const bool kept = connection_ != nullptr;
  auto reply = co_await ask_once(post, timeout);
  if (!reply && kept && reply.error().kind == Error::Kind::kUnavailable)
    reply = co_await ask_once(post, timeout);
  if (reply) co_return reply;
  const Error error = failed(reply.error());
  ask_another();
  co_return error;
}

Error EtcdClient::failed(const Error& why) const {
  return {why.kind, "etcd at " + text_of(member()) + ": " + why.message};
}

void EtcdClient::ask_another() {
  connection_.reset();
  next_ = (next_ + 1) % place_.members.size();
}

}  // namespace ddprun
