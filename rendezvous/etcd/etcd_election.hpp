// EtcdElection: the shell of Campaign. It asks etcd what Campaign wants to be asked, one request at
// a time, and tells the coordinator of this process and its agent what came of it.
//
// All of it happens in one event loop, the coordinator's.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/etcd/campaign.hpp"
#include "rendezvous/etcd/etcd_client.hpp"
#include "rendezvous/etcd/etcd_text.hpp"

namespace ddprun {

class EtcdElection : public std::enable_shared_from_this<EtcdElection> {
 public:
  /// `tell` gets Campaign's Elected, Held, MembersWritten, MembersExpired and Replaced.
  using Listener = std::function<void(const Campaign::Action&)>;

  EtcdElection(const asio::any_io_executor& executor, std::unique_ptr<EtcdClient> client,
               Campaign::Rules rules, EtcdKeys keys, Listener tell);

  /// Finds the coordinator, or makes this process the coordinator. One call at a time. Errors:
  /// kTimeout, with what etcd has answered last.
  asio::awaitable<Result<Campaign::Found>> seek(Campaign::Seek wish, TimePoint deadline);

  /// The coordinator here is to begin a round with these nodes, or has ended the job.
  void hear(const Campaign::Event& event) { step(event); }

  /// Ends as soon as the verdict has been written.
  void close();

 private:
  void step(const Campaign::Event& event);
  void perform(const Campaign::Action& action);
  asio::awaitable<void> ask(EtcdRequest request);
  asio::awaitable<EtcdAnswer> answer_to(const EtcdRequest& request);
  asio::awaitable<void> tick();
  void set_alarm();
  void note_failure(const std::string& why);

  Campaign campaign_;
  const Campaign::Rules rules_;
  const EtcdKeys keys_;
  std::unique_ptr<EtcdClient> client_;
  Listener tell_;
  asio::steady_timer alarm_;
  asio::steady_timer seeking_;
  std::optional<Campaign::Found> found_;
  std::string last_failure_;  // "": etcd answers
  TimePoint failing_since_;
  TimePoint note_due_;
  bool ticking_ = false;
  bool closed_ = false;
};

}  // namespace ddprun
