// NoteFilter lets a message that every node of a job writes be shown once. Pure.
#pragma once

#include <map>
#include <string>

namespace ddprun {

class NoteFilter {
 public:
  /// Whether `text`, which `host` says now, is to be shown. It is not when another host has already
  /// said it as often as this one.
  bool is_news(int host, const std::string& text);

 private:
  struct Note {
    int shown = 0;
    std::map<int, int> said;  // how often, by host
  };
  std::map<std::string, Note> notes_;
};

}  // namespace ddprun
