#include "agent/checkpoints/save_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"

namespace ddprun {

namespace {

/// The first file by which one sees that a save has not ended; "": there is none.
std::string unfinished_in(const FolderLooked& seen) {
  for (const std::string& path : seen.open)
    if (!is_log(path)) return path;
  const auto found = std::ranges::find_if(seen.state, [](const FileFacts& file) {
    return !is_left_out(file) && is_unfinished(file.path);
  });
  return found == seen.state.end() ? "" : found->path;
}

}  // namespace

SaveWatch::Wants SaveWatch::step(const SaveEvent& event, const Snapshot& kept, TimePoint now) {
  return match(
      event,  //
      [&](const FolderTouched&) {
        touched_ = now;
        look_at_ = now + kStillFor;
        return Wants::kNothing;
      },
      [&](const FolderLooked& seen) { return looked(seen, kept, now); },
      [&](const SnapshotKept& end) {
        doing_ = Doing::kNothing;
        if (!end.kept && !look_at_) look_at_ = now + kStillFor;
        return Wants::kNothing;
      });
}

SaveWatch::Wants SaveWatch::looked(const FolderLooked& seen, const Snapshot& kept, TimePoint now) {
  doing_ = Doing::kNothing;
  if (look_at_) return Wants::kNothing;  // something has happened since
  std::string obstacle = unfinished_in(seen);
  if (obstacle != in_the_way_) {
    in_the_way_ = obstacle;
    in_the_way_since_ = now;
    told_ = false;
  }
  if (!obstacle.empty()) {
    look_at_ = now + kStillFor;  // a file may be closed without a sign
    return Wants::kNothing;
  }
  if (has_same_files(seen.state, kept)) return Wants::kNothing;
  if (now < touched_ + kStillForLonger && !folder_with_less(seen.state, kept).empty()) {
    look_at_ = touched_ + kStillForLonger;
    return Wants::kNothing;
  }
  doing_ = Doing::kKeeping;
  return Wants::kKeep;
}

SaveWatch::Wants SaveWatch::look_due(TimePoint now) {
  const auto due = next_look();
  if (!due || now < *due) return Wants::kNothing;
  doing_ = Doing::kLooking;
  look_at_.reset();
  return Wants::kLook;
}

bool SaveWatch::is_still(const FolderLooked& seen) const {
  return !look_at_ && unfinished_in(seen).empty();
}

std::optional<TimePoint> SaveWatch::next_look() const {
  return doing_ == Doing::kNothing ? look_at_ : std::nullopt;
}

std::string SaveWatch::told_open(TimePoint now) {
  if (in_the_way_.empty() || told_ || now < *in_the_way_since_ + kTellOpenAfter) return "";
  told_ = true;
  return in_the_way_;
}

}  // namespace ddprun
