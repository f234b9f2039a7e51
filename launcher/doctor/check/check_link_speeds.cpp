#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

namespace ddprun {

namespace {

/// A link below this share of what is usual is slow. One TCP connection has half of what another
/// one has when CPUs are busy, and also back and forth on one link. A link at another speed, such
/// as 1 instead of 10 Gbit/s, has a tenth.
constexpr double kBandwidthMin = 1.0 / 3;
constexpr double kRttMax = 3;
constexpr double kRttExtraUsMin = 1000;  // less may be the sleep of a CPU

/// What is slow beside nothing else: with two hosts there is no third one to compare with. No
/// network that is made for training is like that.
constexpr double kMbitMin = 90;
constexpr double kRttUsMax = 20'000;

using Figure = std::optional<double> LinkSpeed::*;
constexpr Figure kBandwidths[] = {&LinkSpeed::there_mbit_per_s, &LinkSpeed::back_mbit_per_s};

/// Returns the usual figure of a link: the median over nodes of the median over a node's links. Of
/// three links of three nodes two are slow when one node is, so that the median of links would be
/// wrong. Of two figures in the
/// middle the better one counts.
double usual_figure(const std::vector<LinkSpeed>& links, const std::vector<Figure>& figures,
                    bool larger_is_better) {
  std::map<std::string, std::vector<double>> of_nodes;
  for (const LinkSpeed& link : links)
    for (const Figure figure : figures) {
      if (!(link.*figure)) continue;
      const double value = larger_is_better ? *(link.*figure) : -*(link.*figure);
      of_nodes[link.from].push_back(value);
      of_nodes[link.to].push_back(value);
    }
  std::vector<double> medians;
  medians.reserve(of_nodes.size());
  for (auto& [node, values] : of_nodes) medians.push_back(median(std::move(values)));
  const double usual = median(std::move(medians));
  return larger_is_better ? usual : -usual;
}

struct Usual {
  explicit Usual(const std::vector<LinkSpeed>& links)
      : mbit{usual_figure(links, {kBandwidths[0], kBandwidths[1]}, true)},
        rtt_us{usual_figure(links, {&LinkSpeed::rtt_us}, false)} {}

  bool is_slow(const std::optional<double>& mbit_per_s) const {
    return mbit_per_s && (*mbit_per_s < kBandwidthMin * mbit || *mbit_per_s < kMbitMin);
  }
  bool is_late(const LinkSpeed& link) const {
    if (!link.rtt_us) return false;
    return (*link.rtt_us > kRttMax * rtt_us && *link.rtt_us > rtt_us + kRttExtraUsMin) ||
           *link.rtt_us > kRttUsMax;
  }
  bool is_slow_link(const LinkSpeed& link) const {
    return is_slow(link.there_mbit_per_s) || is_slow(link.back_mbit_per_s);
  }

  double mbit;
  double rtt_us;
};

using Links = std::vector<const LinkSpeed*>;

bool has_node(const LinkSpeed& link, const std::string& node) {
  return link.from == node || link.to == node;
}

const std::string& other_end(const LinkSpeed& link, const std::string& node) {
  return link.from == node ? link.to : link.from;
}

/// A node with bad links to at least two others, and to three of four of them.
struct Culprit {
  std::string node;
  Links links;  // its bad ones
  std::size_t all = 0;
};

/// Returns the node with the largest share of bad links that is to blame for them.
std::optional<Culprit> worst_node(const Links& links,
                                  const std::function<bool(const LinkSpeed&)>& bad) {
  std::map<std::string, Culprit> nodes;
  for (const LinkSpeed* link : links)
    for (const std::string& node : {link->from, link->to}) {
      Culprit& culprit = nodes[node];
      culprit.node = node;
      ++culprit.all;
      if (bad(*link)) culprit.links.push_back(link);
    }
  std::optional<Culprit> worst;
  const auto share = [](const Culprit& c) {
    return static_cast<double>(c.links.size()) / static_cast<double>(c.all);
  };
  for (auto& [node, culprit] : nodes) {
    if (culprit.links.size() < 2 || share(culprit) < 0.75) continue;
    const bool more =
        !worst || share(culprit) > share(*worst) ||
        (share(culprit) == share(*worst) && culprit.links.size() > worst->links.size());
    if (more) worst = std::move(culprit);
  }
  return worst;
}

/// What is bad, by whom to blame: a node, or else a pair.
struct Blame {
  std::vector<Culprit> nodes;
  Links pairs;
};

/// Takes away the links of the worst node, and looks again: others are not to blame for these.
Blame blame(Links links, const std::function<bool(const LinkSpeed&)>& bad) {
  Blame result;
  while (const auto worst = worst_node(links, bad)) {
    result.nodes.push_back(*worst);
    std::erase_if(links, [&](const LinkSpeed* link) { return has_node(*link, worst->node); });
  }
  std::ranges::copy_if(links, std::back_inserter(result.pairs),
                       [&](const LinkSpeed* link) { return bad(*link); });
  return result;
}

std::string mbit_text(double mbit_per_s) {
  return mbit_per_s < 1000 ? fmt::format("{:.{}f} Mbit/s", mbit_per_s, mbit_per_s < 10 ? 1 : 0)
                           : fmt::format("{:.1f} Gbit/s", mbit_per_s / 1000);
}

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.0f} µs", us)
                   : fmt::format("{:.{}f} ms", us / 1000, us < 10'000 ? 1 : 0);
}

std::string others_text(const Culprit& culprit) {
  if (culprit.links.size() == culprit.all && culprit.all > 3)
    return fmt::format("all {} others", culprit.all);
  std::vector<std::string> names;
  for (const LinkSpeed* link : culprit.links) names.push_back(other_end(*link, culprit.node));
  return names.size() > 6 ? fmt::format("{} of {} others", names.size(), culprit.all)
                          : list_text(names);
}

class LinkSpeedChecks {
 public:
  explicit LinkSpeedChecks(const Measurements& measured)
      : measured_{measured}, usual_{measured.links} {}

  Findings check() {
    note_errors();
    check_latency();
    check_bandwidth();
    return std::move(found_);
  }

 private:
  void warn(const char* subject, const std::string& node, Trouble trouble) {
    found_.push_back({Severity::kWarning, subject, node, std::move(trouble.seen),
                      std::move(trouble.why), std::move(trouble.advice)});
  }

  void note_errors() {
    for (const LinkSpeed& link : measured_.links)
      if (!link.error.empty())
        warn("bench", link.from,
             {fmt::format("the way to {} could not be measured: {}", link.to, link.error),
              "whether it is as fast as the others is unknown",
              "look at the check \"link\"; open all ports between the nodes"});
  }

  Links all_links() const {
    Links links;
    for (const LinkSpeed& link : measured_.links) links.push_back(&link);
    return links;
  }

  void check_latency() {
    const Blame blamed =
        blame(all_links(), [&](const LinkSpeed& link) { return usual_.is_late(link); });
    for (const Culprit& culprit : blamed.nodes) {
      std::vector<double> times;
      for (const LinkSpeed* link : culprit.links) times.push_back(*link->rtt_us);
      warn_of_latency(culprit.node, others_text(culprit), median(std::move(times)));
    }
    for (const LinkSpeed* link : blamed.pairs) warn_of_latency(link->from, link->to, *link->rtt_us);
    if (found_.empty() && usual_.rtt_us > 0) {
      double most = 0;
      for (const LinkSpeed& link : measured_.links) most = std::max(most, link.rtt_us.value_or(0));
      praise("link-latency", fmt::format("a round trip of {} at the median and {} at most",
                                         time_text(usual_.rtt_us), time_text(most)));
    }
  }

  void warn_of_latency(const std::string& node, const std::string& others, double rtt_us) {
    const bool compared = rtt_us > kRttMax * usual_.rtt_us;
    warn("link-latency", node,
         {fmt::format(
              "round trips to {} take {}{}", others, time_text(rtt_us),
              compared ? fmt::format(", and {} between others", time_text(usual_.rtt_us)) : ""),
          "each collective waits for the slowest way, several times a step",
          "look at the route (tracepath), the cable and the switch port, and for a firewall, a "
          "VPN or a busy node on the way"});
  }

  void check_bandwidth() {
    const Blame blamed =
        blame(all_links(), [&](const LinkSpeed& link) { return usual_.is_slow_link(link); });
    for (const Culprit& culprit : blamed.nodes) {
      std::vector<double> out, in;
      for (const LinkSpeed* link : culprit.links) {
        const bool outward = link->from == culprit.node;
        add_slow(outward ? link->there_mbit_per_s : link->back_mbit_per_s, out);
        add_slow(outward ? link->back_mbit_per_s : link->there_mbit_per_s, in);
      }
      warn_of_bandwidth(culprit.node, others_text(culprit), median_of_some(out),
                        median_of_some(in));
    }
    for (const LinkSpeed* link : blamed.pairs)
      warn_of_bandwidth(link->from, link->to, link->there_mbit_per_s, link->back_mbit_per_s);
    if (blamed.nodes.empty() && blamed.pairs.empty() && usual_.mbit > 0) praise_bandwidth();
  }

  void add_slow(const std::optional<double>& value, std::vector<double>& values) const {
    if (usual_.is_slow(value)) values.push_back(*value);
  }

  static std::optional<double> median_of_some(const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional{median(values)};
  }

  void warn_of_bandwidth(const std::string& node, const std::string& others,
                         std::optional<double> out, std::optional<double> in) {
    std::vector<std::string> ways;
    double worst = usual_.mbit;
    for (const auto& [value, way] : {std::pair{out, "to"}, std::pair{in, "from"}})
      if (usual_.is_slow(value)) {
        ways.push_back(fmt::format("{} {} {}", mbit_text(*value), way, others));
        worst = std::min(worst, *value);
      }
    const double share = worst / usual_.mbit;
    warn(
        "link-bandwidth", node,
        {list_text(ways) + (share < kBandwidthMin
                                ? fmt::format(", {} % of the median, which is {}",
                                              share < 0.01 ? fmt::format("{:.1f}", share * 100)
                                                           : fmt::format("{:.0f}", share * 100),
                                              mbit_text(usual_.mbit))
                                : ""),
         "gradients of all ranks pass each node, so the slowest way sets the pace",
         "compare ethtool eth0 (speed, duplex), ethtool -S eth0 (errors) and tc qdisc with another "
         "node; try another cable and switch port; is it the interface that you mean?"});
  }

  void praise_bandwidth() {
    double least = usual_.mbit, most = usual_.mbit;
    for (const LinkSpeed& link : measured_.links)
      for (const Figure figure : kBandwidths)
        if (link.*figure) {
          least = std::min(least, *(link.*figure));
          most = std::max(most, *(link.*figure));
        }
    praise("link-bandwidth", fmt::format("{} at the median, from {} to {}", mbit_text(usual_.mbit),
                                         mbit_text(least), mbit_text(most)));
  }

  void praise(const char* subject, const std::string& figures) {
    const auto measured = std::ranges::count(measured_.links, "", &LinkSpeed::error);
    found_.push_back(all_well(
        subject, fmt::format("{}; {} of {} measured", figures, measured,
                             counted(static_cast<std::int64_t>(measured_.pairs), "pair"))));
  }

  const Measurements& measured_;
  const Usual usual_;
  Findings found_;
};

}  // namespace

Findings check_link_speeds(const Measurements& measurements) {
  return LinkSpeedChecks{measurements}.check();
}

Findings check_measurements(const Measurements& measurements) {
  Findings all = check_speeds(measurements.nodes);
  append(check_link_speeds(measurements), all);
  return all;
}

std::vector<std::size_t> doubtful_links(const std::vector<LinkSpeed>& links) {
  const Usual usual{links};
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < links.size(); ++i)
    if (!links[i].error.empty() || usual.is_late(links[i]) || usual.is_slow_link(links[i]))
      doubtful.push_back(i);
  return doubtful;
}

}  // namespace ddprun
