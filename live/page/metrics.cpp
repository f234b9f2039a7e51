#include "live/page/metrics.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "base/text.hpp"

namespace ddprun {

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : plain_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// One metric with the samples of all jobs.
class Metric {
 public:
  Metric(std::string name, const std::string& help) : name_{std::move(name)} {
    text_ = fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name_, help, name_);
  }
  void add(const std::string& labels, double value) {
    text_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
    any_ = true;
  }
  std::string text() const { return any_ ? text_ : ""; }

 private:
  std::string name_;
  std::string text_;
  bool any_ = false;
};

std::string labels_of(const JobStatus& job) {
  return fmt::format("job_id=\"{}\"", escaped(job.run_id));
}

/// Hosts may have the same name.
std::string labels_of(const JobStatus& job, const NodeStatus& node, std::size_t number) {
  return fmt::format("{},node=\"{}\",host=\"{}\"", labels_of(job), number, escaped(node.host));
}

using OfJob = std::function<std::optional<double>(const JobStatus&)>;
using OfNode = std::function<std::optional<double>(const NodeStatus&)>;
using OfLoad = std::function<std::optional<double>(const NodeLoad&)>;
using OfKept = std::function<std::optional<double>(const KeptCheckpoints&)>;
using OfRank = std::function<std::optional<double>(const RankStatus&)>;

std::string of_jobs(const std::vector<JobStatus>& jobs, const std::string& name,
                    const std::string& help, const OfJob& value_of) {
  Metric metric{name, help};
  for (const JobStatus& job : jobs)
    if (const auto value = value_of(job)) metric.add(labels_of(job), *value);
  return metric.text();
}

std::string of_ranks(const std::vector<JobStatus>& jobs, const std::string& name,
                     const std::string& help, const OfRank& value_of) {
  Metric metric{name, help};
  for (const JobStatus& job : jobs)
    for (const RankStatus& rank : job.ranks)
      if (const auto value = value_of(rank))
        metric.add(fmt::format("{},rank=\"{}\"", labels_of(job), rank.rank), *value);
  return metric.text();
}

std::optional<double> number(bool known, double value) {
  return known ? std::optional{value} : std::nullopt;
}
std::optional<double> number(bool known, std::int64_t value) {
  return number(known, static_cast<double>(value));
}

/// One sample for each state, of which the one that holds is 1.
std::string states(const std::vector<JobStatus>& jobs) {
  Metric metric{"ddprun_job_state", "Whether the job is in this state."};
  using State = JobStatus::State;
  for (const JobStatus& job : jobs)
    for (const State state : {State::kGathering, State::kRunning, State::kStopping, State::kEnded})
      metric.add(fmt::format("{},state=\"{}\"", labels_of(job), name_of(state)),
                 job.state == state ? 1 : 0);
  return metric.text();
}

std::string nodes(const std::vector<JobStatus>& jobs) {
  Metric metric{"ddprun_node_silent_seconds",
                "Time since the node was heard or, with state lost, since it was lost."};
  for (const JobStatus& job : jobs)
    for (std::size_t i = 0; i < job.nodes.size(); ++i)  // hosts may have the same name
      metric.add(fmt::format("{},node=\"{}\",host=\"{}\",state=\"{}\"", labels_of(job), i,
                             escaped(job.nodes[i].host), name_of(job.nodes[i].state)),
                 static_cast<double>(job.nodes[i].silent_ms) / 1000);
  return metric.text();
}

std::string of_nodes(const std::vector<JobStatus>& jobs, const std::string& name,
                     const std::string& help, const OfNode& value_of) {
  Metric metric{name, help};
  for (const JobStatus& job : jobs)
    for (std::size_t i = 0; i < job.nodes.size(); ++i)
      if (const auto value = value_of(job.nodes[i]))
        metric.add(labels_of(job, job.nodes[i], i), *value);
  return metric.text();
}

std::string machines(const std::vector<JobStatus>& jobs) {
  std::string text;
  const auto load = [&](const char* name, const char* help, const OfLoad& value) {
    text += of_nodes(jobs, name, help, [&](const NodeStatus& node) {
      return node.load ? value(*node.load) : std::nullopt;
    });
  };
  load("ddprun_node_cpu_ratio", "How much of the node's CPUs is used.", [](const NodeLoad& s) {
    return number(s.cpu_percent >= 0, static_cast<double>(s.cpu_percent) / 100);
  });
  load("ddprun_node_memory_used_bytes", "Memory in use on the node.",
       [](const NodeLoad& s) { return number(s.memory_used_bytes >= 0, s.memory_used_bytes); });
  load("ddprun_node_memory_bytes", "Memory that the node has, or its cgroup allows.",
       [](const NodeLoad& s) { return number(s.memory_bytes >= 0, s.memory_bytes); });
  load("ddprun_node_gpu_ratio", "How much of the time the node's GPUs compute, as a mean.",
       [](const NodeLoad& s) {
         return number(s.gpu_percent >= 0, static_cast<double>(s.gpu_percent) / 100);
       });
  load("ddprun_node_gpu_memory_used_bytes", "Memory in use on all GPUs of the node.",
       [](const NodeLoad& s) {
         return number(s.gpu_memory_used_bytes >= 0, s.gpu_memory_used_bytes);
       });
  load("ddprun_node_gpu_memory_bytes", "Memory that all GPUs of the node have.",
       [](const NodeLoad& s) { return number(s.gpu_memory_bytes >= 0, s.gpu_memory_bytes); });
  return text;
}

/// What nodes keep of checkpoints.
std::string kept(const std::vector<JobStatus>& jobs) {
  std::string text;
  const auto add = [&](const char* name, const char* help, const OfKept& value) {
    text += of_nodes(jobs, name, help, [&](const NodeStatus& node) {
      return node.checkpoints ? value(*node.checkpoints) : std::nullopt;
    });
  };
  add("ddprun_checkpoint_bytes", "What the newest checkpoint in memory has changed.",
      [](const KeptCheckpoints& k) { return number(!k.newest.empty(), k.bytes); });
  add("ddprun_checkpoint_age_seconds", "Time since the newest checkpoint was kept.",
      [](const KeptCheckpoints& k) {
        return number(!k.newest.empty(), static_cast<double>(k.age_ms) / 1000);
      });
  add("ddprun_checkpoint_written_bytes", "What the newest checkpoint on disk has changed.",
      [](const KeptCheckpoints& k) { return number(k.written_bytes >= 0, k.written_bytes); });
  add("ddprun_checkpoint_written_age_seconds",
      "Time since the newest checkpoint on disk was kept: what a lost node costs.",
      [](const KeptCheckpoints& k) {
        return number(k.written_age_ms >= 0, static_cast<double>(k.written_age_ms) / 1000);
      });
  add("ddprun_checkpoints_put_back", "Rounds of the node that began with a checkpoint.",
      [](const KeptCheckpoints& k) { return number(k.put_back >= 0, std::int64_t{k.put_back}); });
  return text;
}

}  // namespace

std::string metrics_text(const std::vector<JobStatus>& jobs) {
  std::string text = states(jobs);
  const auto job = [&](const char* name, const char* help, const OfJob& value) {
    text += of_jobs(jobs, name, help, value);
  };
  const auto rank = [&](const char* name, const char* help, const OfRank& value) {
    text += of_ranks(jobs, name, help, value);
  };
  job("ddprun_round", "The number of the last round.",
      [](const JobStatus& s) { return number(true, std::int64_t{s.round}); });
  job("ddprun_attempt", "Restarts after failures so far.",
      [](const JobStatus& s) { return number(true, std::int64_t{s.attempt}); });
  job("ddprun_restarts_left", "Restarts after failures that are left.",
      [](const JobStatus& s) { return number(true, std::int64_t{s.restarts_left}); });
  job("ddprun_hanging", "Whether the job hangs.",
      [](const JobStatus& s) { return number(true, s.hang ? 1.0 : 0.0); });
  job("ddprun_ranks_debugged", "Ranks with a debugger, or that wait for one.",
      [](const JobStatus& s) { return number(true, std::ssize(s.summary.debugged)); });
  job("ddprun_step", "The last step that all ranks have done.",
      [](const JobStatus& s) { return number(s.summary.step >= 0, s.summary.step); });
  job("ddprun_steps", "Steps of the whole training.",
      [](const JobStatus& s) { return number(s.summary.steps > 0, s.summary.steps); });
  job("ddprun_progress_ratio", "How much of the training is done.",
      [](const JobStatus& s) { return number(s.summary.percent >= 0, s.summary.percent / 100); });
  job("ddprun_left_seconds", "Time until the training ends, as far as is known.",
      [](const JobStatus& s) { return number(s.summary.left_s >= 0, s.summary.left_s); });
  job("ddprun_loss", "The mean loss of the ranks that tell it.",
      [](const JobStatus& s) { return number(s.summary.has_loss, s.summary.loss); });
  job("ddprun_samples_per_second", "Samples in a second, of all ranks.", [](const JobStatus& s) {
    return number(s.summary.samples_per_second > 0, s.summary.samples_per_second);
  });
  text += nodes(jobs) + machines(jobs) + kept(jobs);
  rank("ddprun_rank_step", "The last step that the rank has done.",
       [](const RankStatus& s) { return number(s.step >= 0, s.step); });
  rank("ddprun_rank_collectives", "Collectives that the rank has done in the default group.",
       [](const RankStatus& s) { return number(s.collectives >= 0, s.collectives); });
  rank("ddprun_rank_lag", "Steps, else collectives, behind the fastest rank.",
       [](const RankStatus& s) { return number(true, s.lag); });
  rank("ddprun_rank_late_ratio", "Part of the time in which the other ranks wait for this one.",
       [](const RankStatus& s) { return number(s.late_percent >= 0, s.late_percent / 100); });
  rank("ddprun_rank_still_seconds", "Time without progress.",
       [](const RankStatus& s) { return number(true, static_cast<double>(s.still_ms) / 1000); });
  return text + "# EOF\n";
}

}  // namespace ddprun
