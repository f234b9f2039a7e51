#include "launcher/run/run_services.hpp"

#include <unistd.h>

#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/system/fresh_names.hpp"
#include "launcher/run/run_folders.hpp"

namespace ddprun {

Result<void> PublishedJob::prepare(NodeFacts& node) {
  node_ = &node;
  auto made = JobFolder::make(environment_);
  if (made)
    folder_.emplace(std::move(*made));
  else
    log::info("`ddprun ls` does not find this job: {}", made.error().message);
  return {};
}

void PublishedJob::start(Agent& agent) {
  if (!folder_) return;
  coordinator_.when_moved([this] { update(); });
  started_unix_ms_ = unix_time_ms();
  auto acceptor = folder_->open(executor_, facts());
  if (acceptor)
    control_ = std::make_unique<ControlServer>(std::move(*acceptor), facts(), agent);
  else
    log::info("`ddprun ls` does not find this job: {}", acceptor.error().message);
}

void PublishedJob::stop() {
  if (control_) control_->close();
}

JobFacts PublishedJob::facts() const {
  const CoordinatorPlace& place = coordinator_.place();
  return {.run_id = node_->run.run_id,
          .title = spec_.title,
          .host = node_->run.host,
          .pid = ::getpid(),
          .started_unix_ms = started_unix_ms_,
          .workers = spec_.workers,
          .run_directory = node_->paths.run_directory.string(),
          .coordinator = place.coordinator,
          .coordinator_here = place.is_here,
          .status_url = place.status_url};
}

void PublishedJob::update() const {
  if (const auto told = folder_->tell(facts()); !told)
    log::info("`ddprun ls` names a coordinator of before: {}", told.error().message);
}

Result<void> WorkerServices::prepare(NodeFacts& node) {
  make_watch_folder(node);
  make_timers(node);
  open_trainings(node);
  open_staying(node);
  return {};
}

void WorkerServices::stop() {
  trainings_.close();
  timers_.close();
}

void WorkerServices::make_watch_folder(NodeFacts& node) {
  if (!spec_.introspection.on) return;
  auto made = WatchFolder::make(private_directory(environment_));
  if (!made) return log::info("no looks into workers: {}", made.error().message);
  watch_folder_.emplace(std::move(*made));
  node.paths.watch_folder = watch_folder_->path();
}

/// Workers set timers for themselves where the user wants them to, as with torchrun.
void WorkerServices::make_timers(NodeFacts& node) {
  if (environment_(kFileTimerVariable) != "1") return;
  const auto made =
      timers_.make(environment_(kTimerFileVariable).value_or(""), private_directory(environment_));
  if (!made) return log::warn("workers cannot set timers: {}", made.error().message);
  node.endpoints.timer_pipe = timers_.path();
}

/// Trainings of Hugging Face's Trainer tell how far they are, unless they tell it elsewhere.
void WorkerServices::open_trainings(NodeFacts& node) {
  const bool elsewhere = environment_(kTrainerUrlVariable) || environment_(kTrainerTokenVariable);
  if (!spec_.introspection.on || !job_.folder() || elsewhere) return;
  const std::string token = fresh_token();
  const auto file = job_.folder()->write("trainer_token", token);
  if (token.empty() || !file) return log::info("trainings cannot tell their steps here");
  if (const auto opened = trainings_.open(token); !opened)
    return log::info("trainings cannot tell their steps: {}", opened.error().message);
  node.endpoints.trainer_url = trainings_.url();
  node.endpoints.trainer_token = file->string();
}

/// Workers that can stay do so while members of the job change. Without it all are restarted.
void WorkerServices::open_staying(NodeFacts& node) {
  if (!spec_.in_place || !watch_folder_) return;
  if (const auto opened = staying_.open(watch_folder_->path()); !opened)
    return log::info("no worker can stay: {}", opened.error().message);
  node.endpoints.control = staying_.path();
}

}  // namespace ddprun
