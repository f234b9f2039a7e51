#include "agent/control/trainer_endpoint.hpp"

#include <utility>

#include "base/coroutines.hpp"
#include "base/numbers.hpp"
#include "base/system/accept.hpp"

namespace ddprun {

namespace {

constexpr std::string_view kBearer = "Bearer ";

bool proves(const HttpRequest& request, const std::string& token) {
  const std::string_view header = request.authorization;
  return header.starts_with(kBearer) && same_secret(header.substr(kBearer.size()), token);
}

}  // namespace

TrainerEndpoint::TrainerEndpoint(const asio::any_io_executor& executor, int workers)
    : acceptor_{executor},
      workers_{workers},
      server_{executor, {}, [this](HttpRequest request) -> asio::awaitable<HttpReply> {
                co_return take(request);
              }} {}

Result<void> TrainerEndpoint::open(std::string token) {
  const auto executor = acceptor_.get_executor();
  auto acceptor = listen_on(executor, {asio::ip::address_v4::loopback(), 0});
  if (!acceptor) return acceptor.error();
  acceptor_ = std::move(*acceptor);
  token_ = std::move(token);
  start_coroutine(executor, accept(), report_failure("what trainings tell"));
  return {};
}

std::string TrainerEndpoint::url() const {
  return std::string{"http://"} + kTrainerHost + ":" +
         std::to_string(acceptor_.local_endpoint().port());
}

const TrainerStatus* TrainerEndpoint::told(int local_rank) const {
  const auto found = told_.find(local_rank);
  return found == told_.end() ? nullptr : &found->second;
}

void TrainerEndpoint::add_reported(int local_rank, WorkerLook& look) const {
  const TrainerStatus* const status = told(local_rank);
  if (status == nullptr) return;
  if (status->step) look.step = status->step;
  if (status->loss) look.loss = status->loss;
  if (status->steps > 0) look.steps = status->steps;
  if (status->samples_per_second > 0) look.samples_per_second = status->samples_per_second;
  look.left_s = status->left_s;
}

void TrainerEndpoint::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  server_.close();
}

asio::awaitable<void> TrainerEndpoint::accept() {
  const std::function<void(asio::ip::tcp::socket)> serve_one =
      [this](asio::ip::tcp::socket socket) { server_.serve(HttpSocket{std::move(socket)}); };
  co_await accept_all(acceptor_, serve_one);
}

HttpReply TrainerEndpoint::take(const HttpRequest& request) {
  if (!proves(request, token_)) return {http_sentence(401, "the token is missing or wrong")};
  const auto local_rank = parse_number<int>(std::string_view{request.path}.substr(1));
  if (request.method != "POST" || !local_rank || *local_rank < 0 || *local_rank >= workers_)
    return {http_sentence(404, "expected POST /LOCAL_RANK")};
  const auto status = parse_trainer_status(request.body);
  if (!status) return {http_sentence(400, status.error().message)};
  update(told_[*local_rank], *status);
  return {http_sentence(200, "thank you")};
}

}  // namespace ddprun
