#include "base/machine/strain.hpp"

#include <chrono>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("pressure is the time in which some task waited") {
  CHECK(pressure_time("some avg10=0.13 avg60=0.00 avg300=0.00 total=4711\n"
                      "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n") == 4711us);
  CHECK(pressure_time("some avg10=0.13 avg60=0.00 avg300=0.00 total=0") == 0us);
  for (const char* other : {"", "full avg10=0.00 total=1\n", "some avg10=0.00\n", "some total=x\n",
                            "some total=1 2\n", "some total=99999999999999999999\n"}) {
    INFO(other);
    CHECK_FALSE(pressure_time(other).has_value());
  }
}

TEST_CASE("of the links to open files, those to sockets have an inode") {
  CHECK(socket_inode("socket:[12345]") == 12'345U);
  for (const char* other : {"", "socket:[", "socket:[]", "socket:[12", "socket:[-1]",
                            "socket:[99999999999]", "pipe:[12]", "/tmp/socket:[1]"}) {
    INFO(other);
    CHECK_FALSE(socket_inode(other).has_value());
  }
}

TEST_CASE("two readings tell what was in between") {
  Strain before{.ran = 1s, .queued = 2s, .throttled = 0s, .stolen = 10s, .wanted = 100s};
  before.cpu_pressure = before.memory_pressure = before.io_pressure = 5s;
  before.major_faults = 7;
  before.retransmits = 100;
  before.sending = 1s;
  Strain after{.cpus = 4, .ran = 4s, .queued = 3s, .throttled = 6s, .quota_cpus = 1.5};
  after.stolen = 11s;
  after.wanted = 104s;
  after.cpu_pressure = 6s;
  after.memory_pressure = 9s;  // more was counted than the time that passed
  after.io_pressure = 5s;
  after.major_faults = 17;
  after.swapped_bytes = 4096;
  after.mhz = 1200;
  after.mhz_max = 3200;
  after.connections = 3;
  after.retransmits = 105;
  after.sending = 1500ms;
  after.round_trip = 1500us;
  StrainRates rates{.cpus = 4, .ran = 1.5, .queued = 0.5, .throttled = 3, .quota_cpus = 1.5};
  rates.stolen = 0.25;
  rates.cpu_pressure = 0.5;
  rates.memory_pressure = 1;
  rates.io_pressure = 0;
  rates.major_faults = 5;
  rates.swapped_bytes = 4096;
  rates.mhz = 1200;
  rates.mhz_max = 3200;
  rates.connections = 3;
  rates.retransmits = 2.5;
  rates.sending = 0.25;
  rates.round_trip_ms = 1.5;
  CHECK(strain_rates(before, after, 2s) == rates);
}

TEST_CASE("a total that has fallen has not grown, and of an unknown one nothing follows") {
  const Strain before{.queued = 9s, .throttled = 1s, .retransmits = 9};
  const Strain after{.ran = 3s, .queued = 1s, .stolen = 1s, .retransmits = 4};
  const StrainRates rates = strain_rates(before, after, 1s);
  CHECK(rates.queued == 0.0);
  CHECK(rates.retransmits == 0);
  CHECK_FALSE(rates.ran.has_value());
  CHECK_FALSE(rates.throttled.has_value());
  CHECK_FALSE(rates.stolen.has_value());
  CHECK(strain_rates({}, {}, 1s) == StrainRates{});
}

TEST_CASE("nothing is stolen of a machine that wanted no CPU time") {
  const Strain idle{.stolen = 1s, .wanted = 5s};
  CHECK(strain_rates(idle, idle, 1s).stolen == 0.0);
}

}  // namespace
}  // namespace ddprun
