// SimulatedEtcd: an etcd on fake time, which is slow, restarts, and is cut off from some nodes. A
// request may be executed although its answer is lost, and long after the client gave up.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/rendezvous/etcd/fake_etcd.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class SimulatedEtcd {
 public:
  using Answered = std::function<void(const EtcdAnswer&)>;

  explicit SimulatedEtcd(World& world);
  SimulatedEtcd(const SimulatedEtcd&) = delete;

  /// A request of a process on `host`, which would coordinate at `endpoint`. The request may be
  /// lost, and its answer, too.
  void ask(int host, const std::string& endpoint, const EtcdRequest& request, Answered answered);

  /// What is in it now.
  KeysRead read();

  // What may happen to it.
  void stop() { is_down_ = true; }
  /// Leases start again then, as those of etcd do.
  void start_again();
  void slow_down(milliseconds delay_max) { delay_max_ = delay_max; }
  void elect_leaders(bool elects) { elects_ = elects; }  // meanwhile it refuses some requests
  /// Nothing else is cut off from that host.
  void cut(int host, bool questions, bool answers) { cuts_[host] = {questions, answers}; }
  void heal(int host) { cuts_.erase(host); }
  void calm_down();

 private:
  struct Question {
    int host;
    std::string endpoint;
    EtcdRequest request;
    Answered answered;
    int tries = 0;             // to come through, there or back
    bool asked_again = false;  // the first connection has ended without an answer
  };
  struct Cut {
    bool questions = false;
    bool answers = false;
  };
  void arrive(Question question);
  void answer(Question question, const EtcdAnswer& what);
  bool comes_through(int host, bool is_question);
  milliseconds delay() { return world_.random.time(milliseconds{0}, delay_max_); }

  World& world_;
  FakeEtcd etcd_;
  bool is_down_ = false;
  bool elects_ = false;
  int restarts_ = 0;
  milliseconds delay_max_ = Network::kDelayMax;
  std::map<int, Cut> cuts_;  // by host
};

}  // namespace ddprun::simulation
