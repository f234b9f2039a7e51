#include "live/page/status_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/coroutines.hpp"
#include "base/system/fresh_names.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;

class PageFixture {
 protected:
  PageFixture() { jobs_ = {JobStatus{.run_id = "r1", .round = 1}}; }

  void serve(StatusPage page = {}) {
    page.jobs = [this] { return jobs_; };
    page.names = {"node7"};
    auto server = StatusServer::listen(loop_.executor(), {asio::ip::address_v4::loopback(), 0},
                                       std::move(page));
    REQUIRE(server.has_value());
    server_ = std::move(*server);
  }
  asio::awaitable<void> exchange(std::string bytes) {
    constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
    tcp::socket socket{loop_.executor()};
    co_await socket.async_connect({asio::ip::address_v4::loopback(), server_->port()},
                                  asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(bytes), kQuietly);
    std::array<char, 4096> buffer{};
    for (;;) {
      const auto [error, count] = co_await socket.async_read_some(asio::buffer(buffer), kQuietly);
      heard_.append(buffer.data(), count);
      if (error) co_return;
    }
  }
  /// What the server answers to a GET with that Host header.
  std::string got(const std::string& target, const std::string& more = "Host: 127.0.0.1\r\n") {
    heard_.clear();
    loop_.run(exchange("GET " + target + " HTTP/1.1\r\n" + more + "\r\n"), "an answer");
    return heard_;
  }

  EventLoop loop_;
  std::vector<JobStatus> jobs_;
  std::unique_ptr<StatusServer> server_;
  std::string heard_;
};

TEST_CASE_METHOD(PageFixture, "the page, the status, the numbers and the health are served") {
  serve();
  CHECK_THAT(got("/"), contains("Content-Security-Policy: default-src 'none'"));
  CHECK_THAT(heard_, contains("<!doctype html>"));
  CHECK_THAT(got("/status.json"), contains("\"run_id\":\"r1\""));
  CHECK_THAT(got("/metrics"), contains("ddprun_round{job_id=\"r1\"} 1\n"));
  CHECK_THAT(got("/healthz"), contains("200 OK"));
  CHECK_THAT(got("/etc/passwd"), contains("404"));
  CHECK_THAT(got("/log?rank=0&stream=err"), contains("404"));
}

TEST_CASE_METHOD(PageFixture, "who asks for the output of another node's rank hears where it is") {
  jobs_.front().nodes = {{.host = "h1", .first_rank = 0, .workers = 2},
                         {.host = "h2", .first_rank = 2, .workers = 2}};
  serve();
  CHECK_THAT(got("/log?rank=2&stream=err"), contains("rank 2 runs on h2: `ddprun logs 2`"));
  CHECK_THAT(got("/log?rank=4&stream=err"), contains("no worker has rank 4"));
}

TEST_CASE_METHOD(PageFixture, "a site that lets its name mean our address is turned away") {
  serve();
  CHECK_THAT(got("/status.json", "Host: evil.example.com\r\n"), contains("421"));
  CHECK_THAT(got("/status.json", ""), contains("421"));
  CHECK_THAT(got("/status.json", "Host: node7:8080\r\n"), contains("200 OK"));
}

TEST_CASE_METHOD(PageFixture, "with a token nothing is shown without it, and the health is") {
  StatusPage page;
  page.token = fresh_token();
  const std::string token = page.token;
  serve(std::move(page));
  for (const char* target : {"/", "/status.json", "/events", "/metrics", "/log?rank=0&stream=err"})
    CHECK_THAT(got(target), contains("401"));
  CHECK_THAT(got("/status.json?token=" + token.substr(1) + "0"), contains("401"));
  CHECK_THAT(got("/status.json?token=" + token), contains("200 OK"));
  CHECK_THAT(got("/metrics", "Host: localhost\r\nAuthorization: Bearer " + token + "\r\n"),
             contains("200 OK"));
  CHECK_THAT(got("/healthz"), contains("200 OK"));
}

TEST_CASE_METHOD(PageFixture, "nothing can be changed") {
  serve();
  heard_.clear();
  loop_.run(exchange("POST /status.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
            "an answer");
  CHECK_THAT(heard_, contains("405"));
}

TEST_CASE_METHOD(PageFixture, "events tell at once what has changed, and at last how it ended") {
  serve();
  bool over = false;
  asio::co_spawn(loop_.executor(), exchange("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                 [&](const std::exception_ptr& failure) {
                   report_failure("listening")(failure);
                   over = true;
                 });
  const auto hears = [&](const std::string& text) {
    loop_.run_until([&] { return heard_.find(text) != std::string::npos; }, text);
  };
  hears("event: status\ndata: {");
  jobs_[0].why = "node h2 lost";
  hears("node h2 lost");
  jobs_[0].state = JobStatus::State::kEnded;
  server_->close();
  hears("\"state\":\"ended\"");
  loop_.run_until([&] { return over; }, "the end");
}

TEST_CASE_METHOD(PageFixture,
                 "a server of several jobs lists them, and shows one that is asked for") {
  StatusPage page;
  page.one_job = false;
  serve(std::move(page));
  jobs_.push_back(JobStatus{.run_id = "r2"});
  CHECK_THAT(got("/status.json"), contains(R"("jobs":[{)"));
  CHECK_THAT(got("/status.json?job=r2"), contains("\"run_id\":\"r2\""));
  CHECK(heard_.find("r1") == std::string::npos);
  CHECK_THAT(got("/status.json?job=r3"), contains("404"));
}

}  // namespace
}  // namespace ddprun
