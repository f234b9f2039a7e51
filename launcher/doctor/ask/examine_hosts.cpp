#include "launcher/doctor/ask/examine_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "base/process/file_limit.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/ask/host_sessions.hpp"
#include "launcher/doctor/ask/links.hpp"
#include "launcher/doctor/ask/progress_line.hpp"
#include "launcher/doctor/ask/schedule.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/read/addresses.hpp"
#include "launcher/environments/slurm_step.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kReadingTimeout = 40s;  // a driver that hangs takes 20 s, and ssh 10 s
constexpr auto kClockTimeout = 5s;
constexpr auto kPeersTimeout = 15s;
constexpr auto kPrepareTimeout = 5s;
constexpr auto kNodeTimeout = 25s;
constexpr auto kLinksTimeout = std::chrono::seconds{kLinkTimeoutS + 2};
constexpr auto kSecondLinksTime = 4s;  // when it is over, no further round begins
constexpr std::size_t kFilesPerHost = 4;

/// Returns what a host has answered, when it is that.
template <typename Answer>
std::optional<Answer> answer_of(const HostSessions::Session& session) {
  auto answer = decode_from_node(session.answer);
  if (!answer || !std::holds_alternative<Answer>(*answer)) return std::nullopt;
  return std::get<Answer>(std::move(*answer));
}

/// A host that has been examined.
struct BenchHost {
  std::size_t session = 0;  // its place in the sessions
  std::string node;         // its name in the report
  std::string address;      // where the others reach it
  std::string machine;      // a name that is not known stands for a machine of its own
  std::uint16_t port = 0;   // 0: others cannot connect
};

class HostsBench {
 public:
  HostsBench(HostSessions& sessions, std::vector<BenchHost> hosts)
      : sessions_{sessions}, hosts_{std::move(hosts)} {}

  Measurements run() {
    prepare();
    measure_nodes();
    measure_links();
    measured_.pairs = hosts_.size() * (hosts_.size() - 1) / 2;
    return std::move(measured_);
  }

 private:
  template <typename Answer>
  std::optional<Answer> told(std::size_t host) const {
    return answer_of<Answer>(sessions_[hosts_[host].session]);
  }

  bool ask(std::size_t host, const ToNode& question) {
    const bool open = sessions_[hosts_[host].session].open;
    if (open) sessions_.send(hosts_[host].session, encode(question));
    return open;
  }

  void prepare() {
    for (std::size_t i = 0; i < hosts_.size(); ++i) ask(i, PrepareBench{});
    sessions_.wait_for_answers(kPrepareTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const auto ready = told<BenchReady>(i).value_or(BenchReady{});
      hosts_[i].machine = ready.machine.empty() ? hosts_[i].node : ready.machine;
      hosts_[i].port = ready.port;
    }
  }

  // --- nodes ---

  void measure_nodes() {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      measured_.nodes.push_back({.node = hosts_[i].node, .error = "it has not answered in time"});
      all.push_back(i);
    }
    measure_some_nodes(all, "CPUs and memory");
    measure_some_nodes(doubtful_nodes(measured_.nodes), "CPUs and memory once more");
  }

  void measure_some_nodes(const std::vector<std::size_t>& some, const std::string& what) {
    std::vector<std::string> machines;
    for (const BenchHost& host : hosts_) machines.push_back(host.machine);
    const auto waves = waves_of(some, machines);
    for (std::size_t wave = 0; wave < waves.size(); ++wave) {
      progress_.show(fmt::format("measuring {}: {} of {}", what, wave + 1, waves.size()));
      for (const std::size_t host : waves[wave]) ask(host, MeasureNode{});
      sessions_.wait_for_answers(kNodeTimeout);
      for (const std::size_t host : waves[wave])
        if (const auto answer = told<NodeMeasured>(host))
          measured_.nodes[host] = better_of(measured_.nodes[host], answer->speeds);
    }
  }

  // --- links ---

  void measure_links() {
    measure_rounds(meeting_rounds(hosts_.size()), "links", TimePoint::max());
    std::vector<HostPair> pairs, doubtful;
    for (const auto& [pair, speed] : links_) {
      pairs.push_back(pair);
      measured_.links.push_back(speed);
    }
    for (const std::size_t link : doubtful_links(measured_.links)) doubtful.push_back(pairs[link]);
    measure_rounds(rounds_of(doubtful), "links once more", Clock::now() + kSecondLinksTime);
    measured_.links.clear();
    for (const auto& [pair, speed] : links_) measured_.links.push_back(speed);
  }

  void measure_rounds(const std::vector<Round>& rounds, const std::string& what, TimePoint until) {
    for (std::size_t i = 0; i < rounds.size() && Clock::now() < until; ++i) {
      progress_.show(fmt::format("measuring {}: round {} of {}", what, i + 1, rounds.size()));
      measure_round(rounds[i]);
    }
  }

  void measure_round(const Round& round) {
    Round asked;
    for (const HostPair& pair : round) {
      const BenchHost& to = hosts_[pair.second];
      if (to.port == 0)
        note_error(pair, "that node has opened no port in time");
      else if (!ask(pair.first, MeasureLink{{to.node, to.address, to.port}}))
        note_error(pair, "this node does not answer any more");
      else
        asked.push_back(pair);
    }
    sessions_.wait_for_answers(kLinksTimeout);
    for (const HostPair& pair : asked)
      if (auto answer = told<LinkMeasured>(pair.first))
        note_link(pair, std::move(answer->speed));
      else
        note_error(pair, "it has not answered in time");
  }

  void note_error(const HostPair& pair, const char* why) {
    note_link(pair,
              {.from = hosts_[pair.first].node, .to = hosts_[pair.second].node, .error = why});
  }

  void note_link(const HostPair& pair, LinkSpeed speed) {
    const auto [known, is_new] = links_.emplace(pair, speed);
    if (!is_new) known->second = better_of(known->second, speed);
  }

  HostSessions& sessions_;
  std::vector<BenchHost> hosts_;
  std::map<HostPair, LinkSpeed> links_;
  Measurements measured_;
  ProgressLine progress_;
};

bool is_this_machine(const Host& host) {
  return host.name == "localhost" || host.name == host_name();
}

class Examiner {
 public:
  Examiner(const std::vector<Host>& hosts, const HostReach& reach) : hosts_{hosts}, reach_{reach} {
    static_cast<void>(raise_file_limit("hosts", kFilesPerHost * hosts.size()));
    auto environment = without_own_login(own_environment());
    if (!reach.srun.empty()) environment = srun_environment(std::move(environment), "");
    for (const Host& host : hosts)
      sessions_.start(is_this_machine(host)
                          ? std::vector<std::string>{own_path(), "doctor", "--node"}
                          : node_command(reach, host),
                      environment);
    examined_.resize(hosts.size());
  }

  HostsExamination examine(const Examine& wish, bool bench) {
    read_all(wish);
    ask_clocks();
    if (hosts_.size() > 1) visit_all();
    HostsExamination result{{}, std::move(unreached_), {}};
    if (bench) result.measured = measure_all();
    for (auto& examined : examined_)
      if (examined) result.readings.push_back(std::move(examined->reading));
    return result;
  }

 private:
  void read_all(const Examine& wish) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      Examine own = wish;
      own.node = hosts_[i].label();
      sessions_.send(i, encode(ToNode{own}));
    }
    sessions_.wait_for_answers(kReadingTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      examined_[i] = answer_of<Examined>(sessions_[i]);
      if (!examined_[i]) give_up(i);
    }
  }

  void give_up(std::size_t i) {
    const HostSessions::Session& session = sessions_[i];
    const NoAnswer no_answer{session.status, session.last_words};
    const auto answer = decode_from_node(session.answer);
    const std::string why = session.answer.empty() ? why_no_answer(reach_, hosts_[i], no_answer)
                            : answer               ? "it has answered something else"
                                                   : answer.error().message;
    unreached_.push_back({Severity::kFailed, "reached", hosts_[i].label(), why,
                          "a job cannot start there", advice_on_reaching(reach_, no_answer)});
  }

  /// The middle between question and answer is when the host has looked at its clock, give or take
  /// half of the time between them.
  void ask_clocks() {
    std::vector<std::int64_t> asked_us(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      asked_us[i] = unix_time_us();
      if (examined_[i]) sessions_.send(i, encode(ToNode{AskClock{}}));
    }
    sessions_.wait_for_answers(kClockTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const auto answer = answer_of<ClockTold>(sessions_[i]);
      if (!examined_[i] || !answer) continue;
      const std::int64_t answered_us = *sessions_[i].answered_us;
      const std::int64_t middle = (asked_us[i] + answered_us) / 2;
      examined_[i]->reading.clock_offset_ms = static_cast<double>(answer->unix_us - middle) / 1000;
      examined_[i]->reading.clock_doubt_ms = static_cast<double>(answered_us - asked_us[i]) / 2000;
    }
  }

  void visit_all() {
    std::vector<Peer> all;
    for (const auto& examined : examined_)
      if (examined) std::ranges::move(ways_to(*examined), std::back_inserter(all));
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!examined_[i]) continue;
      VisitPeers visit{all};
      const bool ipv6 = ipv6_address(examined_[i]->reading).has_value();
      std::erase_if(visit.peers, [&](const Peer& peer) {
        return peer.node == hosts_[i].label() || (peer.use == "IPv6" && !ipv6);
      });
      sessions_.send(i, encode(ToNode{visit}));
    }
    sessions_.wait_for_answers(kPeersTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (auto answer = answer_of<PeersVisited>(sessions_[i]); answer && examined_[i])
        examined_[i]->reading.peers = std::move(answer->peers);
  }

  Measurements measure_all() {
    std::vector<BenchHost> hosts;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (examined_[i])
        hosts.push_back({.session = i, .node = hosts_[i].label(), .address = examined_[i]->host});
    return HostsBench{sessions_, std::move(hosts)}.run();
  }

  const std::vector<Host>& hosts_;
  const HostReach& reach_;
  HostSessions sessions_;
  std::vector<std::optional<Examined>> examined_;  // nullopt: the host was not reached
  Findings unreached_;
};

}  // namespace

HostsExamination examine_hosts(const std::vector<Host>& hosts, const HostReach& reach,
                               const Examine& wish, bool bench) {
  return Examiner{hosts, reach}.examine(wish, bench);
}

}  // namespace ddprun
