#include "launcher/hosts/hosts_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/exit_code.hpp"
#include "base/match.hpp"

namespace ddprun {

namespace {

/// Beyond this number old notes are forgotten, and are shown again when they come again.
constexpr std::size_t kNotesMax = 1000;

}  // namespace

bool NoteFilter::is_news(int host, const std::string& text) {
  if (notes_.size() >= kNotesMax && !notes_.contains(text)) notes_.clear();
  Note& note = notes_[text];
  if (++note.said[host] <= note.shown) return false;
  ++note.shown;
  return true;
}

HostsMachine::HostsMachine(HostsRules rules)
    : rules_{std::move(rules)}, nodes_(rules_.hosts.size()) {}

std::vector<HostsAction> HostsMachine::step(const HostsEvent& event, TimePoint now) {
  match(
      event,  //
      [&](const Begin&) { begun_ = true; },
      [&](const HostSaid& e) { hear(e.host, e.message, now); },  //
      [&](const HostGone& e) { gone(e); },
      [&](const HostBabbles& e) {
        give_up(e.host,
                fmt::format("what {} sends makes no sense: {}", host(e.host).label(), e.what));
      },
      [&](const Interrupt& e) { interrupt(e, now); },  //
      [&](const HostsAlarm&) { alarm(now); });
  advance(now);
  return std::exchange(actions_, {});
}

std::optional<TimePoint> HostsMachine::next_alarm() const {
  std::optional<TimePoint> next = due_;
  for (const Node& node : nodes_)
    if (node.due) next = next ? std::min(*next, *node.due) : *node.due;
  return next;
}

bool HostsMachine::takes_report_of(int host) const {
  if (host == leader_ || leader_ < 0) return true;
  const Node& leader = nodes_[leader_];
  const bool has_ended = leader.phase == Phase::kEnded || leader.phase == Phase::kGone;
  return !has_ended || leader.lost;
}

void HostsMachine::hear(int host, const FromHost& message, TimePoint now) {
  match(
      message,  //
      [&](const HostHello& m) { greet(host, m); },
      [&](const HostListening& m) { listening(host, m); },  //
      [&](const HostOutput&) { talks(now); }, [&](const HostEnded& m) { ended(host, m, now); });
}

/// A host that still has something to say is not stuck, however slowly the user's terminal takes
/// it.
void HostsMachine::talks(TimePoint now) {
  if (due_) due_ = std::max(*due_, now + kStopReserve);
}

void HostsMachine::greet(int host, const HostHello& hello) {
  Node& node = nodes_[host];
  if (node.phase != Phase::kConnecting) return;
  node.greeted = true;
  if (hello.version != rules_.version || hello.protocol != kHostProtocol)
    return give_up(host,
                   fmt::format("{} on {} is ddprun {}, and this is {}: install the same there, "
                               "or let --remote-path say where it is",
                               rules_.ssh.remote_path, this->host(host).label(), hello.version,
                               rules_.version));
  node.phase = Phase::kReady;
  node.due.reset();
}

void HostsMachine::listening(int host, const HostListening& where) {
  if (!may_lead(host)) return;
  leader_ = host;
  coordinator_ = where;
  nodes_[host].due.reset();
}

/// The first leader says once where its coordinator listens. Any other agent says so when the job
/// has elected its coordinator.
bool HostsMachine::may_lead(int host) const {
  if (!coordinator_) return host == leader_;
  const Node& node = nodes_[host];
  return rules_.has_successors && host != leader_ && node.phase == Phase::kRunning && !node.lost;
}

void HostsMachine::ended(int host, const HostEnded& end, TimePoint now) {
  Node& node = nodes_[host];
  if (node.phase != Phase::kRunning) return;
  node.phase = Phase::kEnded;
  node.due.reset();
  if (end.code != 0 && first_failure_ == 0) first_failure_ = end.code;
  if (end.verdict && !verdict_) verdict_ = end.code;
  if (!end.began)
    node.lost = true;
  else if (host == leader_ && (end.verdict || !coordinator_ || !rules_.has_successors))
    end_with(end.code, now);
  else if (verdict_ &&
           (nodes_[leader_].phase == Phase::kEnded || nodes_[leader_].phase == Phase::kGone))
    end_with(*verdict_, now);
  else if (!end.verdict)
    node.due = now + kLeaderDelay;
}

/// The others have got the same order. They may have to stop workers first.
void HostsMachine::end_with(int code, TimePoint now) {
  if (!result_) result_ = code;
  if (!due_) due_ = now + rules_.shutdown_timeout + kStopReserve;
  leave_idle();
}

/// Leaves the hosts on which nothing has begun.
void HostsMachine::leave_idle() {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    Node& node = nodes_[i];
    if (node.phase == Phase::kWaiting) node.phase = Phase::kGone;
    if (node.phase != Phase::kConnecting && node.phase != Phase::kReady) continue;
    node.due.reset();
    actions_.push_back(KillSsh{i});
  }
}

void HostsMachine::gone(const HostGone& event) {
  Node& node = nodes_[event.host];
  if (node.phase == Phase::kGone) return;
  const bool said_so = node.phase == Phase::kEnded;
  node.phase = Phase::kGone;
  if (said_so) return;  // its end has been judged when it said so
  node.due.reset();
  const bool known = std::exchange(node.lost, true);
  if (!known && deciding())
    actions_.push_back(Complain{why_host_failed(host(event.host), rules_.ssh, node.greeted,
                                                event.status, event.last_words)});
}

/// From now on this host takes no part in the job, whatever it does.
void HostsMachine::give_up(int host, const std::string& why) {
  Node& node = nodes_[host];
  node.due.reset();
  if (node.lost || node.phase == Phase::kGone) return;
  node.lost = true;
  actions_.push_back(Complain{why});
  actions_.push_back(KillSsh{host});
}

void HostsMachine::interrupt(const Interrupt& event, TimePoint now) {
  const bool first = event.to_stop && interrupts_++ == 0;
  if (first) signal_ = event.signal;
  if (first && !stopping_) return stop(event.signal, now);
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    if (nodes_[i].phase == Phase::kRunning) actions_.push_back(PassSignal{i, event.signal});
  // At the third interrupt agents kill their workers, so only their last words are waited for.
  if (interrupts_ == 3) due_ = std::min(due_.value_or(now + kStopReserve), now + kStopReserve);
  if (interrupts_ > 3) leave_all();
}

void HostsMachine::alarm(TimePoint now) {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    if (nodes_[i].due && now >= *nodes_[i].due) late(i);
  if (!due_ || now < *due_) return;
  leave_all();
}

/// The ssh of a host whose agent has ended may still be there, held open by what the agent has left
/// behind: it is ended, too, or there would be no end.
void HostsMachine::leave_all() {
  due_.reset();
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    if (nodes_[i].phase == Phase::kGone) continue;
    if (nodes_[i].lost)
      actions_.push_back(KillSsh{i});
    else
      give_up(i, fmt::format("{} has not ended in time: it is left to itself", host(i).label()));
  }
}

/// Is called for a host that has not done in time what it was to do next.
void HostsMachine::late(int host) {
  Node& node = nodes_[host];
  node.due.reset();
  const std::string name = this->host(host).label();
  const auto seconds = kAnswerTimeout.count() / 1000;
  if (node.phase == Phase::kConnecting)
    give_up(host, fmt::format("no agent has answered on {} within {} s", name, seconds));
  else if (node.phase == Phase::kRunning)
    give_up(host, fmt::format("{} has not said within {} s where its coordinator listens", name,
                              seconds));
  else  // it has ended by itself, and the leader goes on
    node.lost = true;
}

void HostsMachine::advance(TimePoint now) {
  if (!begun_ || finished_) return;
  if (deciding()) connect(now);
  if (deciding()) start(now);
  if (deciding()) judge(now);
  finish();
}

void HostsMachine::connect(TimePoint now) {
  int connecting = count(Phase::kConnecting);
  for (int i = 0; i < static_cast<int>(nodes_.size()) && connecting < kConnectingMax; ++i) {
    if (nodes_[i].phase != Phase::kWaiting) continue;
    nodes_[i].phase = Phase::kConnecting;
    nodes_[i].due = now + kAnswerTimeout;
    actions_.push_back(Connect{i});
    ++connecting;
  }
}

void HostsMachine::start(TimePoint now) {
  if (!coordinator_) {
    const auto first = std::ranges::find(nodes_, false, &Node::lost);
    if (first == nodes_.end() || first->phase != Phase::kReady) return;
    leader_ = static_cast<int>(first - nodes_.begin());
    first->phase = Phase::kRunning;
    first->due = now + kAnswerTimeout;
    actions_.push_back(StartAgent{leader_, true, {}});
    return;
  }
  if (nodes_[leader_].lost) return;  // its successor will say where it listens
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    if (nodes_[i].phase != Phase::kReady || nodes_[i].lost) continue;
    nodes_[i].phase = Phase::kRunning;
    actions_.push_back(StartAgent{i, false, *coordinator_});
  }
}

/// Stops the job if it can no longer be run to its end.
void HostsMachine::judge(TimePoint now) {
  if (coordinator_ && nodes_[leader_].lost) judge_without_leader(now);
  if (!deciding() || left() >= rules_.nodes_min) return;
  result_ = first_failure_ != 0 ? first_failure_ : coordinator_ ? kTooFewNodes : kNoCoordinator;
  actions_.push_back(
      Complain{fmt::format("{} of {} hosts {} left, and the job needs {} (--nnodes MIN:MAX allows "
                           "for fewer): stopping it",
                           left(), nodes_.size(), left() == 1 ? "is" : "are", rules_.nodes_min)});
  stop(SIGTERM, now);
}

void HostsMachine::judge_without_leader(TimePoint now) {
  if (verdict_) return end_with(*verdict_, now);
  const std::string name = host(leader_).label();
  if (rules_.has_successors && count(Phase::kRunning) > 0) {
    if (left() >= rules_.nodes_min && std::exchange(mourned_, leader_) != leader_)
      actions_.push_back(
          Complain{fmt::format("{} hosted the coordinator: another host takes its place", name)});
    return;
  }
  result_ = kNoCoordinator;
  actions_.push_back(
      Complain{fmt::format("{} hosted the coordinator: without it the job cannot go on", name)});
  stop(SIGTERM, now);
}

void HostsMachine::stop(int signal, TimePoint now) {
  stopping_ = true;
  due_ = now + rules_.shutdown_timeout + kStopReserve;
  leave_idle();
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    if (nodes_[i].phase == Phase::kRunning) actions_.push_back(PassSignal{i, signal});
}

void HostsMachine::finish() {
  if (count(Phase::kGone) < static_cast<int>(nodes_.size())) return;
  finished_ = true;
  due_.reset();
  const int stopped = signal_ != 0 ? 128 + signal_ : first_failure_;
  actions_.push_back(Finish{result_.value_or(stopped)});
}

int HostsMachine::count(Phase phase) const {
  return static_cast<int>(std::ranges::count(nodes_, phase, &Node::phase));
}

int HostsMachine::left() const {
  return static_cast<int>(std::ranges::count(nodes_, false, &Node::lost));
}

}  // namespace ddprun
