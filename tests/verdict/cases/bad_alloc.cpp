// The limit of a rank's memory is reached in C++.
// kind: exception
// ranks: 1
// type: std::bad_alloc
// signal: SIGABRT
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

int main() {
  if (std::string{std::getenv("RANK")} != "1")
    for (;;) pause();
  const rlimit limit{256u << 20, 256u << 20};
  setrlimit(RLIMIT_AS, &limit);
  std::vector<std::string> batches;
  for (;;) batches.emplace_back(1 << 20, 'x');
}
