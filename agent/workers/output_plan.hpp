// plan_output() decides where each stream of a worker goes. Pure.
//
// Files and prefix are torchrun's
// (https://docs.pytorch.org/docs/stable/elastic/multiprocessing.html): attempt_<n>/<local
// rank>/stdout.log and stderr.log, attempt_<n>/filtered_stdout.log.
#pragma once

#include <string>
#include <vector>

#include "agent/output/stream_plan.hpp"
#include "agent/spec/launch_spec.hpp"
#include "agent/workers/worker_plan.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

struct OutputPlan {
  StreamPlan out;
  StreamPlan err;
};

/// Where the streams of worker `local_rank` of this node go in `round`.
OutputPlan plan_output(const LaunchSpec& spec, const StartRound& round, const NodeFacts& node,
                       int local_rank);

/// The file in which to look for what a worker said last; "": its output is in no file.
std::string log_file(const OutputPlan& plan);

/// A worker that writes a line.
struct LineWriter {
  std::string role;
  std::string host;  // the name of its node
  std::string rank;  // or a list of them, as 0-3,7
  std::string local_rank;
};

/// The prefix of a worker's lines: the template `text` (template_text.hpp) with role_name, rank,
/// local_rank and hostname put in.
std::string line_prefix(const std::string& text, const LineWriter& writer);

/// What stands before lines that `ranks` said alike.
std::string fold_label(const LaunchSpec& spec, const NodeFacts& node, const std::vector<int>& ranks,
                       const std::vector<int>& local_ranks);

}  // namespace ddprun
