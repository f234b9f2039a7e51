// The driver's facts as lines, for a pipe between two processes of ddprun. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launcher/topology/driver_facts.hpp"

namespace ddprun {

inline constexpr std::size_t kDriverTextBytesMax = 1024 * 1024;

/// Lines of words:
///
///   gpu BUS_ID LINKS_TO_SWITCHES MODEL...
///   peer BUS_ID BUS_ID                      an NVLink of the first one to the second
///   way BUS_ID BUS_ID PIX
///   failed KIND TEXT...                     instead of all these
///   end                                     without which the answer is not whole
std::string to_text(const Result<DriverFacts>& facts);

/// Reads them. Errors: a failure that the text reports, and kUnavailable for a text that is not
/// whole: then its writer has crashed.
Result<DriverFacts> parse_driver_facts(std::string_view text);

}  // namespace ddprun
