#include "launcher/doctor/bench_hosts.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "launcher/doctor/bench/measure_link.hpp"
#include "launcher/doctor/bench/schedule.hpp"
#include "launcher/doctor/bench_findings.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/progress_line.hpp"

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

}  // namespace ddprun
