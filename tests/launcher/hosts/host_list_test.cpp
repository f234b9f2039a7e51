#include "launcher/hosts/host_list.hpp"

#include <random>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Hosts = std::vector<Host>;

Hosts listed(const std::string& text) {
  const auto hosts = parse_hosts({text, "--hosts", true});
  if (!hosts) FAIL(hosts.error().message);
  return *hosts;
}
std::string refusal(const std::string& text) {
  const auto hosts = parse_hosts({text, "--hosts", true});
  REQUIRE(hosts.has_error());
  return hosts.error().message;
}
Hosts in_file(const std::string& text) {
  const auto hosts = parse_hostfile(text, "hosts.txt");
  if (!hosts) FAIL(hosts.error().message);
  return *hosts;
}
std::string file_refusal(const std::string& text) {
  const auto hosts = parse_hostfile(text, "hosts.txt");
  REQUIRE(hosts.has_error());
  return hosts.error().message;
}

TEST_CASE("hosts are listed with or without their number of workers") {
  CHECK(listed("h1,h2:8,h3") == Hosts{{"h1", {}}, {"h2", 8}, {"h3", {}}});
  CHECK(listed(" h1 , h2:1 ") == Hosts{{"h1", {}}, {"h2", 1}});
  CHECK(listed("user@h1:2,10.0.0.7") == Hosts{{"user@h1", 2}, {"10.0.0.7", {}}});
}

TEST_CASE("IPv6 addresses are hosts, in brackets where a number follows") {
  CHECK(listed("[fd77::1]:4,fd77::2,me@[::1]") ==
        Hosts{{"fd77::1", 4}, {"fd77::2", {}}, {"me@::1", {}}});
  CHECK_THAT(refusal("h1:4:8"), contains("'h1:4:8' is no host"));
}

TEST_CASE("messages call a host by its name without the user") {
  CHECK(Host{"user@h1", {}}.label() == "h1");
  CHECK(Host{"h1", {}}.label() == "h1");
}

TEST_CASE("a list of hosts that makes no sense is refused in a sentence") {
  CHECK_THAT(refusal(""), contains("--hosts: '' is no host, expected HOST, HOST:WORKERS"));
  CHECK_THAT(refusal("h1,,h2"), contains("'' is no host"));
  CHECK_THAT(refusal("h1:"), contains("'h1:' is no host"));
  CHECK_THAT(refusal("h1:0"), contains("slots '0': expected a whole number from 1 to 65536"));
  CHECK_THAT(refusal("h1:many"), contains("slots 'many'"));
  CHECK_THAT(refusal("h1:4,h2,h1"),
             contains("the host h1 is there already (--hosts): give each host once"));
  CHECK_THAT(refusal("h1,me@h1"), contains("the host h1 is there already"));
}

TEST_CASE("no host is named like an option or like a piece of shell") {
  for (const std::string name : {"-oProxyCommand=x", "h1;ls", "$(ls)", "h 1", "a/b", "@h1", "-@h1"})
    CHECK_THAT(refusal(name), contains("is no host"));
}

TEST_CASE("hostfiles of MPI and DeepSpeed are read") {
  CHECK(
      in_file("# the cluster\n\nh1 slots=4\nh2\tslots=8 max_slots=16  # big\r\n  user@h3\nh4:2") ==
      Hosts{{"h1", 4}, {"h2", 8}, {"user@h3", {}}, {"h4", 2}});
}

TEST_CASE("hostfiles of Horovod are read") {
  CHECK(in_file("h1:4\nh2:4\n") == Hosts{{"h1", 4}, {"h2", 4}});
  CHECK(in_file("h1:4,h2:4") == Hosts{{"h1", 4}, {"h2", 4}});
}

TEST_CASE("an error in a hostfile names its line") {
  CHECK_THAT(file_refusal("h1\n\nh2 slots=x\n"), contains("hosts.txt line 3: slots 'x'"));
  CHECK_THAT(file_refusal("h1 slots=2 slots=3"),
             contains("line 1: the number of workers is there"));
  CHECK_THAT(file_refusal("h1:2 slots=3"), contains("the number of workers is there twice"));
  CHECK_THAT(file_refusal("h1 gpus=3"), contains("'gpus=3' means nothing here"));
  CHECK_THAT(file_refusal("h1 slots"), contains("'slots' means nothing here"));
  CHECK_THAT(file_refusal("h1\nh2\nh1 slots=4"),
             contains("line 3: the host h1 is there already (hosts.txt line 1)"));
  CHECK_THAT(file_refusal("# nothing\n\n"), contains("hosts.txt names no host"));
  CHECK_THAT(file_refusal("h\x01\xff"), contains("'h\\x01\\xff' is no host"));
}

TEST_CASE("any bytes are hosts or a sentence") {
  std::mt19937 random{7};
  const std::string alphabet = "h1: \t,=\n#@[]-slotmax_\r\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto n = random() % 24; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const auto hosts = parse_hostfile(text, "hosts.txt");
    if (hosts) {
      CHECK_FALSE(hosts->empty());
      for (const Host& host : *hosts)
        CHECK(host.name.find_first_of(" \t\n,=#[]\xff") == std::string::npos);
    } else {
      CHECK(hosts.error().message.starts_with("hosts.txt"));
    }
  }
}

}  // namespace
}  // namespace ddprun
