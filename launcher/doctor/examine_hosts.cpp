#include "launcher/doctor/examine_hosts.hpp"

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
#include "launcher/doctor/bench/measure_link.hpp"
#include "launcher/doctor/bench/schedule.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/host_talks.hpp"
#include "launcher/doctor/interface_choice.hpp"
#include "launcher/doctor/progress_line.hpp"
#include "launcher/doctor/unix_time_us.hpp"
#include "launcher/environments/slurm_step.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kPrepareTimeout = 5s;
constexpr auto kNodeTimeout = 25s;
constexpr auto kLinksTimeout = std::chrono::seconds{kLinkTimeoutS + 2};
constexpr auto kSecondLinksTime = 4s;  // when it is over, no further round begins

class HostsBench {
 public:
  HostsBench(HostTalks& talks, const std::vector<BenchHost>& hosts)
      : talks_{talks}, hosts_{hosts}, machines_(hosts.size()), ports_(hosts.size()) {}

  Measurements run() {
    prepare();
    measure_nodes();
    measure_links();
    measured_.pairs = hosts_.size() * (hosts_.size() - 1) / 2;
    return std::move(measured_);
  }

 private:
  /// Returns what the host has answered, when it is that.
  template <typename Answer>
  std::optional<Answer> answer_of(std::size_t host) const {
    const std::string& line = talks_[hosts_[host].talk].answer;
    auto answer = line.empty() ? Result<FromNode>{invalid("")} : decode_from_node(line);
    if (!answer || !std::holds_alternative<Answer>(*answer)) return std::nullopt;
    return std::get<Answer>(std::move(*answer));
  }

  bool ask(std::size_t host, const ToNode& question) {
    const bool open = talks_[hosts_[host].talk].open;
    if (open) talks_.send(hosts_[host].talk, encode(question));
    return open;
  }

  /// A machine that is not known is one of its own.
  void prepare() {
    for (std::size_t i = 0; i < hosts_.size(); ++i) ask(i, PrepareBench{});
    talks_.wait_for_answers(kPrepareTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const auto ready = answer_of<BenchReady>(i);
      machines_[i] = ready && !ready->machine.empty() ? ready->machine : hosts_[i].node;
      ports_[i] = ready ? ready->port : 0;
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
    const auto waves = waves_of(some, machines_);
    for (std::size_t wave = 0; wave < waves.size(); ++wave) {
      progress_.show(fmt::format("measuring {}: {} of {}", what, wave + 1, waves.size()));
      for (const std::size_t host : waves[wave]) ask(host, MeasureNode{});
      talks_.wait_for_answers(kNodeTimeout);
      for (const std::size_t host : waves[wave])
        if (const auto answer = answer_of<NodeMeasured>(host))
          measured_.nodes[host] = better_of(measured_.nodes[host], answer->speeds);
    }
  }

  // --- links ---

  void measure_links() {
    measure_rounds(meeting_rounds(hosts_.size()), "links", TimePoint::max());
    std::vector<HostPair> doubtful;
    for (const std::size_t link : doubtful_links(measured_.links)) doubtful.push_back(pairs_[link]);
    measure_rounds(rounds_of(doubtful), "links once more", Clock::now() + kSecondLinksTime);
    sort_links();
  }

  /// Puts the links into the order of the hosts.
  void sort_links() {
    std::vector<LinkSpeed> sorted;
    for (const auto& [pair, place] : places_) sorted.push_back(std::move(measured_.links[place]));
    measured_.links = std::move(sorted);
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
      const auto& [from, to] = pair;
      const MeasureLink link{{hosts_[to].node, hosts_[to].address, ports_[to]}};
      if (ports_[to] == 0)
        note_link(pair, no_speed(pair, "that node has opened no port in time"));
      else if (!ask(from, link))
        note_link(pair, no_speed(pair, "this node does not answer any more"));
      else
        asked.push_back(pair);
    }
    talks_.wait_for_answers(kLinksTimeout);
    for (const HostPair& pair : asked) {
      const auto answer = answer_of<LinkMeasured>(pair.first);
      note_link(pair, answer ? answer->speed : no_speed(pair, "it has not answered in time"));
    }
  }

  LinkSpeed no_speed(const HostPair& pair, std::string why) const {
    return {
        .from = hosts_[pair.first].node, .to = hosts_[pair.second].node, .error = std::move(why)};
  }

  void note_link(const HostPair& pair, LinkSpeed speed) {
    const auto [known, is_new] = places_.emplace(pair, pairs_.size());
    if (is_new) {
      pairs_.push_back(pair);
      measured_.links.push_back(std::move(speed));
    } else {
      LinkSpeed& link = measured_.links[known->second];
      link = better_of(link, speed);
    }
  }

  HostTalks& talks_;
  const std::vector<BenchHost>& hosts_;
  std::vector<std::string> machines_;
  std::vector<std::uint16_t> ports_;  // 0: others cannot connect
  std::vector<HostPair> pairs_;       // whose links are in measured_.links
  std::map<HostPair, std::size_t> places_;
  Measurements measured_;
  ProgressLine progress_;
};

}  // namespace

Measurements measure_hosts(HostTalks& talks, const std::vector<BenchHost>& hosts) {
  return HostsBench{talks, hosts}.run();
}

namespace {

using namespace std::chrono_literals;

constexpr auto kReadingTimeout = 40s;  // a driver that hangs takes 20 s, and ssh 10 s
constexpr auto kClockTimeout = 5s;
constexpr auto kPeersTimeout = 15s;
constexpr std::size_t kFilesPerHost = 3;

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
      talks_.start(is_this_machine(host) ? std::vector<std::string>{own_path(), "doctor", "--node"}
                                         : node_command(reach, host),
                   environment);
    examined_.resize(hosts.size());
  }

  HostsExamination examine(const Examine& wish, bool bench) {
    read_all(wish);
    ask_clocks();
    visit_all();
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
      talks_.send(i, encode(ToNode{own}));
    }
    talks_.wait_for_answers(kReadingTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      auto answer = talks_[i].answer.empty()
                        ? Result<FromNode>{Error{Error::Kind::kTimeout, why_silent(i)}}
                        : decode_from_node(talks_[i].answer);
      if (answer && std::holds_alternative<Examined>(*answer))
        examined_[i] = std::get<Examined>(std::move(*answer));
      else
        give_up(i, answer ? "it has answered something else" : answer.error().message);
    }
  }

  std::string why_silent(std::size_t i) const {
    return why_no_answer(reach_, hosts_[i], no_answer_of(i));
  }

  NoAnswer no_answer_of(std::size_t i) const { return {talks_[i].status, talks_[i].last_words}; }

  void give_up(std::size_t i, const std::string& why) {
    unreached_.push_back({Severity::kFailed, "reached", hosts_[i].label(), why,
                          "a job cannot start there", advice_on_reaching(reach_, no_answer_of(i))});
  }

  /// The middle between question and answer is when the host has looked at its clock, give or take
  /// half of the time between them.
  void ask_clocks() {
    std::vector<std::int64_t> asked_us(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      asked_us[i] = unix_time_us();
      if (examined_[i]) talks_.send(i, encode(ToNode{AskClock{}}));
    }
    talks_.wait_for_answers(kClockTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!examined_[i] || !talks_[i].answered_us) continue;
      const auto answer = decode_from_node(talks_[i].answer);
      if (!answer || !std::holds_alternative<ClockTold>(*answer)) continue;
      const std::int64_t middle = (asked_us[i] + *talks_[i].answered_us) / 2;
      const auto offset = static_cast<double>(std::get<ClockTold>(*answer).unix_us - middle);
      const auto way = static_cast<double>(*talks_[i].answered_us - asked_us[i]);
      examined_[i]->reading.clock_offset_ms = offset / 1000;
      examined_[i]->reading.clock_doubt_ms = way / 2000;
    }
  }

  void visit_all() {
    if (hosts_.size() < 2) return;
    std::vector<Peer> all;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (examined_[i]) std::ranges::move(ways_to(*examined_[i]), std::back_inserter(all));
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!examined_[i]) continue;
      VisitPeers visit{all};
      const bool ipv6 = ipv6_address(examined_[i]->reading).has_value();
      std::erase_if(visit.peers, [&](const Peer& peer) {
        return peer.node == hosts_[i].label() || (peer.use == "IPv6" && !ipv6);
      });
      talks_.send(i, encode(ToNode{visit}));
    }
    talks_.wait_for_answers(kPeersTimeout);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!examined_[i] || talks_[i].answer.empty()) continue;
      auto answer = decode_from_node(talks_[i].answer);
      if (!answer || !std::holds_alternative<PeersVisited>(*answer)) continue;
      examined_[i]->reading.peers = std::move(std::get<PeersVisited>(*answer).peers);
    }
  }

  Measurements measure_all() {
    std::vector<BenchHost> examined;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (examined_[i]) examined.push_back({i, hosts_[i].label(), examined_[i]->host});
    return measure_hosts(talks_, examined);
  }

  const std::vector<Host>& hosts_;
  const HostReach& reach_;
  HostTalks talks_;
  std::vector<std::optional<Examined>> examined_;  // nullopt: the host was not reached
  Findings unreached_;
};

}  // namespace

HostsExamination examine_hosts(const std::vector<Host>& hosts, const HostReach& reach,
                               const Examine& wish, bool bench) {
  return Examiner{hosts, reach}.examine(wish, bench);
}

}  // namespace ddprun
