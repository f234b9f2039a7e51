// The parts of JSON that the report of a job (--report-file) and a dump (`ddprun dump`) have in
// common. docs/report-file.md has the schema. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun::report_json {

using Json = nlohmann::ordered_json;

/// Adds a text, unless it is empty.
void put(Json& out, const char* name, const std::string& text);

/// Adds a list of ranks, "0,2-5", as numbers, unless it is empty.
void put_ranks(Json& out, const char* name, const std::string& list);

/// What workers do, with the frames of their stack as StackGroup has them.
Json of_stack(const std::string& ranks, const std::string& doing, const std::string& stack);

/// What each group of workers does: a list of these.
Json of_stacks(const std::vector<StackGroup>& groups);

/// What was raised, and where.
Json of_exception(const Fault& fault);

/// Tells who waits for whom, in what, and for how long; without the stacks.
Json of_hang(const HangReport& hang);

}  // namespace ddprun::report_json
