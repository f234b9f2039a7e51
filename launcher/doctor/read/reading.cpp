#include "launcher/doctor/read/reading.hpp"

#include <nlohmann/json.hpp>

#include "launcher/doctor/read/reading_fields.hpp"

namespace ddprun {

nlohmann::json to_json(const NodeReading& reading) { return fields::to_object(reading); }

std::string to_line(const NodeReading& reading) { return fields::to_text(reading); }

Result<NodeReading> parse_reading(std::string_view text) try {
  return fields::from_text<NodeReading>(text, "reading");
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"this is no reading of a node: "} + unfit.what());
}

}  // namespace ddprun
