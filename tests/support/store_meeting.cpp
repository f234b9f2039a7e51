// The workers of one node meet those of all others in the store, as torch's do:
//
//   store_meeting CLIENTS
//
// is one of WORLD_SIZE processes that play CLIENTS workers each, with MASTER_PORT and RANK as
// ddprun gives them. It prints when something began and when the last of its workers was done, in
// microseconds of CLOCK_MONOTONIC:
//
//   connect BEGIN END    connection, VALIDATE and PING
//   barriers BEGIN END   20 times: ADD, and a WAIT for what the last one sets
//   addresses BEGIN END  a SET of one's own, and WAIT and GET of everybody's, one after the other
//
// and, where COORDINATOR_PORT is set, at rank 0 how many connections this machine has to it:
//
//   connections N
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <vector>

#include "tests/support/store_client.hpp"

using namespace ddprun::load;

namespace {

constexpr int kBarriers = 20;
constexpr std::size_t kAddressBytes = 170;  // as Gloo sets

struct Worker {
  int socket;
  std::size_t number;
  std::size_t step = 0;
  std::size_t reply_bytes = 0;
  std::string reply = {};
};

long now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
      .count();
}

class Node {
 public:
  Node(std::uint16_t port, std::size_t rank, std::size_t nodes, std::size_t workers)
      : world_{nodes * workers} {
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back({connect_to(port), rank * workers + i});
      poll_.add(workers_[i].socket, i);
    }
  }

  void barrier(const std::string& name) {
    run([&](Worker& worker) -> std::string {
      switch (worker.step++) {
        case 0: {
          worker.reply_bytes = 8;
          std::string add = request(0x04, name);
          ddprun::write_i64(add, 1);
          return add;
        }
        case 1: {
          std::uint64_t arrived = 0;
          worker.reply.copy(reinterpret_cast<char*>(&arrived), sizeof arrived);
          worker.reply_bytes = 1;
          const std::string last = arrived == world_ ? set_request(name + "/all", "") : "";
          return last + wait_request(name + "/all");
        }
      }
      return "";
    });
  }

  void exchange_addresses() {
    const std::string address(kAddressBytes, 'a');
    run([&](Worker& worker) -> std::string {
      const std::size_t peer = worker.step / 2;
      const bool wait = worker.step % 2 == 0;
      const std::string own = worker.step == 0 ? set_request(key_of(worker.number), address) : "";
      if (peer == world_) return "";
      ++worker.step;
      worker.reply_bytes = wait ? 1 : 8 + kAddressBytes;
      return own + (wait ? wait_request(key_of(peer)) : request(0x03, key_of(peer)));
    });
  }

 private:
  static std::string key_of(std::size_t worker) {
    return "/default_pg/0//cpu//0/" + std::to_string(worker);
  }

  /// Every worker asks what `next` says, until that is nothing.
  void run(const std::function<std::string(Worker&)>& next) {
    std::size_t busy = workers_.size();
    for (Worker& worker : workers_) {
      worker.step = 0;
      send_all(worker.socket, next(worker));
    }
    while (busy > 0) {
      poll_.wait([&](std::size_t index) {
        Worker& worker = workers_[index];
        std::array<char, 512> bytes;
        const ssize_t size = ::recv(worker.socket, bytes.data(), bytes.size(), 0);
        if (size <= 0) fail("the store has closed a connection");
        worker.reply.append(bytes.data(), static_cast<std::size_t>(size));
        if (worker.reply.size() < worker.reply_bytes) return;
        const std::string ask = next(worker);
        worker.reply.clear();
        if (ask.empty())
          --busy;
        else
          send_all(worker.socket, ask);
      });
    }
  }

  std::size_t world_;
  std::vector<Worker> workers_;
  Poll poll_;
};

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Lines of /proc/net/tcp (proc(5)): "sl local_address rem_address st ...", in hexadecimal.
int connections_to(unsigned port) {
  std::ifstream table{"/proc/net/tcp"};
  std::string line;
  std::getline(table, line);
  int count = 0;
  for (std::string slot, local, remote, state; std::getline(table, line);) {
    std::istringstream{line} >> slot >> local >> remote >> state;
    const bool established = state == "01";
    count += established && std::stoul(local.substr(local.find(':') + 1), nullptr, 16) == port;
  }
  return count;
}

template <typename Action>
void measure(const char* what, Action&& action) {
  const long begin = now();
  action();
  std::printf("%s %ld %ld\n", what, begin, now());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: store_meeting CLIENTS, under ddprun\n");
    return 2;
  }
  raise_file_limit();
  const auto port = to_number<std::uint16_t>(variable("MASTER_PORT"));
  const auto rank = to_number<std::size_t>(variable("RANK"));
  const auto nodes = to_number<std::size_t>(variable("WORLD_SIZE"));
  std::optional<Node> node;
  measure("connect", [&] { node.emplace(port, rank, nodes, to_number<std::size_t>(argv[1])); });
  node->barrier("/all/connected");
  measure("barriers", [&] {
    for (int i = 0; i < kBarriers; ++i) node->barrier("/barrier/" + std::to_string(i));
  });
  node->barrier("/all/met");
  measure("addresses", [&] { node->exchange_addresses(); });
  node->barrier("/all/known");
  const auto coordinator = to_number<unsigned>(variable("COORDINATOR_PORT"));
  if (rank == 0 && coordinator > 0) std::printf("connections %d\n", connections_to(coordinator));
  std::fflush(stdout);
  node->barrier("/all/counted");
}
