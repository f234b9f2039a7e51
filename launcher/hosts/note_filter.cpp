#include "launcher/hosts/note_filter.hpp"

namespace ddprun {

namespace {

/// Beyond this number old notes are forgotten, and are shown again when they come again.
constexpr std::size_t kNotesMax = 1000;

}  // namespace

bool NoteFilter::is_news(int host, const std::string& text) {
  if (notes_.size() >= kNotesMax && !notes_.contains(text)) notes_.clear();
  Note& note = notes_[text];
  if (++note.said[host] <= note.shown) return false;
  ++note.shown;
  return true;
}

}  // namespace ddprun
