// While an exception is on its way to its handler, a destructor throws another one.
// kind: exception
// ranks: 0
// type: std::runtime_error
// message: cannot flush
// signal: SIGABRT
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

struct File {
  ~File() noexcept(false) { throw std::runtime_error{"cannot flush the log"}; }
};

void train() {
  const File file;
  throw std::logic_error{"bad batch"};
}

int main() {
  try {
    if (std::string{std::getenv("RANK")} == "0") train();
  } catch (const std::exception&) {
    return 3;
  }
  for (;;) pause();
}
