#include "rendezvous/watch/slow_cause.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {

/// What a failed check prints.
static std::ostream& operator<<(std::ostream& out, SlowBecause because) {
  return out << static_cast<int>(because);
}

namespace {

/// A rank that computes on one of 8 CPUs, and waits for nothing.
StrainRates usual_rank() {
  StrainRates rank{.cpus = 8, .ran = 0.9, .queued = 0.02, .throttled = 0};
  rank.stolen = rank.cpu_pressure = rank.memory_pressure = rank.io_pressure = 0.01;
  rank.mhz = 3000;
  rank.mhz_max = 3200;
  rank.connections = 5;
  rank.retransmits = 1;
  rank.sending = 0.01;
  rank.round_trip_ms = 0.2;
  return rank;
}

struct SlowFixture {
  SlowCause cause() const { return why_slow(slow, others); }
  SlowBecause because() const { return cause().because; }

  StrainRates slow = usual_rank();
  StrainRates others = usual_rank();
};

TEST_CASE_METHOD(SlowFixture, "slow: a rank that is as the others has no cause") {
  CHECK(because() == SlowBecause::kUnknown);
  CHECK(cause().sentence.empty());
  CHECK(why_slow({}, {}).because == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture, "slow: a cgroup was throttled") {
  slow.ran = 0.6;
  slow.quota_cpus = 0.6;
  slow.throttled = 0.4;
  CHECK(because() == SlowBecause::kThrottled);
  CHECK(cause().sentence ==
        "its cgroup was throttled for 40 % of the time, those of the others for 0 %: its quota is "
        "worth 0.6 CPUs (cpu.max)");
  others.throttled.reset();
  slow.quota_cpus = 0;
  CHECK(cause().sentence == "its cgroup was throttled for 40 % of the time");
}

TEST_CASE_METHOD(SlowFixture, "slow: threads that are throttled at once lose the same time") {
  slow.quota_cpus = 4;
  slow.throttled = 4;  // 8 threads, each for half of the time
  CHECK_THAT(cause().sentence, contains("throttled for 50 % of the time"));
  slow.throttled = 0.4;
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture, "slow: other guests have the CPUs") {
  slow.ran = 0.7;
  slow.stolen = 0.3;
  CHECK(because() == SlowBecause::kStolen);
  CHECK(cause().sentence ==
        "other guests of its host had 30 % of the CPU time that its machine wanted, and 1 % of "
        "that of the others");
  slow.stolen = 1;  // more than any kernel counts
  CHECK(because() == SlowBecause::kStolen);
}

TEST_CASE_METHOD(SlowFixture, "slow: what is stolen costs a rank little that hardly computes") {
  slow.ran = 0.2;
  slow.stolen = 0.3;
  CHECK(because() == SlowBecause::kWaitsOutside);
}

TEST_CASE_METHOD(SlowFixture, "slow: it has fewer CPUs, for which its own threads wait") {
  slow.cpus = 1;
  slow.ran = 0.98;
  slow.queued = 7;
  CHECK(because() == SlowBecause::kFewerCpus);
  CHECK(cause().sentence == "it may run on 1 CPU, which it used all the time, the others on 8");
}

TEST_CASE_METHOD(SlowFixture, "slow: a few CPUs are enough for a rank that does not use them") {
  slow.cpus = 2;
  CHECK(because() == SlowBecause::kUnknown);
  others.cpus = 0;
  CHECK(because() == SlowBecause::kUnknown);
  slow.cpus = 0;
  others.cpus = 8;
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture, "slow: others use its CPUs") {
  slow.ran = 0.6;
  slow.queued = 0.38;
  CHECK(because() == SlowBecause::kQueued);
  CHECK(cause().sentence ==
        "it was ready to run and had no CPU for 38 % of the time, the others for 2 %");
  slow.cpus = 1;  // other processes have a third of it
  CHECK(because() == SlowBecause::kQueued);
}

TEST_CASE_METHOD(SlowFixture, "slow: threads that wait for a CPU at once lose the same time") {
  slow.ran = 4;
  slow.queued = 4;
  CHECK_THAT(cause().sentence, contains("no CPU for 50 % of the time"));
  slow.ran = 4;
  slow.queued = 0.4;
  others.ran = 4;
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture,
                 "slow: pressure tells of CPUs where the times of threads are unknown") {
  slow.queued.reset();
  slow.cpu_pressure = 0.5;
  CHECK(because() == SlowBecause::kQueued);
  CHECK_THAT(cause().sentence, contains("where it runs, tasks were ready and had no CPU for 50 %"));
}

TEST_CASE_METHOD(SlowFixture, "slow: memory is short") {
  slow.memory_pressure = 0.3;
  slow.io_pressure = 0.35;  // for what was swapped
  CHECK(because() == SlowBecause::kMemory);
  CHECK(cause().sentence ==
        "where it runs, tasks waited for memory for 30 % of the time, where the others run for "
        "1 %");
  slow.swapped_bytes = 3 << 20;
  CHECK_THAT(cause().sentence, contains("; 3 MiB are swapped out"));
}

TEST_CASE_METHOD(SlowFixture, "slow: pages tell of memory where its pressure is unknown") {
  slow.major_faults = 900;
  CHECK(because() == SlowBecause::kUnknown);
  slow.memory_pressure.reset();
  others.memory_pressure.reset();
  CHECK(because() == SlowBecause::kMemory);
  CHECK(cause().sentence == "it waited for 900 pages a second from a disk, the others for 0");
}

TEST_CASE_METHOD(SlowFixture, "slow: a disk is slow") {
  slow.io_pressure = 0.4;
  CHECK(because() == SlowBecause::kDisk);
  CHECK(cause().sentence ==
        "where it runs, tasks waited for a disk for 40 % of the time, where the others run for "
        "1 %");
}

TEST_CASE_METHOD(SlowFixture, "slow: its CPU runs at a lower frequency") {
  slow.mhz = 1200;
  CHECK(because() == SlowBecause::kSlowerClock);
  CHECK(cause().sentence == "its CPU ran at 1200 MHz of 3200, those of the others at 3000");
  slow.ran = 0.1;  // the CPU of a process that sleeps is slow in any machine
  CHECK(because() == SlowBecause::kWaitsOutside);
  slow.ran = 0.9;
  others.mhz = 0;
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture, "slow: what it sends takes long") {
  slow.sending = 0.6;
  CHECK(because() == SlowBecause::kNetwork);
  CHECK(cause().sentence ==
        "what it sends was in flight for 60 % of the time, that of the others for 1 %");
  slow.round_trip_ms = 40;
  slow.retransmits = 40;
  CHECK(
      cause().sentence ==
      "what it sends was in flight for 60 % of the time, that of the others for 1 %; a round trip "
      "takes 40 ms, of the others' 0.2 ms; 40 segments a second had to be sent again, of the "
      "others' 1");
  others.sending = 0.55;  // its neighbours send to it, which takes as long
  CHECK(because() == SlowBecause::kNetwork);
  others.round_trip_ms = 30;  // it is so everywhere
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture, "slow: it has more to compute") {
  slow.ran = 0.95;
  others.ran = 0.4;
  CHECK(because() == SlowBecause::kMoreWork);
  CHECK(cause().sentence ==
        "it used 0.95 CPUs, the others 0.40, and nothing kept it from them: it has more to "
        "compute, or computes more slowly");
  slow.waited = 0.05;
  others.waited = 0.55;
  CHECK(because() == SlowBecause::kMoreWork);
  slow.waited = 0.6;  // so it is no slow one
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture,
                 "slow: it computes a little longer, for all of the time that it is late") {
  slow.ran = 0.98;
  others.ran = 0.8;
  CHECK(because() == SlowBecause::kUnknown);  // they may have waited, or had less to do
  slow.waited = 0.01;
  others.waited = 0.19;
  CHECK(because() == SlowBecause::kMoreWork);
  others.waited = 0.4;
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture, "slow: where it sleeps is reported, if that was seen") {
  slow.ran = 0.3;
  slow.queued = 0;
  const SlowCause found = why_slow(slow, others, "in 6 of 10 looks it sleeps at load (train.py:7)");
  CHECK(found.because == SlowBecause::kWaitsOutside);
  CHECK(found.sentence ==
        "for 70 % of the time it neither ran nor was ready to run: in 6 of 10 looks it sleeps at "
        "load (train.py:7)");
  slow.queued = 0.7;  // it sleeps, and that is not why it is late
  CHECK_THAT(why_slow(slow, others, "in 6 of 10 looks it sleeps").sentence, !contains("looks"));
}

TEST_CASE_METHOD(SlowFixture, "slow: it sleeps, or waits for what the kernel does not see") {
  slow.ran = 0.3;
  slow.queued = 0;
  CHECK(because() == SlowBecause::kWaitsOutside);
  CHECK(cause().sentence ==
        "for 70 % of the time it neither ran nor was ready to run: it slept, or waited for data "
        "or a device");
  slow.queued = 0.1;
  CHECK_THAT(cause().sentence, contains("for 60 % of the time"));
  slow.queued = 0;
  slow.waited = 0.5;
  CHECK(because() == SlowBecause::kWaitsOutside);
  CHECK_THAT(cause().sentence,
             contains("for 20 % of the time it neither ran nor was ready to run, nor waited for "
                      "other ranks"));
  slow.waited = 0.65;
  CHECK(because() == SlowBecause::kUnknown);
  slow.ran.reset();
  CHECK(because() == SlowBecause::kUnknown);
}

TEST_CASE_METHOD(SlowFixture,
                 "slow: of causes that cost as much, that which brings others is named") {
  slow.ran = 0.5;
  slow.quota_cpus = 0.5;
  slow.throttled = 0.4;
  slow.queued = 0.45;  // some kernels count it here, too
  CHECK(because() == SlowBecause::kThrottled);
  slow.queued = 0.9;  // and other processes use the CPUs, too
  CHECK(because() == SlowBecause::kThrottled);
  slow.throttled = 0.15;
  CHECK(because() == SlowBecause::kQueued);
  slow.throttled = slow.quota_cpus = 0;
  slow.memory_pressure = 0.4;
  slow.io_pressure = 0.5;
  CHECK(because() == SlowBecause::kQueued);
  slow.queued = 0;
  CHECK(because() == SlowBecause::kMemory);
  slow.memory_pressure = 0.3;
  CHECK(because() == SlowBecause::kDisk);
}

TEST_CASE("the median of ranks is that of those whose figure is known") {
  StrainRates without;
  StrainRates busy = usual_rank();
  busy.ran = 3;
  busy.retransmits = 100;
  busy.mhz = 3100;
  busy.waited = 0.2;
  const StrainRates found =
      median_of({without, usual_rank(), without, busy, usual_rank(), without, without});
  CHECK(found.ran == 0.9);
  CHECK(found.waited == 0.2);
  CHECK(found.retransmits == 0);
  CHECK(found.mhz == 3000);
  CHECK(found.cpus == 8);
  CHECK(found.connections == 0);
  CHECK(median_of({}) == StrainRates{});
  CHECK(median_of({usual_rank()}) == usual_rank());
}

}  // namespace
}  // namespace ddprun
