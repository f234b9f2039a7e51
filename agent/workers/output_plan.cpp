#include "agent/workers/output_plan.hpp"

#include <array>

#include "agent/spec/template_text.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

namespace {

StreamPlan plan_stream(const LaunchSpec& spec, bool terminal, bool redirected, bool teed,
                       int local_rank) {
  StreamPlan plan;
  const auto& shown = spec.logs.shown_ranks;
  plan.stamped = spec.logs.timestamps && (redirected || teed);
  plan.rotation = redirected || teed ? spec.logs.rotation : RotationRule{};
  plan.shown = (!redirected || teed) && (!shown || shown->contains(local_rank));
  plan.folded = spec.logs.fold && plan.shown;
  const bool as_ours = spec.pty == Pty::kAsOurs && terminal && plan.shown && !teed;
  plan.terminal = spec.pty == Pty::kAlways || as_ours;
  return plan;
}

}  // namespace

OutputPlan plan_output(const LaunchSpec& spec, const StartRound& round, const NodeFacts& node,
                       int local_rank) {
  const LogSpec& logs = spec.logs;
  const auto at = [&](const std::vector<Streams>& by_rank) {
    return logs.no_files || by_rank.empty() ? Streams{} : by_rank[local_rank];
  };
  const Streams redirected = at(logs.redirects);
  const Streams teed = at(logs.tee);
  OutputPlan plan{plan_stream(spec, node.terminals.out, redirected.out, teed.out, local_rank),
                  plan_stream(spec, node.terminals.err, redirected.err, teed.err, local_rank)};
  const auto directory = round_directory(node, round);
  const auto own_directory = directory / std::to_string(local_rank);
  if (redirected.out || teed.out) plan.out.file = own_directory / "stdout.log";
  if (redirected.err || teed.err) plan.err.file = own_directory / "stderr.log";
  const std::string prefix = line_prefix(
      logs.prefix_template, {spec.role, node.run.host, std::to_string(rank_of(round, local_rank)),
                             std::to_string(local_rank)});
  if (teed.out && plan.out.shown) {
    plan.out.prefix = prefix;
    plan.out.filters = logs.out_filters;
    plan.out.filtered_file = directory / "filtered_stdout.log";
  }
  if (teed.err && plan.err.shown) {
    plan.err.prefix = prefix;
    plan.err.filters = logs.err_filters;
    plan.err.filtered_file = directory / "filtered_stderr.log";
  }
  return plan;
}

std::string log_file(const OutputPlan& plan) {
  return (plan.err.file.empty() ? plan.out.file : plan.err.file).string();
}

std::string line_prefix(const std::string& text, const LineWriter& writer) {
  return substitute(
      text, std::array{TemplateValue{"role_name", writer.role}, TemplateValue{"rank", writer.rank},
                       TemplateValue{"local_rank", writer.local_rank},
                       TemplateValue{"hostname", writer.host}});
}

std::string fold_label(const LaunchSpec& spec, const NodeFacts& node, const std::vector<int>& ranks,
                       const std::vector<int>& local_ranks) {
  return line_prefix(spec.logs.fold_template, {spec.role, node.run.host, format_number_list(ranks),
                                               format_number_list(local_ranks)});
}

}  // namespace ddprun
