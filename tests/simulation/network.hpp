// Network: the connections between agents and the coordinator as TCP gives them. What arrives does
// so in order and late by chance; a cable that is cut holds everything back until it is healed; a
// connection that breaks loses what is in flight, and each side learns of it later, or never: then
// it is half dead.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/messages/messages.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/timeline.hpp"

namespace ddprun::simulation {

using LinkId = int;
enum class Side { kAgent, kCoordinator };
struct HangUp {};  // the connection has ended
using Parcel = std::variant<AgentMessage, CoordinatorMessage, HangUp>;

class Network {
 public:
  static constexpr milliseconds kDelayMax{5};  // for a link that is not slow
  static constexpr int kNowhere = -1;          // a host with a cable that nothing happens to

  using Deliver = std::function<void(LinkId, Side to, const Parcel&)>;

  Network(Timeline& time, Random& random) : time_{time}, random_{random} {}
  void on_arrival(Deliver deliver) { deliver_ = std::move(deliver); }

  /// A connection of `agent`, which is on `host`, to a coordinator, when can_connect().
  LinkId connect(int host, int agent, int coordinator = 0);
  /// Whether packets come through from one host to the other and back.
  bool can_connect(int host, int other = kNowhere);
  /// Whether packets come through from that host, and to it.
  bool comes_out(int host) { return !cable(host).cut[static_cast<int>(Side::kCoordinator)]; }
  bool comes_in(int host) { return !cable(host).cut[static_cast<int>(Side::kAgent)]; }
  bool refuses(int coordinator = 0) { return place(coordinator).refuses; }
  /// Where the coordinator is, so that its cable counts, too.
  void put_coordinator(int coordinator, int host) { place(coordinator).host = host; }
  int host_of(int coordinator) { return place(coordinator).host; }
  int coordinator_of(LinkId link) const { return links_[link].coordinator; }
  /// Whether the connection has lost and delayed nothing for that long.
  bool healthy_for(LinkId link, milliseconds time);
  int agent_of(LinkId link) const { return links_[link].agent; }
  int host_of_agent(LinkId link) const { return links_[link].host; }

  void send(LinkId link, Side from, Parcel parcel);
  /// All that was sent arrives, and then the end; what the other side still sends arrives, too.
  void finish(LinkId link, Side from);
  /// As above, and nothing is received any more.
  void close(LinkId link, Side from);

  /// What was in flight is lost. A side without a time never learns.
  void break_link(LinkId link, std::optional<milliseconds> agent_learns,
                  std::optional<milliseconds> coordinator_learns);
  void cut(int host, bool to_agent, bool to_coordinator);
  void heal(int host);
  void refuse(int coordinator = 0) {
    place(coordinator).refuses = true;
  }  // no process listens any more
  void listen(int coordinator = 0) { place(coordinator).refuses = false; }  // somebody does again
  /// The coordinator's ends of all connections are gone. `told`: the agents learn of it.
  void lose_coordinator(bool told, int coordinator = 0);
  void slow_down(int host, milliseconds delay_max);

 private:
  struct Sent {
    TimePoint due;
    Parcel parcel;
  };
  struct Stream {  // towards one side
    std::deque<Sent> under_way;
    TimePoint last_due;
    bool finished = false;  // nothing can be sent after a HangUp
    bool deaf = false;      // the receiver has closed its end
  };
  struct Link {
    int host;
    int agent;
    int coordinator = 0;
    bool broken = false;
    std::array<Stream, 2> towards{};
  };
  struct Cable {
    std::array<bool, 2> cut{};  // towards the agent, towards the coordinator
    milliseconds delay_max = kDelayMax;
    TimePoint healthy_since;  // everything from before has arrived by then
  };
  Stream& stream(LinkId link, Side to) { return links_[link].towards[static_cast<int>(to)]; }
  Cable& cable(int host);
  void enqueue(LinkId link, Side to, milliseconds delay, Parcel parcel);
  void arrive(LinkId link, Side to);

  Timeline& time_;
  Random& random_;
  Deliver deliver_;
  struct Place {
    int host = kNowhere;
    bool refuses = false;
  };
  Place& place(int coordinator);
  bool holds_back(const Link& link, Side to);
  std::deque<Place> places_;  // where coordinators are
  std::deque<Link> links_;
  std::deque<Cable> cables_;  // one for every host
};

/// The line that the parcel is on the wire, without its end.
std::string text_of(const Parcel& parcel);

}  // namespace ddprun::simulation
