#include "agent/checkpoints/part_request.hpp"

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"

namespace ddprun {

namespace fields {

// clang-format off
template <> inline constexpr auto kFields<PartRequest> = table(
    text<&PartRequest::ticket>("ticket", TextLimit{kPartTicketBytesMax}),
    field<&PartRequest::number>("number"), field<&PartRequest::part>("part"),
    field<&PartRequest::parts>("parts"),
    text<&PartRequest::file>("file", TextLimit{4096}));  // PATH_MAX
template <> inline constexpr auto kFields<PartAnswer> = table(
    field<&PartAnswer::bytes>("bytes"), text<&PartAnswer::error>("error", TextLimit{512}));
// clang-format on

static_assert(longest(kFields<PartRequest>.fields) < kPartLineBytesMax);
static_assert(longest(kFields<PartAnswer>.fields) < kPartLineBytesMax);

}  // namespace fields

namespace {

template <typename T>
Result<T> read(std::string_view line, std::string_view what) try {
  return fields::from_text<T>(line, what);
} catch (const fields::Unfit& unfit) {
  return invalid(unfit.what());
}

}  // namespace

std::string to_line(const PartRequest& request) {
  return fields::to_text(request, JsonStyle::kLine) + "\n";
}

std::string to_line(const PartAnswer& answer) {
  return fields::to_text(answer, JsonStyle::kLine) + "\n";
}

Result<PartRequest> read_part_request(std::string_view line) {
  return read<PartRequest>(line, "a request for a part");
}

Result<PartAnswer> read_part_answer(std::string_view line) {
  return read<PartAnswer>(line, "an answer to it");
}

}  // namespace ddprun
