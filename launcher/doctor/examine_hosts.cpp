#include "launcher/doctor/examine_hosts.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/process/file_limit.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/bench_hosts.hpp"
#include "launcher/doctor/host_talks.hpp"
#include "launcher/doctor/interface_choice.hpp"
#include "launcher/doctor/peer_ways.hpp"
#include "launcher/doctor/unix_time_us.hpp"
#include "launcher/environments/slurm_step.hpp"

namespace ddprun {

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
