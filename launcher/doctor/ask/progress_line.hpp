// A line on the terminal that says what is being done, for work that takes some seconds. It is gone
// with this object. Where standard error is no terminal, nothing is written.
#pragma once

#include <string>

namespace ddprun {

class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// Shows what is being done now, in a few words.
  void show(const std::string& what);

 private:
  void write(const std::string& text) const;

  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace ddprun
