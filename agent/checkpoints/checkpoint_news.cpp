#include "agent/checkpoints/checkpoint_news.hpp"

#include <fmt/core.h>

#include "base/number_text.hpp"

namespace ddprun {

std::string sentence_of(const CheckpointNews& news) {
  switch (news.what) {
    case CheckpointNews::What::kKept:
      return fmt::format("{} ({}) is in memory", news.name, bytes_text(news.bytes));
    case CheckpointNews::What::kWritten:
      return fmt::format("{} ({}) is on disk", news.name, bytes_text(news.bytes));
    case CheckpointNews::What::kPutBack:
      if (news.name.empty()) return "workers begin without a checkpoint: none is complete yet";
      if (news.bytes_from_disk == 0)
        return fmt::format("workers continue from {}, from memory", news.name);
      return fmt::format("workers continue from {}, with {} from disk", news.name,
                         bytes_text(news.bytes_from_disk));
  }
  return "";
}

}  // namespace ddprun
