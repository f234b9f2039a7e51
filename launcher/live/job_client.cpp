#include "launcher/live/job_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/coroutines.hpp"
#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "base/system/own_process.hpp"
#include "base/text.hpp"
#include "launcher/live/job_choice.hpp"
#include "rendezvous/service/client.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTimeout = 3s;      // an agent asks its coordinator, and waits for 2 s
constexpr auto kDumpAnswerTimeout = 7s;  // or for 5 s

/// Runs a coroutine to its end, and returns its result.
template <typename T>
T run_to_end(asio::io_context& io, asio::awaitable<T> work) {
  std::optional<T> result;
  const auto keep = [&](T value) { result.emplace(std::move(value)); };
  start_coroutine(io, then(std::move(work), keep), report_failure("asking a job"));
  io.restart();
  while (!result && io.run_one() > 0) continue;
  return std::move(*result);
}

Result<std::string> body_of(const Result<HttpHeard>& heard) {
  if (!heard) return heard.error();
  if (heard->status == 200) return heard->body;
  return Error{Error::Kind::kUnavailable, first_plain_line(heard->body)};
}

asio::awaitable<Result<std::string>> ask(FoundJob job, HttpQuestion question,
                                         std::chrono::milliseconds timeout = kAnswerTimeout) {
  auto socket = connect_to_job(co_await asio::this_coro::executor, job);
  if (!socket) co_return socket.error();
  auto heard = co_await ask_http(std::move(*socket), std::move(question), timeout);
  co_return body_of(heard);
}

asio::awaitable<Result<JobStatus>> ask_status(FoundJob job) {
  HttpQuestion question{.target = "/status.json"};
  auto body = co_await ask(std::move(job), std::move(question));
  if (!body) co_return body.error();
  co_return parse_job_status(*body);
}

/// Puts a question to the agents of a job in turn, until one knows the answer.
template <typename Answer, typename Ask>
Result<Answer> first_answer(asio::io_context& io, const std::vector<FoundJob>& agents,
                            const Ask& ask_agent) {
  Result<Answer> answer = Error{Error::Kind::kNotFound, "the job has just ended"};
  for (const FoundJob& agent : agents) {
    answer = run_to_end(io, ask_agent(agent));
    if (answer) break;
  }
  return answer;
}

/// What "http://HOST:PORT/?token=T", "HOST:PORT" or "[::1]:PORT" says.
struct PageAddress {
  Endpoint endpoint;
  std::string host;   // with its port, for the Host header
  std::string query;  // "?token=T", or ""
};

Result<PageAddress> parse_page_address(const std::string& text) {
  std::string_view rest = text;
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  const auto colon = authority.rfind(':');
  const auto port = colon == std::string_view::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(authority.substr(colon + 1));
  if (!port || *port == 0) return invalid("'" + plain_line(text) + "' is no HOST:PORT");
  std::string host{authority.substr(0, colon)};
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto mark = rest.find('?');
  return PageAddress{{std::move(host), *port},
                     std::string{authority},
                     mark == std::string_view::npos ? "" : std::string{rest.substr(mark)}};
}

asio::awaitable<Result<std::string>> ask_page(PageAddress page) {
  auto socket = co_await connect_http(page.endpoint, kAnswerTimeout);
  if (!socket) co_return socket.error();
  HttpQuestion question{.target = "/status.json" + page.query, .host = page.host};
  auto heard = co_await ask_http(std::move(*socket), std::move(question), kAnswerTimeout);
  co_return body_of(heard);
}

/// A server of several jobs answers with a list; of one job it is as good as that job.
Result<JobStatus> only_status(const std::string& body) {
  const ParsedJson json = json_or_null(body);
  const auto* list = member(*json, "jobs");
  if (list == nullptr) return parse_job_status(body);
  const auto jobs = entries(list);
  if (jobs && jobs->size() == 1) return parse_job_status(json_text(*jobs->front()));
  return invalid(
      "the server there has several jobs: name one behind its address, as in "
      "http://HOST:PORT/?job=ID");
}

Error nobody_there(asio::io_context& io, const PageAddress& page, const Error& error) {
  auto asking = who_is_at(page.endpoint, "");
  const auto coordinator = run_to_end(io, std::move(asking));
  if (!coordinator) return error;
  return {Error::Kind::kUnavailable,
          "at " + page.host + " is the coordinator of " + coordinator->jobs + " (process " +
              std::to_string(coordinator->pid) + " on " + plain_line(coordinator->host) +
              "). It tells strangers no more: `ddprun status` on that machine does, and the page "
              "of --status-addr"};
}

std::vector<JobFacts> facts_of(const std::vector<FoundJob>& jobs) {
  std::vector<JobFacts> facts;
  facts.reserve(jobs.size());
  for (const FoundJob& job : jobs) facts.push_back(job.facts);
  return facts;
}

}  // namespace

std::string first_plain_line(std::string_view text) {
  return plain_line(text.substr(0, text.find('\n')));
}

std::vector<FoundJob> running_jobs() { return find_jobs(own_variable); }

Result<std::vector<FoundJob>> find_job(const std::string& word) {
  const std::vector<FoundJob> all = running_jobs();
  const auto chosen = choose_job(facts_of(all), word);
  if (!chosen) return chosen.error();
  std::vector<FoundJob> agents;
  for (const std::size_t i : *chosen) agents.push_back(all[i]);
  return agents;
}

Result<FoundRank> find_rank(const std::string& command, const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 2) return invalid(command + ": expected [JOB] RANK");
  const auto rank = parse_number<int>(words.back());
  if (!rank || *rank < 0)
    return invalid(command + ": '" + plain_line(words.back()) + "' is no rank");
  auto agents = find_job(words.size() == 2 ? words.front() : "");
  if (!agents) return agents.error();
  return FoundRank{std::move(*agents), *rank};
}

const NodeStatus* node_of(const JobStatus& status, int rank) {
  const auto has_rank = [rank](const NodeStatus& node) {
    return node.first_rank >= 0 && rank >= node.first_rank && rank < node.first_rank + node.workers;
  };
  const auto found = std::ranges::find_if(status.nodes, has_rank);
  return found == status.nodes.end() ? nullptr : &*found;
}

const FoundJob* agent_of(const std::vector<FoundJob>& agents, const JobStatus& status, int rank) {
  const NodeStatus* const node = node_of(status, rank);
  if (node == nullptr) return nullptr;
  const auto found =
      std::ranges::find(agents, node->host, [](const FoundJob& agent) { return agent.facts.host; });
  return found == agents.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const std::vector<FoundJob>& jobs) {
  return job_names(facts_of(jobs));
}

// RFC 3986, section 2.1.
std::string in_query(std::string_view text) {
  std::string escaped;
  for (const unsigned char c : text) escaped += fmt::format("%{:02X}", c);
  return escaped;
}

Result<std::string> ask_job(asio::io_context& io, const FoundJob& job, HttpQuestion question) {
  return run_to_end(io, ask(job, std::move(question)));
}

Result<JobStatus> status_of_job(asio::io_context& io, const std::vector<FoundJob>& agents) {
  return first_answer<JobStatus>(io, agents, ask_status);
}

Result<std::string> dump_of_job(asio::io_context& io, const std::vector<FoundJob>& agents,
                                bool as_json) {
  const std::string name = in_query(names_of(agents).front());
  return first_answer<std::string>(io, agents, [&](const FoundJob& agent) {
    HttpQuestion question{.method = "POST",
                          .target = as_json ? "/dump?json=1" : "/dump?name=" + name};
    return ask(agent, std::move(question), kDumpAnswerTimeout);
  });
}

std::vector<std::optional<JobStatus>> status_of_jobs(asio::io_context& io,
                                                     const std::vector<FoundJob>& jobs) {
  std::vector<std::optional<JobStatus>> all(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto keep = [&all, i](Result<JobStatus> status) {
      if (status) all[i] = std::move(*status);
    };
    start_coroutine(io, then(ask_status(jobs[i]), keep), report_failure("asking a job"));
  }
  io.restart();
  io.run();
  return all;
}

Result<JobStatus> status_at(asio::io_context& io, const std::string& endpoint) {
  const auto page = parse_page_address(endpoint);
  if (!page) return page.error();
  const auto body = run_to_end(io, ask_page(*page));
  if (body) return only_status(*body);
  return nobody_there(io, *page, body.error());
}

}  // namespace ddprun
