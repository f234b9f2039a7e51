// Jobs whose workers this program spawns itself: how they meet, and what happens when one is
// missing or dies. The program itself computes nothing, for it must have no threads.

#include "ddprun/spawn.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "ddprun/process_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Long enough for a loaded machine where all are there, short where somebody is waited for in vain.
constexpr auto kPatience = 120s;
constexpr auto kInVain = 2s;
// It is longer where somebody else does come, and has to come within that time.
constexpr auto kInVainBesideOthers = 10s;

/// Where the workers of a test wait for one another without a group: what one of them does after
/// it, it does when all others have done what comes before it. In memory that forks share.
class Meeting {
 public:
  explicit Meeting(unsigned workers)
      : barrier_{static_cast<pthread_barrier_t*>(mmap(nullptr, sizeof(pthread_barrier_t),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))} {
    REQUIRE(barrier_ != MAP_FAILED);
    pthread_barrierattr_t attributes{};
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    REQUIRE(pthread_barrier_init(barrier_, &attributes, workers) == 0);
    pthread_barrierattr_destroy(&attributes);
  }
  ~Meeting() { munmap(barrier_, sizeof(pthread_barrier_t)); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  void wait_for_all() const { pthread_barrier_wait(barrier_); }

 private:
  pthread_barrier_t* barrier_;
};

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error{"not so: " + what};
}

void check_sum(const ProcessGroup& group) {
  const torch::Tensor sum = torch::tensor(group.rank() + 1);
  group.all_reduce(sum);
  require(sum.item<int>() == group.size() * (group.size() + 1) / 2, "the sum is right");
}

template <typename Exception = CommunicationError, typename Call>
std::string error(Call call) {
  try {
    call();
  } catch (const Exception& e) {
    return e.what();
  }
  return "no error";
}

void require_contains(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "'" + text + "' contains '" + part + "'");
}

std::string spawn_error(const std::function<void(int)>& function, int nprocs) {
  return error<SpawnError>([&] { spawn(function, nprocs, {.shutdown_timeout = kPatience}); });
}

/// Runs the workers, whose require() speaks for them: what one of them throws comes out of spawn().
void all_succeed(const std::function<void(int)>& function, int nprocs) {
  CHECK_NOTHROW(spawn(function, nprocs));
}

TEST_CASE("spawned workers find one another") {
  for (const int nprocs : {1, 2, 4})
    all_succeed(
        [&](int rank) {
          const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
          require(group.rank() == rank && group.size() == nprocs, "each has its rank");
          require(group.env().local_rank == rank, "the local rank is the rank");
          check_sum(group);
        },
        nprocs);
}

TEST_CASE("what a worker throws is thrown by spawn, and the others are stopped") {
  CHECK(spawn_error(
            [](int rank) {
              if (rank == 1) throw std::runtime_error{"the disk is full"};
              pause();  // until SIGTERM
            },
            3) == "rank 1 failed: the disk is full");
}

TEST_CASE("a worker that exits or is killed is named with the code or the signal") {
  CHECK(spawn_error([](int) { _exit(7); }, 1) == "rank 0 exited with code 7");
  CHECK_THAT(spawn_error([](int) { raise(SIGKILL); }, 1),
             contains("rank 0 was killed by signal 9"));
}

TEST_CASE("a worker that does not heed SIGTERM is killed when its time is over") {
  const Meeting both_ignore_it{2};
  const auto stubborn = [&](int rank) {
    std::signal(SIGTERM, SIG_IGN);
    both_ignore_it.wait_for_all();
    if (rank == 0) throw std::runtime_error{"enough"};
    for (;;) pause();
  };
  CHECK_THAT(error<SpawnError>([&] { spawn(stubborn, 2, {.shutdown_timeout = 10ms}); }),
             contains("rank 0 failed: enough"));
}

TEST_CASE("the workers die with the process that has spawned them") {
  Pipe pipe;
  const pid_t parent = fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    spawn(
        [&](int) {
          require(write(pipe.writer(), "here\n", 5) == 5, "the test is informed");
          for (;;) pause();
        },
        2);
    _exit(EXIT_SUCCESS);
  }
  pipe.close_writer();
  CHECK(pipe.line("the first worker") == "here");
  CHECK(pipe.line("the second worker") == "here");
  kill(parent, SIGKILL);
  CHECK(waitpid(parent, nullptr, 0) == parent);
  CHECK(pipe.rest("the end of both workers").empty());
}

TEST_CASE("spawn refuses what cannot work") {
  CHECK_THROWS_WITH(spawn([](int) {}, 0), contains("nprocs is 0, expected 1 at least"));
  std::atomic<bool> over = false;
  std::jthread other{[&] { over.wait(false); }};
  CHECK_THROWS_WITH(spawn([](int) {}, 1), contains("has 2 threads, which its forks would lack"));
  over = true;
  over.notify_all();
}

TEST_CASE("workers meet at an address, or in a file") {
  const ScratchFolder folder;
  const std::string file = "file://" + (folder / "meeting").string();
  all_succeed(
      [&](int rank) {
        const std::string port = std::getenv("MASTER_PORT");
        const std::string place = "tcp://127.0.0.1:" + port;
        for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
          unsetenv(name);
        check_sum(init_process_group({.backend = "gloo",
                                      .timeout = kPatience,
                                      .init_method = place,
                                      .rank = rank,
                                      .world_size = 2}));
        const std::string query = "?world_size=2&rank=" + std::to_string(rank);
        check_sum(init_process_group(
            {.backend = "gloo", .timeout = kPatience, .init_method = file + query}));
      },
      2);
}

TEST_CASE("a group can be made again when it is gone, as often as one likes") {
  all_succeed(
      [](int) {
        for (int i = 0; i < 5; ++i)
          check_sum(init_process_group({.backend = "gloo", .timeout = kPatience}));
        const ProcessGroup one = init_process_group({.backend = "gloo", .timeout = kPatience});
        check_sum(init_process_group({.backend = "gloo", .timeout = kPatience}));
        check_sum(one);  // two at a time
      },
      3);
}

TEST_CASE("a rank that does not join in time is named") {
  const ScratchFolder folder;
  const Meeting both{2};  // both come at the same time, however busy the machine is
  all_succeed(
      [&](int rank) {
        if (rank == 1 || rank == 2) return;
        both.wait_for_all();
        // In a file: the message does not depend on which rank serves the store.
        const std::string text = error([&] {
          init_process_group({.backend = "gloo",
                              .timeout = kInVain,
                              .init_method = "file://" + (folder / "meeting").string()});
        });
        require_contains(text, "init_process_group on group \"default\" (rank " +
                                   std::to_string(rank) + " of 4): ranks 1 and 2 have not joined");
      },
      4);
}

TEST_CASE("if rank 0, which serves the store, does not come, the error says so") {
  all_succeed(
      [](int rank) {
        if (rank == 0) return;
        require_contains(error<std::runtime_error>(
                             [] { init_process_group({.backend = "gloo", .timeout = kInVain}); }),
                         "rank 0, which serves it, is missing");
      },
      2);
}

TEST_CASE("a sub-group whose members do not come names them by their numbers in the job") {
  all_succeed(
      [](int rank) {
        const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
        if (rank != 2) {
          const std::string text = error([&] {
            group.new_group({0, 2}, {.name = "pair", .timeout = kInVain});
          });
          if (rank == 0)
            require_contains(text, "new_group on group \"pair\" (rank 0 of 2): rank 2 has not");
        }
        group.barrier();
      },
      3);
}

TEST_CASE("a monitored barrier names ranks that do not come, on all that wait") {
  const Meeting both{2};
  all_succeed(
      [&](int rank) {
        const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
        if (rank % 2 == 0) {
          both.wait_for_all();
          require_contains(error([&] { group.monitored_barrier(kInVainBesideOthers); }),
                           "monitored_barrier on group \"default\" (rank " + std::to_string(rank) +
                               " of 4): ranks 1 and 3 have not come within " +
                               std::to_string(milliseconds(kInVainBesideOthers).count()) + " ms");
        }
        group.barrier();
      },
      4);
}

/// Rank 1 is killed; the other tries `call`, which must fail well before the timeout of 120 s.
void with_dead_peer(const std::string& operation,
                    const std::function<void(const ProcessGroup&)>& call) {
  const Meeting through_barrier{2};  // before that, rank 1's death would be an error of the barrier
  const std::string text = spawn_error(
      [&](int rank) {
        std::signal(SIGTERM, SIG_IGN);  // spawn() stops the others when rank 1 has died
        const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
        group.barrier();
        through_barrier.wait_for_all();
        if (rank == 1) raise(SIGKILL);
        const std::string said = error([&] { call(group); });
        std::ofstream{std::string{std::getenv("DDPRUN_TEST_FOLDER")} + "/" + std::to_string(rank)}
            << said;
      },
      2);
  CHECK_THAT(text, contains("rank 1 was killed by signal 9"));
  std::ifstream file{std::string{std::getenv("DDPRUN_TEST_FOLDER")} + "/0"};
  std::string said;
  std::getline(file, said);
  CHECK_THAT(said, contains(operation + " on group \"default\" (rank 0 of 2), float32 [3]: "));
}

TEST_CASE("a peer that has died is an error of the operation, at once") {
  const ScratchFolder folder;
  setenv("DDPRUN_TEST_FOLDER", folder.path().c_str(), 1);
  with_dead_peer("all_reduce", [](const auto& group) { group.all_reduce(torch::ones({3})); });
  with_dead_peer("broadcast", [](const auto& group) { group.broadcast(torch::ones({3}), 1); });
  with_dead_peer("recv", [](const auto& group) { group.recv(torch::ones({3}), 1); });
  with_dead_peer("all_gather", [](const auto& group) { group.all_gather(torch::ones({3})); });
}

TEST_CASE("a connection that breaks under a worker with a group sends it no deadly signal") {
  SECTION("the signal is ignored") {
    all_succeed(
        [](int) {
          const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
          raise(SIGPIPE);
        },
        1);
  }
  SECTION("a handler of the program's stays") {
    static volatile std::sig_atomic_t came = 0;
    all_succeed(
        [](int) {
          std::signal(SIGPIPE, [](int) { came = 1; });
          const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
          raise(SIGPIPE);
          require(came == 1, "the program's handler has the signal");
        },
        1);
  }
}

TEST_CASE("a group whose peer has died can be left at once, also when nobody has noticed") {
  const ScratchFolder folder;
  const std::string left = (folder / "left").string();
  const Meeting through_barrier{2};
  const std::string text = spawn_error(
      [&](int rank) {
        std::signal(SIGTERM, SIG_IGN);
        {
          const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
          group.barrier();
          through_barrier.wait_for_all();
          if (rank == 1) raise(SIGKILL);
        }
        std::ofstream{left} << "in order";
      },
      2);
  CHECK_THAT(text, contains("rank 1 was killed by signal 9"));
  CHECK(std::filesystem::exists(left));  // or spawn() had killed it after kPatience
}

TEST_CASE("a peer that does not come is an error of the operation after the timeout") {
  all_succeed(
      [](int rank) {
        const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
        group.barrier();  // both make the hasty group at the same time
        const auto in_haste = group.new_group({0, 1}, {.timeout = kInVainBesideOthers});
        if (rank == 0)
          require_contains(error([&] { in_haste->all_reduce(torch::ones({3})); }),
                           "all_reduce on group \"1\" (rank 0 of 2), float32 [3]: ");
        group.barrier();
      },
      2);
}

TEST_CASE("a wait can be given less time than the group") {
  all_succeed(
      [](int rank) {
        const ProcessGroup group = init_process_group({.backend = "gloo", .timeout = kPatience});
        const torch::Tensor sum = torch::ones({3});
        if (rank == 0) {
          const Work work = group.all_reduce_async(sum);
          require(!work.is_completed(), "it cannot be done alone");
          require_contains(error([&] { work.wait(10ms); }), "all_reduce on group");
          group.store()->set("waited", std::string{"in vain"});
          work.wait();  // the operation itself has not failed
        } else {
          group.store()->wait({"waited"}, kPatience);
          group.all_reduce(sum);
        }
        require(sum[0].item<int>() == 2, "the sum is right");
      },
      2);
}

TEST_CASE("who has given up on a message can leave before the peer does") {
  const Meeting rank_0_has_left{2};
  all_succeed(
      [&](int rank) {
        auto group = std::optional{init_process_group({.backend = "gloo", .timeout = kPatience})};
        if (rank == 0) {
          const Work never = group->irecv(torch::ones({3}), 1);
          require(!never.is_completed(), "nobody has sent");
        }
        if (rank == 0) group.reset();
        rank_0_has_left.wait_for_all();
      },
      2);
}

}  // namespace
}  // namespace ddprun::sdk
