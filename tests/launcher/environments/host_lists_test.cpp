#include "launcher/environments/host_lists.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string message(const Result<HostNames>& result) {
  return result ? "no error" : result.error().message;
}

TEST_CASE("a node file names a host once for each place, in the order of the ranks") {
  CHECK(hosts_of_places("n2\nn2\nn1\nn1\n") == HostNames{"n2", "n1"});
  CHECK(hosts_of_places("n1.cluster.org \r\nn2.cluster.org") ==
        HostNames{"n1.cluster.org", "n2.cluster.org"});
  CHECK(hosts_of_places("hostA hostA hostB") == HostNames{"hostA", "hostB"});
  CHECK(hosts_of_places("\n \n").empty());
}

TEST_CASE("LSF counts the places behind each host") {
  CHECK(hosts_with_places("hostA 2 hostB 1 ") == HostNames{"hostA", "hostB"});
  CHECK(hosts_with_places("batch2 1 h41n08 42 h41n03 42") ==
        HostNames{"batch2", "h41n08", "h41n03"});
  CHECK(hosts_with_places("").empty());
}

TEST_CASE("SageMaker's hosts are a list in JSON") {
  CHECK(hosts_in_json(R"(["algo-1","algo-2"])").value() == HostNames{"algo-1", "algo-2"});
  for (const char* wrong : {"algo-1", "[]", "[1]", R"({"hosts":["algo-1"]})", ""})
    CHECK_THAT(message(hosts_in_json(wrong)), contains("is no list of hosts, expected one like"));
}

TEST_CASE("Flux tells the hosts of a job in its resource set") {
  // As `flux job info` prints it for two of four nodes.
  constexpr char kResources[] =
      R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-7","gpu":"0-1"}}],)"
      R"("nodelist":["corona[171,173]"],"starttime":1660000000.0,"expiration":0.0}})";
  CHECK(hosts_in_flux_resources(kResources).value() == HostNames{"corona171", "corona173"});
  CHECK(hosts_in_flux_resources(R"({"execution":{"nodelist":["a[1-2]","b"]}})").value() ==
        HostNames{"a1", "a2", "b"});
  for (const char* wrong : {"", "{}", R"({"execution":3})", R"({"execution":{"nodelist":"a"}})"})
    CHECK_THAT(message(hosts_in_flux_resources(wrong)), contains("is no resource set of Flux"));
}

// A pod's own lines, as the kubelet writes them.
constexpr char kHostsFile[] =
    "# Kubernetes-managed hosts file.\n"
    "127.0.0.1\tlocalhost\n"
    "10.244.1.7\ttrain-workers-0-3.train.ml.svc.cluster.local\ttrain-workers-0-3\n";

TEST_CASE("the first pod has the name of this one, with 0 for the last number") {
  CHECK(first_pod("train-workers-0-3", 3, kHostsFile).value() ==
        "train-workers-0-0.train.ml.svc.cluster.local");
  // With setHostnameAsFQDN the pod's host name has its domain.
  CHECK(first_pod("train-workers-0-3.train.ml.svc.cluster.local", 3, kHostsFile).value() ==
        "train-workers-0-0.train.ml.svc.cluster.local");
}

TEST_CASE("a pod that cannot be reached by a name says what it lacks") {
  const auto alone = first_pod("job-1", 1, "10.244.1.7\tjob-1\n# job-1.commented.out\n");
  REQUIRE(alone.has_error());
  CHECK_THAT(alone.error().message, contains("no subdomain, which is the name of a headless"));
  const auto node = first_pod("node17", 1, kHostsFile);  // it uses the network of its node
  REQUIRE(node.has_error());
  CHECK_THAT(node.error().message, contains("'node17' does not end in -1"));
}

using Names = std::vector<std::string>;

Names expanded(std::string_view list) {
  const auto hosts = expand_slurm_hosts(list);
  if (!hosts) FAIL(hosts.error().message);
  return *hosts;
}

TEST_CASE(
    "Slurm's lists of hosts are written out in their order, numbers padded as they are there") {
  CHECK(expanded("h0") == Names{"h0"});
  CHECK(expanded("ctl,h[0-1]") == Names{"ctl", "h0", "h1"});
  CHECK(expanded("n[001-003,7],gpu-a[1-2]-ib0") ==
        Names{"n001", "n002", "n003", "n7", "gpu-a1-ib0", "gpu-a2-ib0"});
  CHECK(expanded("n[098-101]") == Names{"n098", "n099", "n100", "n101"});
  CHECK(expanded("gpu-1-[01-02],gpu-2-01") == Names{"gpu-1-01", "gpu-1-02", "gpu-2-01"});
}

TEST_CASE("several brackets in one name are all combinations, the last the fastest") {
  CHECK(expanded("r[1-2]n[08-09]") == Names{"r1n08", "r1n09", "r2n08", "r2n09"});
  CHECK(expanded("a[1,3]b[2]c") == Names{"a1b2c", "a3b2c"});
}

TEST_CASE("a list that is none is refused in a sentence, and an endless one, too") {
  for (const char* list : {"", "n[1-", "n[]", "n[3-1]", "n[a-b]", "n1]", "n[1-2],,m", "n[1--2]",
                           "n[0-99999999]", "a[1-300]b[1-300]", "n[99999999999]"}) {
    const auto hosts = expand_slurm_hosts(list);
    INFO(list);
    REQUIRE(hosts.has_error());
    CHECK_THAT(hosts.error().message, contains("is no list of hosts"));
  }
}

}  // namespace
}  // namespace ddprun
