#include "launcher/run/open_coordinator.hpp"

#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

// A node that opens its coordinator as a meeting says.
class CoordinatorFixture {
 protected:
  Result<RunCoordinator> open(Hosting hosting, Endpoint endpoint) {
    LaunchSpec spec;
    spec.meeting.hosting = hosting;
    spec.meeting.coordinator = std::move(endpoint);
    spec.terms.nodes_max = nodes_max_;
    spec.meeting.node_rank = node_rank_;
    return open_coordinator(io_, io_, spec, "job");
  }

  boost::asio::io_context io_{1};
  int nodes_max_ = 1;
  int node_rank_ = -1;
};

TEST_CASE_METHOD(CoordinatorFixture, "the node that hosts serves at a port that the system chose") {
  const auto here = open(Hosting::kHere, {"localhost", 0});
  REQUIRE(here.has_value());
  CHECK(here->server != nullptr);
  CHECK(here->endpoint.host == "127.0.0.1");
  CHECK(here->endpoint.port != 0);
}

TEST_CASE_METHOD(
    CoordinatorFixture,
    "other nodes go where the meeting says, and serve only once they have been there") {
  const auto elsewhere = open(Hosting::kElsewhere, {"no.such.host", 400});
  REQUIRE(elsewhere.has_value());
  CHECK_FALSE(elsewhere->is_here);
  CHECK(elsewhere->server == nullptr);
  CHECK(elsewhere->open_standby != nullptr);
  CHECK(elsewhere->endpoint == Endpoint{"no.such.host", 400});
}

TEST_CASE_METHOD(CoordinatorFixture, "the host's port counts where another node may follow it") {
  CHECK(open(Hosting::kHere, {"127.0.0.1", 0})->own_port == 0);
  nodes_max_ = 2;
  const auto here = open(Hosting::kHere, {"127.0.0.1", 0});
  REQUIRE(here.has_value());
  CHECK(here->own_port != 0);
  CHECK(here->own_port == here->endpoint.port);
}

TEST_CASE_METHOD(CoordinatorFixture, "the second of two nodes stands by, and one alone does not") {
  node_rank_ = 1;
  for (const int nodes : {1, 2}) {
    nodes_max_ = nodes;
    const auto elsewhere = open(Hosting::kElsewhere, {"127.0.0.1", 400});
    REQUIRE(elsewhere.has_value());
    CHECK((elsewhere->open_standby != nullptr) == (nodes == 2));
  }
}

TEST_CASE_METHOD(CoordinatorFixture, "of nodes that do not know who hosts, the endpoint's does") {
  const auto own = open(Hosting::kAtEndpoint, {"127.0.0.1", 0});
  REQUIRE(own.has_value());
  CHECK(own->is_here);
  const Endpoint others{"192.0.2.1", 400};  // no machine has this address (RFC 5737)
  const auto other = open(Hosting::kAtEndpoint, others);
  REQUIRE(other.has_value());
  CHECK_FALSE(other->is_here);
  CHECK(other->endpoint == others);
}

TEST_CASE_METHOD(CoordinatorFixture, "of two agents at the endpoint, the second joins the first") {
  const auto first = open(Hosting::kAtEndpoint, {"127.0.0.1", 0});
  REQUIRE(first.has_value());
  const auto second = open(Hosting::kAtEndpoint, first->endpoint);
  REQUIRE(second.has_value());
  CHECK_FALSE(second->is_here);
  CHECK(second->endpoint == first->endpoint);
}

TEST_CASE_METHOD(CoordinatorFixture, "a node that must host says whose the port is") {
  const auto first = open(Hosting::kHere, {"127.0.0.1", 0});
  REQUIRE(first.has_value());
  const auto second = open(Hosting::kHere, first->endpoint);
  REQUIRE(second.has_error());
  CHECK_THAT(second.error().message, contains("it is the coordinator of the same job"));
  CHECK_THAT(second.error().message, contains("choose another port"));
}

TEST_CASE("a warning says which processes can join a job of several nodes without a secret") {
  const CapturedLog log;
  boost::asio::io_context io{1};
  LaunchSpec spec;
  spec.meeting.coordinator = {"0.0.0.0", 0};
  spec.terms.nodes_max = 2;
  SECTION("when others reach the endpoint") {
    REQUIRE(open_coordinator(io, io, spec, "job").has_value());
    CHECK_THAT(log.text(), contains("warning: there is no secret (--secret-file): anyone who"));
  }
  SECTION("not on loopback") {
    spec.meeting.coordinator.host = "localhost";
    REQUIRE(open_coordinator(io, io, spec, "job").has_value());
    CHECK(log.text().empty());
  }
  SECTION("not of one node") {
    spec.terms.nodes_max = 1;
    REQUIRE(open_coordinator(io, io, spec, "job").has_value());
    CHECK(log.text().empty());
  }
  SECTION("not with a secret") {
    spec.secret = Secret{Secret::Bytes{}};
    REQUIRE(open_coordinator(io, io, spec, "job").has_value());
    CHECK(log.text().empty());
  }
}

}  // namespace
}  // namespace ddprun
