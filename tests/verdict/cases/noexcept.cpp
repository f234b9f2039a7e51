// An exception comes out of a function that may throw none. Its text has three lines.
// kind: exception
// ranks: 2
// type: std::invalid_argument
// message: cannot parse model.json
// signal: SIGABRT
// flags: -g -Wno-terminate
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

int layers(const std::string& text) noexcept {
  if (text.empty())
    throw std::invalid_argument{"cannot parse model.json:\nline 3: ',' expected\nline 4: no end"};
  return std::stoi(text);
}

int main() {
  try {
    if (std::string{std::getenv("RANK")} == "2") return layers("");
  } catch (const std::exception&) {
    return 3;
  }
  for (;;) pause();
}
