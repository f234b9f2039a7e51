#include "agent/reports/report_json.hpp"

#include "base/numbers.hpp"
#include "rendezvous/verdict/crash.hpp"

namespace ddprun::report_json {

namespace {

Json frames_of(const std::string& stack) {
  Json frames = Json::array();
  for (const Frame& frame : parse_stack_text(stack)) {
    Json out{{"function", frame.function}};
    put(out, "file", frame.file);
    if (frame.line > 0) out["line"] = frame.line;
    frames.push_back(std::move(out));
  }
  return frames;
}

}  // namespace

void put(Json& out, const char* name, const std::string& text) {
  if (!text.empty()) out[name] = text;
}

void put_ranks(Json& out, const char* name, const std::string& list) {
  if (const std::vector<int> ranks = ranks_in(list); !ranks.empty()) out[name] = ranks;
}

Json of_stack(const std::string& ranks, const std::string& doing, const std::string& stack) {
  Json out;
  out["ranks"] = ranks_in(ranks);
  put(out, "doing", doing);
  out["frames"] = frames_of(stack);
  return out;
}

Json of_stacks(const std::vector<StackGroup>& groups) {
  Json out = Json::array();
  for (const StackGroup& group : groups)
    out.push_back(of_stack(group.ranks, group.doing, group.stack));
  return out;
}

Json of_exception(const Fault& fault) {
  Json out{{"type", fault.type}, {"message", fault.message}};
  put(out, "file", fault.file);
  if (fault.line > 0) out["line"] = fault.line;
  put(out, "function", fault.function);
  return out;
}

Json of_hang(const HangReport& hang) {
  Json out = Json::object();
  put(out, "sentence", hang.sentence);
  put(out, "operation", hang.operation);
  put(out, "group", hang.group);
  if (hang.sequence > 0) out["sequence"] = hang.sequence;
  out["missing_ranks"] = ranks_in(hang.missing_ranks);
  out["waiting_ranks"] = ranks_in(hang.waiting_ranks);
  if (hang.silent_ms > 0) out["silent_ms"] = hang.silent_ms;
  if (!hang.nccl.empty()) out["nccl"] = hang.nccl;
  return out;
}

}  // namespace ddprun::report_json
