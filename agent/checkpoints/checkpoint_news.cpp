#include "agent/checkpoints/checkpoint_news.hpp"

#include <fmt/core.h>

#include "base/number_text.hpp"

namespace ddprun {

std::string origin_of(const std::string& name, std::int64_t bytes_from_disk,
                      const std::string& failing) {
  const std::string why =
      failing.empty() ? "" : " (" + failing + " failed alike each time that it was loaded)";
  if (bytes_from_disk == 0) return name + ", from memory" + why;
  return fmt::format("{}, with {} from disk{}", name, bytes_text(bytes_from_disk), why);
}

std::string sentence_of(const CheckpointNews& news) {
  switch (news.what) {
    case CheckpointNews::What::kKept:
      return fmt::format("{} ({}) is in memory", news.name, bytes_text(news.bytes));
    case CheckpointNews::What::kWritten:
      return fmt::format("{} ({}) is on disk", news.name, bytes_text(news.bytes));
    case CheckpointNews::What::kPutBack:
      if (news.name.empty()) return "workers begin without a checkpoint: none is complete yet";
      return "workers continue from " + origin_of(news.name, news.bytes_from_disk, news.failing);
  }
  return "";
}

}  // namespace ddprun
