// Measurements as JSON, in both directions. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

nlohmann::json to_json(const NodeSpeeds& speeds);
nlohmann::json to_json(const LinkSpeed& speed);
nlohmann::json to_json(const Measurements& measurements);

/// Reads what to_json() has made. These throw fields::Unfit.
NodeSpeeds node_speeds_of(const nlohmann::json& from);
LinkSpeed link_speed_of(const nlohmann::json& from);

/// One line without a newline, for other processes of this node.
std::string to_line(const NodeSpeeds& speeds);
std::string to_line(const LinkSpeed& speed);

/// Reads such a line. Errors: kInvalid.
Result<NodeSpeeds> parse_node_speeds(std::string_view text);
Result<LinkSpeed> parse_link_speed(std::string_view text);

}  // namespace ddprun
