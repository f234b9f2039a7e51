#include "live/page/status_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/coroutines.hpp"
#include "base/numbers.hpp"
#include "base/system/accept.hpp"
#include "base/system/fresh_names.hpp"
#include "live/page/job_page.hpp"
#include "live/page/metrics.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using std::chrono::milliseconds;

/// Viewers that ask within this time get the same data.
constexpr auto kLookEvery = 100ms;
/// Changes are sent at this interval, and everything at the next one.
constexpr auto kNewsEvery = 200ms;
constexpr auto kAllEvery = 1s;
constexpr auto kAllEveryOfMany = 3s;
constexpr std::size_t kManyRanks = 512;
/// At most this many jobs are looked at by name at once; an unknown name is remembered as well.
constexpr std::size_t kTextsMax = 100;

HttpReply sentence(unsigned status, std::string text) {
  return {http_sentence(status, std::move(text))};
}

std::string event_of(const std::string& json) { return "event: status\ndata: " + json + "\n\n"; }

/// What a viewer is to see at once when it changes; numbers may wait.
std::string news_of(const std::vector<JobStatus>& jobs, const std::string& run_id) {
  std::string news;
  for (const JobStatus& job : jobs) {
    if (!run_id.empty() && job.run_id != run_id) continue;
    news += job.run_id + '\n' + std::to_string(job.round) + job.why;
    news += static_cast<char>('a' + static_cast<int>(job.state));
    news += job.hang ? 'h' : '-';
    if (job.summary.straggler) news += job.summary.straggler->ranks;
    for (const DebuggedRank& each : job.summary.debugged)
      news += std::to_string(each.rank) + (each.waits ? 'w' : 'd');
    for (const NodeStatus& node : job.nodes)
      news += static_cast<char>('a' + static_cast<int>(node.state));
    for (const RankStatus& rank : job.ranks)
      news += static_cast<char>('a' + static_cast<int>(rank.state));
  }
  return news;
}

milliseconds all_every(const std::vector<JobStatus>& jobs) {
  std::size_t ranks = 0;
  for (const JobStatus& job : jobs) ranks += job.ranks.size();
  return ranks > kManyRanks ? milliseconds{kAllEveryOfMany} : kAllEvery;
}

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::listen(const asio::any_io_executor& executor,
                                                           const tcp::endpoint& endpoint,
                                                           StatusPage page) {
  auto acceptor = listen_on(executor, endpoint);
  if (!acceptor) return acceptor.error();
  std::unique_ptr<StatusServer> server{new StatusServer{std::move(*acceptor), std::move(page)}};
  start_coroutine(executor, server->accept(), report_failure("the status page"));
  return server;
}

StatusServer::StatusServer(tcp::acceptor acceptor, StatusPage page)
    : page_{std::move(page)},
      acceptor_{std::move(acceptor)},
      port_{acceptor_.local_endpoint().port()},
      server_{acceptor_.get_executor(), {}, [this](HttpRequest request) {
                return answer(std::move(request));
              }} {}

asio::awaitable<void> StatusServer::accept() {
  const std::function<void(tcp::socket)> serve_one = [this](tcp::socket socket) {
    server_.serve(HttpSocket{std::move(socket)});
  };
  co_await accept_all(acceptor_, serve_one);
}

void StatusServer::close() {
  if (!acceptor_.is_open()) return;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  looked_at_ = {};
  server_.close(page_.one_job ? event_of(json_of("")) : "");
}

const std::vector<JobStatus>& StatusServer::jobs() {
  const TimePoint now = Clock::now();
  if (now - looked_at_ < kLookEvery) return looked_;
  looked_ = page_.jobs();
  looked_at_ = now;
  texts_.clear();
  return looked_;
}

/// The text is long where there are many ranks, so all viewers of one look share it.
const std::string& StatusServer::json_of(const std::string& job) {
  jobs();
  const auto known = texts_.find(job);
  if (known != texts_.end()) return known->second;
  if (texts_.size() == kTextsMax) texts_.clear();
  return texts_[job] = make_json(job);
}

/// Where there is one job it is the answer, else the list, or the one that is asked for. "": there
/// is none of that name.
std::string StatusServer::make_json(const std::string& job) {
  const auto& all = looked_;
  if (page_.one_job && !all.empty()) return to_json(all.front());
  if (!job.empty()) {
    const auto found = std::ranges::find(all, job, &JobStatus::run_id);
    return found == all.end() ? "" : to_json(*found);
  }
  std::string list = R"({"schema":"ddprun.jobs/1","jobs":[)";
  for (const JobStatus& each : all) list += (list.ends_with('[') ? "" : ",") + to_json(each);
  return list + "]}";
}

/// The page's address may be in a history or a log, so its host is looked at as well: see
/// is_own_host().
bool StatusServer::may_see(const HttpRequest& request) const {
  if (page_.token.empty()) return true;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string& header = request.authorization;
  if (header.starts_with(kBearer) &&
      same_secret(std::string_view{header}.substr(kBearer.size()), page_.token))
    return true;
  return same_secret(request.parameter("token"), page_.token);
}

asio::awaitable<HttpReply> StatusServer::answer(HttpRequest request) {
  if (!is_own_host(request.host, page_.names))
    co_return sentence(421, "this server is not known by that name: use its address");
  if (request.method != "GET") co_return sentence(405, "nothing can be changed here");
  if (request.path == "/healthz") co_return sentence(200, "ok");
  if (!may_see(request))
    co_return sentence(401, "the address needs the token that ddprun has printed");
  if (request.path == "/") {
    const std::string nonce = fresh_token();
    co_return HttpReply{{.type = "text/html; charset=utf-8",
                         .body = job_page(nonce, page_.command),
                         .headers = page_headers(nonce)}};
  }
  if (request.path == "/metrics")
    co_return HttpReply{{.type = kMetricsType, .body = metrics_text(jobs())}};
  if (request.path == "/log") {
    HttpReply reply = co_await tell_log(std::move(request));
    co_return reply;
  }
  co_return tell_status(request);
}

/// A node has the output of its own workers only.
asio::awaitable<HttpReply> StatusServer::tell_log(HttpRequest request) {
  if (!page_.log) co_return sentence(404, where_to_read(request));
  request.query.erase("follow");
  HttpReply reply = co_await page_.log(request);
  if (reply.answer.status == 404) co_return sentence(404, where_to_read(request));
  co_return reply;
}

std::string StatusServer::where_to_read(const HttpRequest& request) {
  const std::string rank = request.parameter("rank");
  const int number = parse_number<int>(rank).value_or(-1);
  const std::string job = request.parameter("job");
  for (const JobStatus& each : jobs()) {
    if (!page_.one_job && each.run_id != job) continue;
    for (const NodeStatus& node : each.nodes)
      if (number >= node.first_rank && number < node.first_rank + node.workers)
        return fmt::format("rank {0} runs on {1}: `ddprun logs {0}` shows its output there", rank,
                           node.host);
  }
  return "no worker has rank " + rank;
}

HttpReply StatusServer::tell_status(const HttpRequest& request) {
  const std::string job = request.parameter("job");
  if (request.path != "/status.json" && request.path != "/events")
    return sentence(404, "there is no such page");
  const std::string& json = json_of(job);
  if (json.empty()) return sentence(404, "there is no such job (any more)");
  if (request.path == "/status.json") return {{.type = "application/json", .body = json}};
  return {{.type = "text/event-stream", .body = event_of(json)},
          [this, job](HttpStream& stream) { return send_events(job, stream); }};
}

/// All viewers are written to in the same moments, so that they share a look and its text.
asio::awaitable<void> StatusServer::send_events(std::string job, HttpStream& stream) {
  std::string told = news_of(jobs(), job);
  for (;;) {
    const auto now = Clock::now().time_since_epoch();
    const auto tick = now / kNewsEvery + 1;
    const bool there = co_await stream.pause(ceil<milliseconds>(tick * kNewsEvery - now));
    if (!there) co_return;
    std::string news = news_of(jobs(), job);
    const bool all_is_due = tick % (all_every(jobs()) / kNewsEvery) == 0;
    if (news == told && !all_is_due) continue;
    const std::string& json = json_of(job);
    if (json.empty()) co_return;
    std::string event = event_of(json);
    const bool written = co_await stream.write(std::move(event));
    if (!written) co_return;
    told = std::move(news);
  }
}

}  // namespace ddprun
