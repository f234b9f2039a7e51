// A worker for scripts/bench that says when it runs: the time of CLOCK_MONOTONIC in seconds, in its
// first instruction or as good as that (it is linked statically).
//
//   stamp           prints the time and ends
//   stamp restart   in the first attempt rank 0 prints the time and kills itself while the others
//                   wait; in later ones everybody prints the time and ends

#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void print_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%lld.%09ld\n",
                                 static_cast<long long>(now.tv_sec), now.tv_nsec);
  if (write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) std::_Exit(1);
}

bool is(const char* variable, const char* value) {
  const char* found = std::getenv(variable);
  return found != nullptr && std::strcmp(found, value) == 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc == 1 || !is("TORCHELASTIC_RESTART_COUNT", "0")) {
    print_time();
    return 0;
  }
  if (!is("RANK", "0")) {
    for (;;) pause();
  }
  usleep(200'000);  // until the others wait, too: what is measured begins with the next line
  print_time();
  std::raise(SIGKILL);
}
