#include "launcher/settings/meeting.hpp"

#include <fmt/format.h>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

const char* hosting_text(Hosting hosting) {
  switch (hosting) {
    case Hosting::kHere:
      return "hosts";
    case Hosting::kElsewhere:
      return "joins";
    case Hosting::kByEtcd:
      return "own";
    case Hosting::kAtEndpoint:
      return "hosts if it is";
  }
  return "";
}

std::string told_of_etcd(const EtcdPlace& etcd) {
  std::string text = "asks " + text_of(etcd) + " under " + etcd.prefix;
  if (etcd.tls)
    text += " by TLS (" + etcd.ca_file + ", " + etcd.cert_file + ", " + etcd.key_file + ")";
  return text + ", ";
}

/// "job none, 2:4 nodes, rank 1, joins 10.0.0.1:29500": the meeting in a line.
std::string told(const NodeRange& nodes, const Meeting& meeting) {
  return fmt::format("job {}, {}:{} nodes, rank {}, {}{} {}:{}{}",
                     meeting.run_id.empty() ? "<fresh>" : meeting.run_id, nodes.min, nodes.max,
                     meeting.node_rank < 0 ? "any" : std::to_string(meeting.node_rank),
                     meeting.etcd ? told_of_etcd(*meeting.etcd) : "", hosting_text(meeting.hosting),
                     meeting.coordinator.host, meeting.coordinator.port,
                     meeting.shares_output ? ", one terminal" : "");
}

std::string told(const Words& options, const MeetingPlace& place) {
  const auto arguments = parse_arguments(options, [](const std::string&) { return std::nullopt; });
  if (!arguments) return "no command line: " + arguments.error().message;
  const auto conf = parse_rdzv_conf(arguments->settings["rdzv-conf"]);
  if (!conf) return "no --rdzv-conf: " + conf.error().message;
  const auto decided = decide_meeting(arguments->settings, *conf, place);
  if (!decided) return "error: " + decided.error().message;
  std::string text = told(decided->nodes, decided->meeting);
  for (const Endpoint& each : decided->meeting.places) text += " or " + text_of(each);
  for (const std::string& warning : decided->warnings) text += "; " + warning;
  return text;
}

// A step of Slurm on three nodes, as its node of rank `rank` finds it.
MeetingPlace slurm(int rank) {
  return {ClusterPlace{.by = "Slurm job 12",
                       .slurm = true,
                       .nodes = 3,
                       .node_rank = rank,
                       .first_host = "h0",
                       .port = 16'432,
                       .run_id = "12.0"},
          {}};
}
MeetingPlace slurm_on_one_node() {
  return {ClusterPlace{.by = "Slurm job 12", .slurm = true, .run_id = "12.0"}, {}};
}
// mpirun tells its own address, which may be no node's.
MeetingPlace open_mpi(const std::string& mpirun = "10.77.0.1") {
  return {ClusterPlace{.by = "Open MPI",
                       .nodes = 2,
                       .node_rank = 1,
                       .first_host = mpirun,
                       .first_host_is_rank_0 = false,
                       .port = 17'000,
                       .run_id = "8076"},
          {}};
}
MeetingPlace mpich() { return {ClusterPlace{.by = "MPI", .nodes = 2, .node_rank = 1}, {}}; }
MeetingPlace led(int nodes, Endpoint where) {
  return {{}, HostPlace{"j", nodes, nodes, 0, true, std::move(where), "192.0.2.7"}};
}
MeetingPlace follower() { return {{}, HostPlace{"j", 1, 2, 1, false, {"ib0", 4711}, "192.0.2.8"}}; }

struct Case {
  const char* name;
  Words options;
  MeetingPlace place;
  std::string meeting;
};

constexpr char kNoEffectAlone[] = " has no effect: with --standalone";
constexpr char kNoEffectC10d[] = " has no effect: with --rdzv-backend c10d";
constexpr char kLocalNoEffect[] =
    "; --local-addr has no effect: several nodes meet at the coordinator's address";

// clang-format off
const Case kByOptions[] = {
    {"no option", {}, {}, "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"static, one node, port given", {"--master-port=1234"}, {}, "job none, 1:1 nodes, rank any, hosts 127.0.0.1:1234"},
    {"static, one node, address given", {"--master-addr=::1"}, {}, "job none, 1:1 nodes, rank any, hosts ::1:0"},
    {"static, one node, endpoint given", {"--rdzv-endpoint=h:77"}, {}, "job none, 1:1 nodes, rank any, hosts h:77"},
    {"static, one node, endpoint without a port", {"--rdzv-endpoint=h"}, {}, "job none, 1:1 nodes, rank any, hosts h:29500"},
    {"static, one node, endpoint beside an address", {"--rdzv-endpoint=h:7", "--master-addr=x"}, {},
     "job none, 1:1 nodes, rank any, hosts h:7; --master-addr has no effect: beside --rdzv-endpoint"},
    {"static, first of three", {"--nnodes=3", "--master-addr=a"}, {}, "job none, 3:3 nodes, rank 0, hosts a:29500"},
    {"static, last of three", {"--nnodes=3", "--node-rank=2", "--master-addr=a", "--master-port=9"}, {}, "job none, 3:3 nodes, rank 2, joins a:9"},
    {"static knows no minimum", {"--nnodes=1:3", "--master-addr=a"}, {}, "job none, 3:3 nodes, rank 0, hosts a:29500"},
    {"static, endpoint of three", {"--nnodes=3", "--node-rank=1", "--rdzv-endpoint=a:8"}, {}, "job none, 3:3 nodes, rank 1, joins a:8"},
    {"static, rank that is too high", {"--nnodes=3", "--node-rank=3"}, {}, "error: --node-rank '3': expected a whole number from 0 to 2"},
    {"static, no address", {"--master-addr="}, {}, "error: --master-addr '': expected a host name or an address"},
    {"static, no port for several", {"--nnodes=2", "--master-port=0"}, {}, "error: --rdzv-endpoint '': all nodes have to know the port, expected HOST:PORT"},
    {"static, is_host on a later node", {"--nnodes=2", "--node-rank=1", "--master-addr=a", "--rdzv-conf=is_host=1"}, {}, "job none, 2:2 nodes, rank 1, hosts a:29500"},
    {"static, is_host on one node", {"--rdzv-conf=is_host=0"}, {},
     "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0; --rdzv-conf is_host=false has no effect: a job of one node has its coordinator there"},
    {"static, is_host=true on one node", {"--rdzv-conf=is_host=1"}, {}, "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"standalone, is_host=false", {"--standalone", "--rdzv-conf='is_host=false'"}, {},
     "job <fresh>, 1:1 nodes, rank any, hosts 127.0.0.1:0; --rdzv-conf is_host=false has no effect: a job of one node has its coordinator there"},
    {"static, local address of several", {"--nnodes=2", "--master-addr=a", "--local-addr=b"}, {}, "job none, 2:2 nodes, rank 0, hosts a:29500" + std::string{kLocalNoEffect}},
    {"static, no name for one node", {"--rdzv-id="}, {}, "job <fresh>, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"static, no name for several", {"--nnodes=2", "--rdzv-id="}, {}, "error: --rdzv-id '': the nodes of a job need a name in common"},
    {"standalone", {"--standalone"}, {}, "job <fresh>, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"standalone beside others", {"--standalone", "--rdzv-id=x", "--master-port=5"}, {},
     "job <fresh>, 1:1 nodes, rank any, hosts 127.0.0.1:0; --rdzv-id" + std::string{kNoEffectAlone} + "; --master-port" + kNoEffectAlone},
    {"standalone, two nodes", {"--standalone", "--nnodes=2"}, {}, "error: --nnodes '2': --standalone is for one node"},
    {"c10d, one node", {"--rdzv-backend=c10d"}, {}, "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"c10d, one node, endpoint", {"--rdzv-backend=c10d", "--rdzv-endpoint=h:8"}, {},
     "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0; --rdzv-endpoint has no effect: a job of one node takes a free port"},
    {"c10d, one node, any free port", {"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"}, {}, "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"c10d, one node, bad endpoint", {"--rdzv-backend=c10d", "--rdzv-endpoint=h:x"}, {}, "error: --rdzv-endpoint 'h:x': expected a port from 0 to 65535 after the host"},
    {"c10d, one node, local address", {"--rdzv-backend=c10d", "--local-addr=10.0.0.9"}, {}, "job none, 1:1 nodes, rank any, hosts 10.0.0.9:0"},
    {"c10d, several", {"--nnodes=1:4", "--rdzv-backend=c10d", "--rdzv-endpoint=h"}, {}, "job none, 1:4 nodes, rank any, hosts if it is h:29400"},
    {"c10d, several, port", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:7", "--rdzv-id=j"}, {}, "job j, 2:2 nodes, rank any, hosts if it is h:7"},
    {"c10d, several, IPv6", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=[::2]:7"}, {}, "job none, 2:2 nodes, rank any, hosts if it is ::2:7"},
    {"c10d, several places", {"--nnodes=2:4", "--rdzv-backend=c10d", "--rdzv-endpoint=h:7,i,[::2]:9"}, {}, "job none, 2:4 nodes, rank any, hosts if it is h:7 or h:7 or i:29400 or [::2]:9"},
    {"static, several places", {"--nnodes=3", "--node-rank=1", "--rdzv-endpoint=h:7,i:8"}, {}, "job none, 3:3 nodes, rank 1, joins h:7 or h:7 or i:8"},
    {"c10d, several places of two nodes", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:7,i:7"}, {}, "job none, 2:2 nodes, rank any, hosts if it is h:7 or h:7 or i:7"},
    {"static, several places of one node", {"--rdzv-endpoint=h:7,i:7"}, {}, "job none, 1:1 nodes, rank any, hosts h:7"},
    {"c10d, a place twice", {"--nnodes=3", "--rdzv-backend=c10d", "--rdzv-endpoint=h,i,h:29400"}, {}, "error: --rdzv-endpoint 'h,i,h:29400': h:29400 is in it twice"},
    {"c10d, a place without a host", {"--nnodes=3", "--rdzv-backend=c10d", "--rdzv-endpoint=h,,i"}, {}, "error: --rdzv-endpoint 'h,,i': expected a host before and after each comma"},
    {"c10d, a bad place", {"--nnodes=3", "--rdzv-backend=c10d", "--rdzv-endpoint=h,i:x"}, {}, "error: --rdzv-endpoint 'i:x': expected a port from 0 to 65535 after the host"},
    {"c10d, a place without a port", {"--nnodes=3", "--rdzv-backend=c10d", "--rdzv-endpoint=h,i:0"}, {}, "error: --rdzv-endpoint 'h,i:0': all nodes have to know the ports, expected HOST:PORT,HOST:PORT"},
    {"c10d, too many places", {"--nnodes=3", "--rdzv-backend=c10d", "--rdzv-endpoint=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"}, {}, "error: --rdzv-endpoint 'a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q': expected at most 16 places"},
    {"c10d, several, port 0", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:0"}, {}, "error: --rdzv-endpoint 'h:0': all nodes have to know the port, expected HOST:PORT"},
    {"c10d, several, no endpoint", {"--nnodes=2", "--rdzv-backend=c10d"}, {}, "error: --rdzv-backend c10d needs --rdzv-endpoint HOST[:PORT], the same on all nodes"},
    {"c10d, is_host", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:7", "--rdzv-conf=is_host=true"}, {}, "job none, 2:2 nodes, rank any, hosts h:7"},
    {"c10d, is_host=false", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:7", "--rdzv-conf=is_host=false"}, {}, "job none, 2:2 nodes, rank any, joins h:7"},
    {"c10d, rank and local address", {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:7", "--node-rank=1", "--local-addr=b"}, {},
     "job none, 2:2 nodes, rank any, hosts if it is h:7; --node-rank" + std::string{kNoEffectC10d} + kLocalNoEffect},
    {"etcd", {"--nnodes=1:2", "--rdzv-backend=etcd", "--rdzv-endpoint=e1,e2:7"}, {}, "job none, 1:2 nodes, rank any, asks e1:2379,e2:7 under /ddprun, own :29400"},
    {"etcd-v2", {"--nnodes=2", "--rdzv-backend=etcd-v2", "--rdzv-endpoint=[::1]", "--local-addr=b"}, {}, "job none, 2:2 nodes, rank any, asks [::1]:2379 under /ddprun, own b:29400"},
    {"etcd, TLS", {"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-endpoint=e", "--rdzv-conf=protocol=https,cacert=a,cert=b,key=c,etcd_prefix=/p"}, {},
     "job none, 2:2 nodes, rank any, asks e:2379 under /p by TLS (a, b, c), own :29400"},
    {"etcd-v2, TLS", {"--nnodes=2", "--rdzv-backend=etcd-v2", "--rdzv-endpoint=e", "--rdzv-conf=protocol=https,ca_cert=a,ssl_cert=b,ssl_cert_key=c,prefix=/p"}, {},
     "job none, 2:2 nodes, rank any, asks e:2379 under /p by TLS (a, b, c), own :29400"},
    {"etcd, no endpoint", {"--nnodes=2", "--rdzv-backend=etcd"}, {}, "error: --rdzv-backend etcd needs --rdzv-endpoint HOST[:PORT][,HOST[:PORT]...], the members of the etcd"},
    {"etcd, bad endpoint", {"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-endpoint=e1,:7"}, {}, "error: --rdzv-endpoint ':7': expected HOST, HOST:PORT or [IPv6]:PORT"},
    {"etcd, one node", {"--rdzv-backend=etcd", "--rdzv-endpoint=e"}, {}, "job none, 1:1 nodes, rank any, hosts 127.0.0.1:0; --rdzv-endpoint has no effect: a job of one node takes a free port"},
    {"etcd, what it has no use for", {"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-endpoint=e", "--node-rank=1", "--rdzv-conf=is_host=true"}, {},
     "job none, 2:2 nodes, rank any, asks e:2379 under /ddprun, own :29400; --node-rank has no effect: with --rdzv-backend etcd; --rdzv-conf is_host has no effect: etcd chooses the coordinator"},
    {"the store's place changes nothing", {"--nnodes=2", "--node-rank=1", "--master-addr=a", "--store=local"}, {}, "job none, 2:2 nodes, rank 1, joins a:29500"},
    {"the range upside down", {"--nnodes=3:2"}, {}, "error: --nnodes '3:2': expected at least 1 node, and MIN not above MAX"},
};

const Case kByScheduler[] = {
    {"Slurm, first node", {}, slurm(0), "job 12.0, 3:3 nodes, rank 0, hosts h0:16432, one terminal"},
    {"Slurm, last node", {}, slurm(2), "job 12.0, 3:3 nodes, rank 2, joins h0:16432, one terminal"},
    {"Slurm, port given", {"--master-port=99"}, slurm(2), "job 12.0, 3:3 nodes, rank 2, joins h0:99, one terminal"},
    {"Slurm, bad port", {"--master-port=x"}, slurm(2), "error: --master-port 'x': expected a whole number from 0 to 65535"},
    {"Slurm, more wanted than possible", {"--nnodes=2:8"}, slurm(1), "job 12.0, 2:3 nodes, rank 1, joins h0:16432, one terminal"},
    {"Slurm, more needed than there are", {"--nnodes=4"}, slurm(1), "error: --nnodes '4': Slurm job 12 has started ddprun on 3 of them: ask it for more nodes, or say --nnodes 3"},
    {"Slurm, name given", {"--rdzv-id=mine"}, slurm(0), "job mine, 3:3 nodes, rank 0, hosts h0:16432, one terminal"},
    {"Slurm, is_host", {"--rdzv-conf=is_host=1"}, slurm(1), "job 12.0, 3:3 nodes, rank 1, hosts h0:16432, one terminal"},
    {"Slurm, local address", {"--local-addr=b"}, slurm(0), "job 12.0, 3:3 nodes, rank 0, hosts h0:16432, one terminal" + std::string{kLocalNoEffect}},
    {"Slurm, static", {"--rdzv-backend=static"}, slurm(2), "job 12.0, 3:3 nodes, rank 2, joins h0:16432"},
    {"Slurm, address given", {"--master-addr=h9"}, slurm(2), "job 12.0, 3:3 nodes, rank 2, joins h9:16432"},
    {"Slurm, fewer nodes than ranks, static", {"--nnodes=2", "--master-addr=h9"}, slurm(2), "error: Slurm job 12, in place of --node-rank '2': expected a whole number from 0 to 1"},
    {"Slurm, endpoint given", {"--rdzv-backend=c10d", "--rdzv-endpoint=h1:7"}, slurm(0), "job 12.0, 3:3 nodes, rank any, hosts if it is h1:7"},
    {"Slurm, more nodes that meet elsewhere", {"--nnodes=5", "--rdzv-endpoint=h1:7"}, slurm(2), "job 12.0, 5:5 nodes, rank 2, joins h1:7"},
    {"Slurm, one node of three", {"--nnodes=1"}, slurm(2), "job 12.0, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"Slurm, standalone", {"--standalone"}, slurm(2), "job <fresh>, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"Slurm's batch script, one node", {}, slurm_on_one_node(), "job 12.0, 1:1 nodes, rank any, hosts 127.0.0.1:0"},
    {"Slurm's batch script, others by hand", {"--nnodes=2", "--node-rank=1", "--master-addr=h0"}, slurm_on_one_node(), "job 12.0, 2:2 nodes, rank 1, joins h0:29500"},
    {"Open MPI", {}, open_mpi(), "job 8076, 2:2 nodes, rank 1, hosts if it is 10.77.0.1:17000, one terminal"},
    {"Open MPI that tells no address", {}, open_mpi(""), "error: Open MPI does not tell where the first node is: give --rdzv-endpoint HOST:PORT, the same on all nodes"},
    {"Open MPI, is_host=false", {"--rdzv-conf=is_host=no"}, open_mpi(), "job 8076, 2:2 nodes, rank 1, joins 10.77.0.1:17000, one terminal"},
    {"MPICH, address given", {"--master-addr=h0"}, mpich(), "job none, 2:2 nodes, rank 1, joins h0:29500"},
    {"MPICH, endpoint given", {"--rdzv-backend=c10d", "--rdzv-endpoint=h0:3"}, mpich(), "job none, 2:2 nodes, rank any, hosts if it is h0:3"},
    {"MPICH alone", {}, mpich(), "error: MPI does not tell where the first node is: give --rdzv-endpoint HOST:PORT, the same on all nodes"},
};

const Case kByHosts[] = {
    {"the host that leads", {}, led(3, {"", 0}), "job j, 3:3 nodes, rank 0, hosts 192.0.2.7:0, one terminal"},
    {"the only host", {}, led(1, {"", 0}), "job j, 1:1 nodes, rank 0, hosts 127.0.0.1:0, one terminal"},
    {"the host that leads, at an address", {}, led(3, {"ib0", 4711}), "job j, 3:3 nodes, rank 0, hosts ib0:4711, one terminal"},
    {"the only host, at an address", {}, led(1, {"ib0", 0}), "job j, 1:1 nodes, rank 0, hosts ib0:0, one terminal"},
    {"another host", {}, follower(), "job j, 1:2 nodes, rank 1, joins ib0:4711, one terminal"},
    {"a host's own settings do not count", {"--nnodes=7", "--rdzv-id=x", "--rdzv-conf=is_host=1"}, follower(), "job j, 1:2 nodes, rank 1, joins ib0:4711, one terminal"},
};
// clang-format on

template <std::size_t kCount>
void check_all(const Case (&cases)[kCount]) {
  for (const Case& one : cases) {
    INFO(one.name);
    CHECK(told(one.options, one.place) == one.meeting);
  }
}

TEST_CASE("options decide how nodes meet") { check_all(kByOptions); }
TEST_CASE("what a scheduler tells decides what the options leave open") { check_all(kByScheduler); }
TEST_CASE("what the launcher on another machine tells decides everything") { check_all(kByHosts); }

TEST_CASE("the rank in a list of workers for each node is the scheduler's only with static") {
  const auto rank = [](const Words& options) {
    const auto arguments =
        parse_arguments(options, [](const std::string&) { return std::nullopt; });
    REQUIRE(arguments.has_value());
    const Setting setting = node_rank_setting(arguments->settings, slurm(2));
    return setting.given ? setting.text : "";
  };
  CHECK(rank({"--master-addr=h0"}) == "2");
  CHECK(rank({"--node-rank=1"}) == "1");
  CHECK(rank({}).empty());
  CHECK(rank({"--standalone"}).empty());
}

}  // namespace
}  // namespace ddprun
