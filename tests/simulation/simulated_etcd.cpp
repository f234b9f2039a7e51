#include "tests/simulation/simulated_etcd.hpp"

#include <utility>

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

/// The sender's system repeats what a cut holds back this often; then it is lost.
constexpr int kRepetitionsMax = 8;

}  // namespace

/// It may have a rule of its own how short a lease can be.
SimulatedEtcd::SimulatedEtcd(World& world)
    : world_{world},
      etcd_{std::chrono::seconds{world.random.chance(70) ? 0 : world.random.number(2, 15)}} {}

void SimulatedEtcd::ask(int host, const std::string& endpoint, const EtcdRequest& request,
                        Answered answered) {
  world_.time.after(delay(),
                    [this, question = Question{host, endpoint, request, std::move(answered)}] {
                      arrive(question);
                    });
}

KeysRead SimulatedEtcd::read() {
  if (!is_down_) etcd_.remove_what_has_ended(world_.time.now());
  return etcd_.read();
}

void SimulatedEtcd::arrive(Question question) {
  if (!comes_through(question.host, true)) {
    if (++question.tries > kRepetitionsMax) return;
    return world_.time.after(world_.random.time(50ms, 200ms * question.tries),
                             [this, question] { arrive(question); });
  }
  question.tries = 0;
  if (is_down_) return answer(question, NotAnswered{"connection refused"});
  const bool refuses = elects_ && world_.random.chance(50);
  if (refuses && world_.random.chance(50))
    return answer(question, NotAnswered{"etcdserver: no leader"});
  const EtcdAnswer done = etcd_.answer(question.request, question.endpoint, world_.time.now());
  const int restarts = restarts_;
  world_.time.after(delay(), [this, question, done, refuses, restarts] {
    if (refuses) return answer(question, NotAnswered{"etcdserver: request timed out"});
    if (!is_down_ && restarts == restarts_) return answer(question, done);
    // Its connection has ended without a word. One that was kept from an earlier request is made
    // once more, and the request is sent again.
    if (question.asked_again || world_.random.chance(50))
      return answer(question, NotAnswered{"the connection was closed"});
    Question again = question;
    again.asked_again = true;
    arrive(std::move(again));
  });
}

void SimulatedEtcd::answer(Question question, const EtcdAnswer& what) {
  if (comes_through(question.host, false)) return question.answered(what);
  if (++question.tries > kRepetitionsMax) return;
  world_.time.after(world_.random.time(50ms, 200ms * question.tries),
                    [this, question, what] { answer(question, what); });
}

bool SimulatedEtcd::comes_through(int host, bool is_question) {
  const auto cut = cuts_.find(host);
  if (cut != cuts_.end() && (is_question ? cut->second.questions : cut->second.answers))
    return false;
  return is_question ? world_.network.comes_out(host) : world_.network.comes_in(host);
}

void SimulatedEtcd::start_again() {
  is_down_ = false;
  ++restarts_;
  etcd_.begin_leases_anew(world_.time.now());
}

void SimulatedEtcd::calm_down() {
  if (is_down_) start_again();
  elects_ = false;
  delay_max_ = Network::kDelayMax;
  cuts_.clear();
}

}  // namespace ddprun::simulation
