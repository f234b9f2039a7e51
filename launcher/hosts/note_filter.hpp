// NoteFilter: what every node of a job says at once is shown once. Pure.
#pragma once

#include <map>
#include <string>

namespace ddprun {

class NoteFilter {
 public:
  /// Whether `text`, said by `host`, is to be shown: unless another host has said it before, as
  /// often as this one says it now.
  bool is_news(int host, const std::string& text);

 private:
  struct Note {
    int shown = 0;
    std::map<int, int> said;  // by host
  };
  std::map<std::string, Note> notes_;
};

}  // namespace ddprun
