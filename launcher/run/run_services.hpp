// What a run offers to others on this machine: to programs of its user, and to its workers. The job
// runs without either, and a message says what is missing then.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>

#include "agent/control/trainer_endpoint.hpp"
#include "agent/control/worker_socket.hpp"
#include "agent/control_server.hpp"
#include "agent/introspection/watch_folder.hpp"
#include "agent/spec/launch_spec.hpp"
#include "agent/timers/timer_pipe.hpp"
#include "base/asio.hpp"
#include "base/environment.hpp"
#include "launcher/run/own_coordinator.hpp"
#include "launcher/run/service.hpp"
#include "live/jobs/job_folder.hpp"

namespace ddprun {

/// The folder in which `ddprun ls` and others find the job. It names the coordinator that there is
/// now. What the constructor is given must live longer.
class PublishedJob : public Service {
 public:
  PublishedJob(const asio::any_io_executor& executor, const LaunchSpec& spec,
               const EnvironmentLookup& environment, OwnCoordinator& coordinator)
      : executor_{executor}, spec_{spec}, environment_{environment}, coordinator_{coordinator} {}

  Result<void> prepare(NodeFacts& node) override;
  void start(Agent& agent) override;
  void stop() override;

  const std::optional<JobFolder>& folder() const { return folder_; }

 private:
  JobFacts facts() const;
  void update() const;

  asio::any_io_executor executor_;
  const LaunchSpec& spec_;
  const EnvironmentLookup& environment_;
  OwnCoordinator& coordinator_;
  const NodeFacts* node_ = nullptr;
  std::int64_t started_unix_ms_ = 0;
  std::optional<JobFolder> folder_;
  std::unique_ptr<ControlServer> control_;
};

/// The ways by which workers report to the agent, and hear of it. What the constructor is given
/// must live longer.
class WorkerServices : public Service {
 public:
  WorkerServices(const asio::any_io_executor& executor, const LaunchSpec& spec,
                 const EnvironmentLookup& environment, const PublishedJob& job)
      : spec_{spec},
        environment_{environment},
        job_{job},
        timers_{executor},
        trainings_{executor, spec.workers},
        staying_{executor, spec.workers} {}

  Result<void> prepare(NodeFacts& node) override;
  void stop() override;

  TimerPipe& timers() { return timers_; }
  TrainerEndpoint& trainings() { return trainings_; }
  WorkerSocket& staying() { return staying_; }
  /// Hands it over to the agent; nullopt: there is none.
  std::optional<WatchFolder> take_watch_folder() { return std::move(watch_folder_); }

 private:
  void make_watch_folder(NodeFacts& node);
  void make_timers(NodeFacts& node);
  void open_trainings(NodeFacts& node);
  void open_staying(NodeFacts& node);

  const LaunchSpec& spec_;
  const EnvironmentLookup& environment_;
  const PublishedJob& job_;
  std::optional<WatchFolder> watch_folder_;
  TimerPipe timers_;
  TrainerEndpoint trainings_;
  WorkerSocket staying_;  // in the watch folder
};

}  // namespace ddprun
