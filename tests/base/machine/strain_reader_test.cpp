#include "base/machine/strain_reader.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "base/asio.hpp"
#include "base/machine/machine_topology.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr pid_t kPid = 42;

/// Copies of the kernel's files about process 42 and its machine.
class StrainFixture {
 protected:
  StrainFixture() {
    files_.write("proc/42/stat",
                 "42 (train) R 7 42 42 0 -1 4194304 100 0 12 0 250 50 0 0 20 0 1 0 900 2654208 205 "
                 "1 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0");
    files_.write("proc/42/status", "Name:\ttrain\nVmRSS:\t 100 kB\nVmSwap:\t     8 kB\n");
    files_.write("proc/42/task/42/schedstat", "5000000 2000000 17\n");
    files_.write("proc/42/task/43/schedstat", "1000000 1500000 3\n");
    files_.write("proc/stat", "cpu  1000 0 0 5000 0 0 0 200 0 0\ncpu0 1\n");
    files_.write("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1200000\n");
    files_.write("sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq", "3200000\n");
    for (const char* what : {"cpu", "memory", "io"})
      write_pressure(std::string{"proc/pressure/"} + what, 1000);
  }
  void write_pressure(const std::string& file, int us) const {
    files_.write(file, "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(us) + "\n");
  }
  Strain read() const {
    StrainReader reader{files_.path()};
    reader.refresh();
    return reader.read(kPid);
  }

  ScratchFolder files_;
};

/// A child that runs a function, and is killed in the end.
class Forked {
 public:
  explicit Forked(const std::function<void()>& run) : pid_{fork()} {
    if (pid_ != 0) return;
    alarm(120);  // if the test is killed, nothing stays behind
    run();
    _exit(0);
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  ~Forked() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void burn() {
  const volatile bool over = false;
  while (!over) {
  }
}

/// Waits until that time of the process has grown.
bool grows(pid_t pid, Strain::Time Strain::*time) {
  const StrainReader reader;
  const auto before = reader.read(pid).*time;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < deadline) {
    if (reader.read(pid).*time > before) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

TEST_CASE_METHOD(StrainFixture, "the kernel's files about a process are read") {
  const Strain strain = read();
  CHECK(strain.ran == 3s);
  CHECK(strain.queued == 3500us);
  CHECK(strain.major_faults == 12);
  CHECK(strain.swapped_bytes == 8192);
  CHECK(strain.stolen == 2s);
  CHECK(strain.wanted == 12s);
  CHECK(strain.mhz == 1200);
  CHECK(strain.mhz_max == 3200);
  CHECK(strain.cpu_pressure == 1ms);
  CHECK(strain.memory_pressure == 1ms);
  CHECK(strain.io_pressure == 1ms);
  CHECK_FALSE(strain.throttled.has_value());
  CHECK(strain.quota_cpus == 0);
}

TEST_CASE_METHOD(StrainFixture, "quotas and pressure are those of the process's cgroup") {
  files_.write("proc/42/cgroup", "0::/job/step\n");
  files_.write("proc/self/cgroup", "0::/agent\n");
  files_.write("sys/fs/cgroup/job/cpu.stat", "usage_usec 9\nthrottled_usec 700\n");
  files_.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  files_.write("sys/fs/cgroup/agent/cpu.stat", "throttled_usec 5\n");
  write_pressure("sys/fs/cgroup/job/step/memory.pressure", 2000);
  write_pressure("sys/fs/cgroup/job/io.pressure", 3000);
  const Strain strain = read();
  CHECK(strain.throttled == 700us);
  CHECK(strain.quota_cpus == 1.5);
  CHECK(strain.memory_pressure == 2ms);
  CHECK(strain.io_pressure == 1ms);
}

TEST_CASE_METHOD(StrainFixture, "what the kernel does not tell is not known") {
  files_.write("proc/42/task/42/schedstat", "");
  files_.write("proc/42/task/43/schedstat", "rubbish\n");
  files_.write("proc/42/status", "VmSwap:\tmuch kB\n");
  files_.write("proc/42/cgroup", "nonsense\n::\n");
  files_.write("proc/stat", "rubbish\n");
  files_.write("proc/pressure/io", "rubbish\n");
  files_.write("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "fast\n");
  const Strain strain = read();
  CHECK(strain.ran == 3s);
  CHECK_FALSE(strain.queued.has_value());
  CHECK(strain.swapped_bytes == 0);
  CHECK_FALSE(strain.stolen.has_value());
  CHECK_FALSE(strain.io_pressure.has_value());
  CHECK(strain.mhz == 0);
}

TEST_CASE_METHOD(StrainFixture, "a process that has ended has no strain") {
  std::filesystem::remove_all(files_ / "proc/42");
  const Strain strain = read();
  CHECK_FALSE(strain.ran.has_value());
  CHECK_FALSE(strain.stolen.has_value());
  CHECK(strain.cpus == 0);
}

TEST_CASE_METHOD(StrainFixture, "no more than 256 threads are looked at") {
  for (int thread = 1000; thread < 1300; ++thread)
    files_.write("proc/42/task/" + std::to_string(thread) + "/schedstat", "0 1000000 1\n");
  std::filesystem::remove_all(files_ / "proc/42/task/42");
  std::filesystem::remove_all(files_ / "proc/42/task/43");
  CHECK(read().queued == 256ms);
}

TEST_CASE("a process that computes has CPU time, and a CPU on which it may run") {
  const Forked busy{burn};
  CHECK(grows(busy.pid(), &Strain::ran));
  CHECK(StrainReader{}.read(busy.pid()).cpus == static_cast<int>(allowed_cpus().size()));
}

TEST_CASE("of two processes that compute on one CPU each waits for it") {
  if (!StrainReader{}.read(getpid()).queued) {
    WARN("skipped: this kernel does not tell how long threads wait for a CPU");
    SUCCEED();
    return;
  }
  const auto cpus = allowed_cpus();
  REQUIRE_FALSE(cpus.empty());
  const auto on_one_cpu = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus.front(), &one);
    sched_setaffinity(0, sizeof one, &one);
    burn();
  };
  const Forked first{on_one_cpu};
  const Forked second{on_one_cpu};
  CHECK(grows(first.pid(), &Strain::queued));
  CHECK(grows(second.pid(), &Strain::queued));
  CHECK(StrainReader{}.read(first.pid()).cpus == 1);
}

TEST_CASE("the connections of another process are found") {
  asio::io_context io{1};
  asio::ip::tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  asio::ip::tcp::socket client{io};
  client.connect(acceptor.local_endpoint());
  asio::ip::tcp::socket server = acceptor.accept();
  StrainReader reader;
  const Forked other{[] {
    for (;;) pause();
  }};
  client.close();
  server.close();
  CHECK(reader.read(other.pid()).connections == 0);
  reader.refresh();
  const Strain strain = reader.read(other.pid());
  CHECK(strain.connections == 2);
  CHECK(strain.round_trip == 0us);  // loopback tells nothing of a network
}

}  // namespace
}  // namespace ddprun
