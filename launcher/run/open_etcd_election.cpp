#include "launcher/run/open_etcd_election.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/match.hpp"
#include "base/system/own_process.hpp"
#include "launcher/run/resolve.hpp"
#include "rendezvous/etcd/election_words.hpp"

namespace ddprun {

namespace {

/// Asks the system which address of this host it would send from. Nothing is sent.
std::optional<asio::ip::address> address_towards(asio::io_context& io, const Endpoint& there) {
  const auto address = resolve(io, there.host);
  if (!address) return std::nullopt;
  boost::system::error_code error;
  asio::ip::udp::socket socket{io};
  socket.connect({*address, there.port}, error);
  const auto own = socket.local_endpoint(error).address();
  if (error) return std::nullopt;
  return own;
}

bool means_loopback(const std::string& host) {
  boost::system::error_code is_name;
  const auto address = asio::ip::make_address(host, is_name);
  return host == "localhost" || (!is_name && address.is_loopback());
}

/// A job that is started again may find what is left of the one before.
void tell_user(const Campaign::Elected& elected) {
  if (!elected.newcomer || elected.members.nodes.empty()) return;
  log::warn(
      "{} nodes of a job of this name may run yet, as etcd says: waiting for one of them, or until "
      "etcd forgets them",
      elected.members.nodes.size());
}

}  // namespace

std::string own_host(asio::io_context& io, const Meeting& meeting) {
  if (!meeting.coordinator.host.empty()) return meeting.coordinator.host;
  for (const Endpoint& member : meeting.etcd->members) {
    const auto own = address_towards(io, member);
    // A name of this host may mean its loopback address here, and another one elsewhere.
    if (own && (!own->is_loopback() || means_loopback(member.host))) return own->to_string();
  }
  return host_name();
}

Result<std::shared_ptr<EtcdElection>> open_etcd_election(const asio::any_io_executor& serving,
                                                         const LaunchSpec& spec,
                                                         const std::string& run_id,
                                                         const Endpoint& own, Server& server) {
  const EtcdPlace& place = *spec.meeting.etcd;
  auto client = EtcdClient::make(serving, place);
  if (!client) return client.error();
  const Campaign::Rules rules{text_of(own), spec.terms.heartbeat_timeout, spec.terms.nodes_max};
  const auto tell = [&server](const Campaign::Action& said) {
    if (const auto* elected = std::get_if<Campaign::Elected>(&said)) tell_user(*elected);
    tell_coordinator(said, [&server](const auto& event) { server.hear_etcd(event); });
  };
  auto election = std::make_shared<EtcdElection>(serving, std::move(*client), rules,
                                                 keys_of(place.prefix, run_id), tell);
  server.ask_etcd_with([weak = std::weak_ptr{election}](const CoordinatorAction& wish) {
    const auto asked = weak.lock();
    if (!asked) return;
    match(
        wish, [&](const WriteMembers& a) { asked->hear(for_etcd(a)); },
        [&](const PublishVerdict& a) { asked->hear(for_etcd(a)); }, [](const auto&) {});
  });
  return election;
}

AskEtcd ask_of(std::shared_ptr<EtcdElection> election, const asio::any_io_executor& serving) {
  return [election = std::move(election), serving](
             const VoterState& voter, std::int64_t lost,
             TimePoint deadline) -> asio::awaitable<Result<EtcdHead>> {
    auto seeking =
        co_spawn(serving, election->seek(seek_of(voter, lost), deadline), asio::use_awaitable);
    const auto found = co_await std::move(seeking);
    if (!found) co_return found.error();
    const auto endpoint = read_endpoint(found->endpoint);
    if (!endpoint)
      co_return Error{Error::Kind::kInvalid, "etcd names no coordinator: " + found->endpoint};
    co_return EtcdHead{*endpoint, found->epoch};
  };
}

}  // namespace ddprun
