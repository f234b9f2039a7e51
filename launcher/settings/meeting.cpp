#include "launcher/settings/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace ddprun {

namespace {

constexpr char kLoopback[] = "127.0.0.1";

std::string or_loopback(const std::string& host) { return host.empty() ? kLoopback : host; }

bool has_text(const Setting& setting) { return setting.given && !setting.text.empty(); }

std::string in_brackets(const std::string& why) { return why.empty() ? "" : " (" + why + ")"; }

/// Whether the user says where the nodes meet. Then the place that the scheduler tells does not
/// count.
bool meets_elsewhere(const Settings& settings) {
  return has_text(settings["rdzv-endpoint"]) || has_text(settings["master-addr"]) ||
         has_text(settings["node-rank"]);
}

/// Nodes that a scheduler has started meet as c10d, unless the user says anything else.
std::string backend_of(const Settings& settings, const ClusterPlace* cluster) {
  const Setting& setting = settings["rdzv-backend"];
  if (setting.given || cluster == nullptr || meets_elsewhere(settings)) return setting.text;
  return "c10d";
}

Meeting meeting_of(const HostPlace& place) {
  Meeting meeting{.run_id = place.run_id,
                  .node_rank = place.node_rank,
                  .hosting = place.leads ? Hosting::kHere : Hosting::kElsewhere,
                  .coordinator = place.coordinator,
                  .shares_output = true};
  if (place.leads && place.coordinator.host.empty())
    meeting.coordinator.host = place.nodes_max == 1 ? kLoopback : place.own_address;
  return meeting;
}

/// Decides for a ddprun that the user or a scheduler has started.
class MeetingRules {
 public:
  MeetingRules(const Settings& settings, const MeetingPlace& place)
      : settings_{settings}, place_{place} {}

  Result<DecidedMeeting> decide(const RendezvousConf& conf) {
    const std::optional<bool>& is_host = conf.is_host;
    if (const auto counted = take_nodes(); !counted) return counted.error();
    if (const auto fit = check_host_names(settings_, {"master-addr", "local-addr"}); !fit)
      return fit.error();
    take_run_id();
    if (const auto met = meet(conf); !met) return met.error();
    if (!several_nodes()) {
      if (is_host && !*is_host)
        ddprun::warn_no_effect(decided_.warnings, named(settings_["rdzv-conf"], "is_host=false"),
                               "a job of one node has its coordinator there");
      return std::move(decided_);
    }
    if (meeting_.etcd) return std::move(decided_);
    if (const auto listed = check_places(); !listed) return listed.error();
    if (meeting_.coordinator.port == 0)
      return unexpected(settings_["rdzv-endpoint"],
                        "all nodes have to know the port, expected HOST:PORT");
    if (is_host) meeting_.hosting = *is_host ? Hosting::kHere : Hosting::kElsewhere;
    return std::move(decided_);
  }

 private:
  bool several_nodes() const { return decided_.nodes.max > 1; }

  /// What a scheduler tells; nullptr where it has no say in how the nodes meet.
  const ClusterPlace* cluster() const {
    return place_.cluster && several_nodes() ? &*place_.cluster : nullptr;
  }

  Result<void> take_nodes() {
    const auto nodes = decide_nodes(settings_, place_);
    if (!nodes) return nodes.error();
    decided_.nodes = *nodes;
    return {};
  }

  void take_run_id() {
    const Setting& setting = settings_["rdzv-id"];
    const bool by_cluster = place_.cluster && !setting.given && !place_.cluster->run_id.empty();
    meeting_.run_id = by_cluster ? place_.cluster->run_id : setting.text;
  }

  Result<void> meet(const RendezvousConf& conf) {
    if (settings_.on("standalone")) return meet_alone();
    if (meeting_.run_id.empty() && several_nodes())
      return unexpected(settings_["rdzv-id"], "the nodes of a job need a name in common");
    const std::string backend = backend_of(settings_, cluster());
    if (backend == "static") return meet_static();
    if (backend == "c10d") return meet_c10d();
    return meet_by_etcd(conf);
  }

  Result<void> meet_alone() {
    warn_no_effect(
        {"rdzv-id", "rdzv-backend", "rdzv-endpoint", "node-rank", "master-addr", "master-port"},
        "with --standalone");
    if (several_nodes()) return unexpected(settings_["nnodes"], "--standalone is for one node");
    meeting_.run_id.clear();
    return {};
  }

  Result<void> meet_static() {
    const auto rank = parse_node_rank(node_rank_setting(settings_, place_), decided_.nodes.max);
    if (!rank) return rank.error();
    auto coordinator = static_coordinator();
    if (!coordinator) return coordinator.error();
    meeting_.coordinator = std::move(*coordinator);
    decided_.nodes.min = decided_.nodes.max;  // static knows no MIN, as in torchrun
    meeting_.hosting = *rank == 0 ? Hosting::kHere : Hosting::kElsewhere;
    if (!several_nodes()) return {};
    meeting_.node_rank = *rank;
    warn_of_local_address();
    return {};
  }

  Result<Endpoint> static_coordinator() {
    const auto port = parse_integer(settings_["master-port"], 0, kPortMax);
    if (!port) return port.error();
    if (const Setting& endpoint = settings_["rdzv-endpoint"]; has_text(endpoint)) {
      warn_no_effect({"master-addr", "master-port"}, "beside --rdzv-endpoint");
      return first_of_places(endpoint, *port);
    }
    const Setting& address = settings_["master-addr"];
    const bool first_host = cluster() && !address.given && !cluster()->first_host.empty();
    const std::string& host = first_host ? cluster()->first_host : address.text;
    if (host.empty()) return unexpected(address, "expected a host name or an address");
    if (settings_["master-port"].given) return Endpoint{host, static_cast<std::uint16_t>(*port)};
    // No other node has to know the port of a job on one node: any free one cannot be taken.
    if (!several_nodes()) return Endpoint{host, 0};
    if (cluster() && cluster()->port != 0) return Endpoint{host, cluster()->port};
    return Endpoint{host, static_cast<std::uint16_t>(*port)};
  }

  /// The endpoint may be a list of places at which the coordinator may be. The first of them begins
  /// the job.
  Result<Endpoint> first_of_places(const Setting& setting, int default_port) {
    auto places = parse_endpoints(setting, default_port);
    if (!places) return places.error();
    Endpoint first = places->front();
    if (places->size() > 1 && several_nodes()) meeting_.places = std::move(*places);
    return first;
  }

  Result<void> check_places() {
    for (const Endpoint& place : meeting_.places)
      if (place.port == 0)
        return unexpected(settings_["rdzv-endpoint"],
                          "all nodes have to know the ports, expected HOST:PORT,HOST:PORT");
    return {};
  }

  Result<void> meet_c10d() {
    const Setting& endpoint = settings_["rdzv-endpoint"];
    if (cluster() && !meets_elsewhere(settings_) && !endpoint.given) return meet_in_cluster();
    warn_no_effect({"node-rank", "master-addr", "master-port"}, "with --rdzv-backend c10d");
    if (endpoint.text.empty() && several_nodes())
      return invalid(
          "--rdzv-backend c10d needs --rdzv-endpoint HOST[:PORT], the same on all nodes");
    if (!endpoint.text.empty()) {
      auto parsed = first_of_places(endpoint, kC10dPort);
      if (!parsed) return parsed.error();
      // Port 0 asks for what a job on one node does anyway.
      if (!several_nodes() && parsed->port != 0)
        warn_no_effect({"rdzv-endpoint"}, "a job of one node takes a free port");
      if (several_nodes()) meeting_.coordinator = std::move(*parsed);
    }
    if (several_nodes()) {
      meeting_.hosting = Hosting::kAtEndpoint;
      warn_of_local_address();
    } else {
      // No other node comes to the endpoint: a free port cannot be another job's.
      meeting_.coordinator = {or_loopback(settings_["local-addr"].text), 0};
    }
    return {};
  }

  /// Any node may host the coordinator, and etcd says which one does.
  Result<void> meet_by_etcd(const RendezvousConf& conf) {
    const Setting& endpoint = settings_["rdzv-endpoint"];
    warn_no_effect({"node-rank", "master-addr", "master-port"}, "with --rdzv-backend etcd");
    if (conf.is_host)
      ddprun::warn_no_effect(decided_.warnings, named(settings_["rdzv-conf"], "is_host"),
                             "etcd chooses the coordinator");
    if (!several_nodes()) {
      warn_no_effect({"rdzv-endpoint"}, "a job of one node takes a free port");
      meeting_.coordinator = {or_loopback(settings_["local-addr"].text), 0};
      return {};
    }
    if (endpoint.text.empty())
      return invalid(
          "--rdzv-backend etcd needs --rdzv-endpoint HOST[:PORT][,HOST[:PORT]...], the members of "
          "the etcd");
    auto members = parse_endpoints(endpoint, kEtcdPort);
    if (!members) return members.error();
    if (std::ranges::count(*members, 0, &Endpoint::port) > 0)
      return unexpected(endpoint, "etcd has no port 0");
    EtcdPlace etcd{.members = std::move(*members),
                   .tls = conf.tls,
                   .ca_file = conf.ca_file,
                   .cert_file = conf.cert_file,
                   .key_file = conf.key_file};
    if (!conf.prefix.empty()) etcd.prefix = conf.prefix;
    meeting_.etcd = std::move(etcd);
    meeting_.hosting = Hosting::kByEtcd;
    meeting_.coordinator = {settings_["local-addr"].text, kC10dPort};
    return {};
  }

  /// All have been started together: who hosts needs no guess, and ranks follow the nodes' order.
  Result<void> meet_in_cluster() {
    const ClusterPlace& place = *cluster();
    if (place.first_host.empty())
      return invalid(place.by + " does not tell where the first node is" +
                     in_brackets(place.why_unknown) +
                     ": give --rdzv-endpoint HOST:PORT, the same on all nodes");
    const auto port = parse_integer(settings_["master-port"], 0, kPortMax);
    if (!port) return port.error();
    const bool given = settings_["master-port"].given;
    meeting_.coordinator = {place.first_host,
                            given ? static_cast<std::uint16_t>(*port) : place.port};
    meeting_.node_rank = place.node_rank;
    meeting_.shares_output = true;
    meeting_.hosting = !place.first_host_is_rank_0 ? Hosting::kAtEndpoint
                       : place.node_rank == 0      ? Hosting::kHere
                                                   : Hosting::kElsewhere;
    warn_of_local_address();
    return {};
  }

  void warn_of_local_address() {
    warn_no_effect({"local-addr"}, "several nodes meet at the coordinator's address");
  }

  void warn_no_effect(std::initializer_list<std::string_view> names, const std::string& why) {
    for (const std::string_view name : names)
      ddprun::warn_no_effect(decided_.warnings, settings_[name], why);
  }

  const Settings& settings_;
  const MeetingPlace& place_;
  DecidedMeeting decided_;
  Meeting& meeting_ = decided_.meeting;
};

}  // namespace

Result<NodeRange> decide_nodes(const Settings& settings, const MeetingPlace& place) {
  if (place.host) return NodeRange{place.host->nodes_min, place.host->nodes_max};
  const Setting& setting = settings["nnodes"];
  if (!place.cluster || settings.on("standalone")) return parse_nodes(setting);
  const ClusterPlace& cluster = *place.cluster;
  if (!cluster.problem.empty()) {
    auto nodes = parse_nodes(setting);
    const bool settled = nodes && (meets_elsewhere(settings) || (setting.given && nodes->max == 1));
    return !nodes || settled
               ? nodes
               : invalid(cluster.problem + "; with --standalone, this ddprun is a job of its own");
  }
  const bool knows = cluster.nodes > 0;
  if (!setting.given && knows) return NodeRange{cluster.nodes, cluster.nodes};
  if (!setting.given && !cluster.may_be_alone && !meets_elsewhere(settings))
    return invalid(cluster.by + " does not tell how many nodes there are" +
                   in_brackets(cluster.why_unknown) + ": give --nnodes");
  auto nodes = parse_nodes(setting);
  if (!nodes || meets_elsewhere(settings) || !knows) return nodes;
  // With more nodes than there are the job would wait for some that cannot come.
  if (nodes->min > cluster.nodes)
    return unexpected(setting,
                      fmt::format("{} has started ddprun on {} of them: ask it for more nodes, or "
                                  "say --nnodes {}",
                                  cluster.by, cluster.nodes, cluster.nodes));
  nodes->max = std::min(nodes->max, cluster.nodes);
  return nodes;
}

Setting node_rank_setting(const Settings& settings, const MeetingPlace& place) {
  const Setting& setting = settings["node-rank"];
  const auto nodes = decide_nodes(settings, place);
  const bool several = nodes && nodes->max > 1;
  if (setting.given || !place.cluster || !several || settings.on("standalone")) return setting;
  if (backend_of(settings, &*place.cluster) != "static") return setting;
  return {std::to_string(place.cluster->node_rank), place.cluster->by + ", in place of --node-rank",
          true};
}

Result<DecidedMeeting> decide_meeting(const Settings& settings, const RendezvousConf& conf,
                                      const MeetingPlace& place) {
  if (place.host)
    return DecidedMeeting{
        {place.host->nodes_min, place.host->nodes_max}, meeting_of(*place.host), {}};
  return MeetingRules{settings, place}.decide(conf);
}

}  // namespace ddprun
