#include "rendezvous/service/job_search.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/coroutines.hpp"
#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "rendezvous/service/client.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using namespace std::chrono_literals;

/// A peer has this long to answer a question.
constexpr auto kAnswerTimeout = 1s;
constexpr Patience kOnce{kAnswerTimeout, 0s, kAnswerTimeout};
constexpr auto kQuestionTimeout = 2s;  // looking up a name cannot be given up

/// Whether the other end closes the connection within that time, without a word. It is closed then.
asio::awaitable<bool> hangs_up(std::shared_ptr<Channel> channel, std::chrono::milliseconds time) {
  const auto heard = co_await in_time(Clock::now() + time, channel->receive());
  channel->close();
  co_return heard.has_value();
}

}  // namespace

/// One question to all other places of the job.
struct JobSearch::Question {
  explicit Question(const asio::any_io_executor& executor) : late{executor, kQuestionTimeout} {}
  std::size_t open = 0;  // endpoints that may answer yet
  LeadersFound found{{}, true};
  asio::steady_timer late;  // expires when the answers are waited for no longer
};

void JobSearch::tell(const CoordinatorEvent& event) {
  if (!closed_) listener_.tell(event);
}

void JobSearch::probe(const Probe& order) {
  start_coroutine(executor_, probe_agent(order), report_failure("probing an agent"));
}

asio::awaitable<void> JobSearch::probe_agent(Probe order) {
  const auto self = shared_from_this();
  const auto endpoint = read_endpoint(order.endpoint);
  if (!endpoint) co_return;
  bool refused = false;
  bool hung_up = true;
  for (int i = 0; i < order.times.tries && hung_up; ++i) {
    const Patience patience{order.times.connect, 0s, order.times.connect};
    const auto answer = co_await connect(*endpoint, patience);
    refused = !answer && answer.error().kind == Error::Kind::kUnavailable;
    if (!answer) break;
    auto hanging_up = hangs_up(*answer, order.times.hang_up);
    hung_up = co_await std::move(hanging_up);
  }
  tell(Probed{order.node, refused});
}

void JobSearch::announce(const AnnounceLeader& order) {
  start_coroutine(executor_, announce_to(order), report_failure("announcing a coordinator"));
}

asio::awaitable<void> JobSearch::announce_to(AnnounceLeader order) {
  const auto self = shared_from_this();
  if (std::exchange(announcing_, true)) co_return;
  const Hello hello = [&](const Channel&) {
    return Identify{run_id_, order.epoch, order.coordinator};
  };
  const TellUser nobody = [](const std::string&) {};
  for (const std::string& place : order.endpoints) {
    const auto endpoint = read_endpoint(place);
    if (!endpoint || closed_) continue;
    const auto answer = co_await reach(*endpoint, kOnce, hello, nobody, tls_);
    if (answer) answer->channel->close();
  }
  announcing_ = false;
}

void JobSearch::ask(const AskLeaders& order) {
  start_coroutine(executor_, ask_all(order), report_failure("asking for a coordinator"));
}

asio::awaitable<void> JobSearch::ask_all(AskLeaders order) {
  const auto self = shared_from_this();
  const auto question = std::make_shared<Question>(executor_);
  for (const std::string& endpoint : order.endpoints) {
    ++question->open;
    start_coroutine(executor_, ask_one(endpoint, question),
                    report_failure("asking for a coordinator"));
  }
  while (question->open > 0 && Clock::now() < question->late.expiry())
    co_await question->late.async_wait(as_tuple(use_awaitable));
  if (question->open > 0) question->found.all = false;
  tell(question->found);
}

asio::awaitable<void> JobSearch::ask_one(std::string endpoint, std::shared_ptr<Question> question) {
  const auto self = shared_from_this();
  if (const auto place = read_endpoint(endpoint)) {
    const auto answer = co_await ask_who_is_at(*place, run_id_, kAnswerTimeout, tls_);
    const bool silent = !answer && answer.error().kind != Error::Kind::kUnavailable;
    if (silent) question->found.all = false;
    const auto told = answer ? *answer : std::nullopt;
    const Leader leader = told ? Leader{told->epoch, told->coordinator} : Leader{};
    if (leader.epoch >= question->found.leader.epoch && leader != Leader{})
      question->found.leader = leader;
  }
  --question->open;
  question->late.cancel();
}

void JobSearch::invite(const InviteWitnesses& order) {
  for (const std::string& endpoint : order.endpoints)
    if (inviting_.insert(endpoint).second)
      start_coroutine(executor_, invite_one(endpoint, order.invitation),
                      report_failure("asking for a vote"));
}

asio::awaitable<void> JobSearch::invite_one(std::string endpoint, InviteWitness invitation) {
  const auto self = shared_from_this();
  const auto place = read_endpoint(endpoint);
  if (place && !witness_endpoints_.contains(endpoint)) {
    const auto answer = co_await ask_who_is_at(*place, run_id_, kAnswerTimeout, tls_);
    if (answer && *answer && (*answer)->witness) witness_endpoints_.insert(endpoint);
  }
  if (place && witness_endpoints_.contains(endpoint) && !closed_) {
    const auto channel = co_await connect(*place, kOnce, tls_);
    if (channel) {
      auto join = co_await request_join(endpoint, std::move(invitation), *channel);
      if (join && !closed_) {
        log::info("the witness at {} votes in this job", endpoint);
        listener_.join(*channel, *std::move(join));
      } else {
        (*channel)->close_when_sent();
      }
    }
  }
  inviting_.erase(endpoint);
}

/// nullopt: it votes for somebody else, of whom this coordinator hears when that one is later.
asio::awaitable<std::optional<Join>> JobSearch::request_join(std::string endpoint,
                                                             InviteWitness invitation,
                                                             std::shared_ptr<Channel> channel) {
  channel->send(encode(AgentMessage{invitation}));
  const auto heard = co_await in_time(Clock::now() + kAnswerTimeout, channel->receive());
  if (!heard || !*heard) co_return std::nullopt;
  const std::string& line = **heard;
  if (const auto said = decode_agent_message(line); said && std::holds_alternative<Join>(*said)) {
    Join join = std::get<Join>(*said);
    if (join.witness) co_return join;
  }
  const auto order = decode_coordinator_message(line);
  const auto* const redirect = order ? std::get_if<Redirect>(&*order) : nullptr;
  if (redirect != nullptr && redirect->epoch > 0)
    tell(HigherEpoch{redirect->epoch, redirect->coordinator});
  if (!order) witness_endpoints_.erase(endpoint);  // it is none any more
  co_return std::nullopt;
}

}  // namespace ddprun
