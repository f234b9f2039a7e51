#include "launcher/run/own_coordinator.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "launcher/run/open_etcd_election.hpp"
#include "launcher/run/open_status_page.hpp"
#include "launcher/run/own_command_line.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

namespace {

void say_where(const LaunchSpec& spec, const RunFacts& run) {
  const Endpoint& coordinator = run.coordinator;
  if (spec.meeting.etcd)
    log::info("etcd at {} chooses the coordinator; this node would be it at {} port {}",
              text_of(*spec.meeting.etcd), coordinator.host, coordinator.port);
  else
    log::info("coordinator: {} port {}, {}", coordinator.host, coordinator.port,
              run.coordinator_here ? "on this node" : "on another node");
}

}  // namespace

OwnCoordinator::OwnCoordinator(asio::io_context& home, const LaunchSpec& spec,
                               const RunEvents& events, ReadLog log)
    : home_{home}, spec_{spec}, events_{events}, log_{std::move(log)} {}

/// Jobs that still ask get no answer while their event loop goes.
OwnCoordinator::~OwnCoordinator() {
  if (memory_) memory_->end_within(std::chrono::milliseconds{0});
}

Result<void> OwnCoordinator::prepare(NodeFacts& node) {
  RunFacts& run = node.run;
  if (!spec_.terms.has_one_node()) loop_.emplace(1);
  if (!spec_.node.history.empty())
    memory_ = std::make_shared<FolderMemory>(home_.get_executor(), spec_.node.history);
  auto opened = open_coordinator(home_, serving(), spec_, run.run_id, memory_);
  if (!opened) return opened.error();
  server_ = std::move(opened->server);
  open_standby_ = std::move(opened->open_standby);
  election_ = std::move(opened->election);
  run.coordinator = std::move(opened->endpoint);
  run.coordinator_here = opened->is_here;
  own_port_ = opened->own_port;
  place_ = {text_of(run.coordinator), opened->is_here};
  if (spec_.status_address && !run.coordinator_here)
    log::info("--status-addr: the node that hosts the coordinator serves the status page");
  else if (auto shown = open_page(); !shown)
    return shown.error();
  else
    place_.status_url = std::move(*shown);
  if (server_) serve();
  say_where(spec_, run);
  if (opened->is_here) events_.listening({spec_.meeting.coordinator.host, run.coordinator.port});
  return {};
}

std::uint16_t OwnCoordinator::stand_by() {
  if (!open_standby_) return own_port_;
  server_ = std::exchange(open_standby_, {})();
  if (!server_) return 0;
  serve();
  return own_port_ = server_->port();
}

void OwnCoordinator::serve() {
  if (loop_) thread_.emplace(*loop_, home_.get_executor());
}

AskEtcd OwnCoordinator::ask_etcd() {
  return election_ ? ask_of(election_, loop_->get_executor()) : AskEtcd{};
}

void OwnCoordinator::led_by(const Leader& leader) {
  if (server_) asio::post(serving(), [this, leader] { server_->led_by(leader); });
  if (leader.coordinator.empty()) return;
  place_.coordinator = leader.coordinator;
  moved_();
}

void OwnCoordinator::lead(bool leads) {
  if (leads) events_.listening({"", own_port_});
  if (spec_.status_address) move_page(leads);
  place_.is_here = leads;
  moved_();
}

/// The job goes on without its page, too.
void OwnCoordinator::move_page(bool leads) {
  asio::post(serving(), [this, leads] {
    close_pages();
    const Result<std::string> shown = leads ? open_page() : std::string{};
    if (!shown) log::warn("{}", shown.error().message);
    asio::post(home_, [this, url = shown ? *shown : ""] {
      place_.status_url = url;
      moved_();
    });
  });
}

void OwnCoordinator::close() {
  if (!server_) return;
  asio::post(serving(), [this] {
    close_pages();
    if (election_) election_->close();
    server_->close();
  });
}

void OwnCoordinator::stop() {
  const auto begun = Clock::now();
  home_.run_for(kLastWords);
  if (memory_) memory_->end_within(kMemoryEndTimeout);
  if (!thread_) return;
  const auto left = kLastWords - (Clock::now() - begun);
  thread_->end_within(std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left),
                               std::chrono::milliseconds{0}));
  home_.restart();
  home_.poll();  // to see what it has written to the log
}

/// Returns its address; "": none is wanted.
Result<std::string> OwnCoordinator::open_page() {
  if (!spec_.status_address) return std::string{};
  StatusPage page;
  page.jobs = [this] {
    std::vector<JobStatus> jobs = server_->status();
    for (JobStatus& job : jobs) job.title = spec_.title;
    return jobs;
  };
  page.log = log_;
  page.command = own_command_line();
  auto opened = open_status_page(home_, serving(), *spec_.status_address, spec_.secret.has_value(),
                                 std::move(page));
  if (!opened) return opened.error();
  pages_.push_back(std::move(opened->server));
  return std::move(opened->url);
}

void OwnCoordinator::close_pages() {
  for (const auto& page : pages_) page->close();
}

}  // namespace ddprun
