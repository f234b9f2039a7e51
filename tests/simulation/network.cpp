#include "tests/simulation/network.hpp"

#include <algorithm>

#include "base/match.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

constexpr milliseconds kRetransmitMax{300};  // how long after healing the first bytes come through

Side other(Side side) { return side == Side::kAgent ? Side::kCoordinator : Side::kAgent; }

}  // namespace

Network::Cable& Network::cable(int host) {
  while (static_cast<int>(cables_.size()) <= host) cables_.emplace_back();
  return cables_[host];
}

Network::Place& Network::place(int coordinator) {
  while (static_cast<int>(places_.size()) <= coordinator) places_.emplace_back();
  return places_[coordinator];
}

LinkId Network::connect(int host, int agent, int coordinator) {
  links_.push_back(Link{.host = host, .agent = agent, .coordinator = coordinator});
  return static_cast<LinkId>(links_.size()) - 1;
}

bool Network::can_connect(int host, int other) {
  const auto whole = [&](int end) {
    return end == kNowhere || (!cable(end).cut[0] && !cable(end).cut[1]);
  };
  return host == other || (whole(host) && whole(other));
}

/// What a host's processes say to each other needs no cable.
bool Network::holds_back(const Link& link, Side to) {
  const int other_end = place(link.coordinator).host;
  if (link.host == other_end) return false;
  const int towards = static_cast<int>(to);
  const bool there = other_end != kNowhere && cable(other_end).cut[1 - towards];
  return cable(link.host).cut[towards] || there;
}

void Network::send(LinkId link, Side from, Parcel parcel) {
  if (links_[link].broken || stream(link, other(from)).finished) return;
  const auto delay = random_.time(0ms, cable(links_[link].host).delay_max);
  enqueue(link, other(from), delay, std::move(parcel));
}

void Network::enqueue(LinkId link, Side to, milliseconds delay, Parcel parcel) {
  Stream& s = stream(link, to);
  s.last_due = std::max(s.last_due, time_.now() + delay);
  s.under_way.push_back({s.last_due, std::move(parcel)});
  time_.at(s.last_due, [this, link, to] { arrive(link, to); });
}

void Network::arrive(LinkId link, Side to) {
  Stream& s = stream(link, to);
  const bool held_back = !links_[link].broken && holds_back(links_[link], to);
  while (!held_back && !s.under_way.empty() && s.under_way.front().due <= time_.now()) {
    const Parcel parcel = std::move(s.under_way.front().parcel);
    s.under_way.pop_front();
    if (!s.deaf) deliver_(link, to, parcel);
  }
}

void Network::finish(LinkId link, Side from) {
  send(link, from, HangUp{});
  stream(link, other(from)).finished = true;
}

void Network::close(LinkId link, Side from) {
  finish(link, from);
  stream(link, from).deaf = true;
}

void Network::break_link(LinkId link, std::optional<milliseconds> agent_learns,
                         std::optional<milliseconds> coordinator_learns) {
  if (links_[link].broken) return;
  links_[link].broken = true;
  for (Stream& s : links_[link].towards) {
    s.under_way.clear();
    s.finished = true;
  }
  if (agent_learns) enqueue(link, Side::kAgent, *agent_learns, HangUp{});
  if (coordinator_learns) enqueue(link, Side::kCoordinator, *coordinator_learns, HangUp{});
}

void Network::lose_coordinator(bool told, int coordinator) {
  for (LinkId link = 0; link < static_cast<LinkId>(links_.size()); ++link) {
    if (links_[link].coordinator != coordinator) continue;
    if (told)
      close(link, Side::kCoordinator);
    else
      break_link(link, std::nullopt, std::nullopt);
  }
}

void Network::cut(int host, bool to_agent, bool to_coordinator) {
  cable(host).cut = {to_agent, to_coordinator};
}

void Network::slow_down(int host, milliseconds delay_max) {
  Cable& slower = cable(host);
  slower.healthy_since = std::max(slower.healthy_since, time_.now() + slower.delay_max);
  slower.delay_max = delay_max;
}

bool Network::healthy_for(LinkId link, milliseconds time) {
  const int host = links_[link].host;
  return !links_[link].broken && can_connect(host) && cable(host).delay_max == kDelayMax &&
         cable(host).healthy_since + time <= time_.now();
}

void Network::heal(int host) {
  if (can_connect(host)) return;
  cable(host).cut = {false, false};
  cable(host).healthy_since = time_.now() + kRetransmitMax;
  for (LinkId link = 0; link < static_cast<LinkId>(links_.size()); ++link) {
    if (links_[link].host != host && place(links_[link].coordinator).host != host) continue;
    for (const Side to : {Side::kAgent, Side::kCoordinator})
      time_.after(random_.time(0ms, kRetransmitMax), [this, link, to] { arrive(link, to); });
  }
}

std::string text_of(const Parcel& parcel) {
  std::string line = match(
      parcel, [](const AgentMessage& m) { return encode(m); },
      [](const CoordinatorMessage& m) { return encode(m); },
      [](const HangUp&) { return std::string{"end of the connection\n"}; });
  line.pop_back();
  return line;
}

}  // namespace ddprun::simulation
