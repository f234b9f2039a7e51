// A sanitizer ends the program.
// kind: exception
// ranks: 2
// type: AddressSanitizer: heap-use-after-free
// flags: -g -fsanitize=address
#include <unistd.h>

#include <cstdlib>
#include <string>

int read_after(const int* values) {
  return values[1];  // HERE
}

int main() {
  if (std::string{std::getenv("RANK")} == "2") {
    int* values = new int[4]{1, 2, 3, 4};
    delete[] values;
    return read_after(values);
  }
  for (;;) pause();
}
