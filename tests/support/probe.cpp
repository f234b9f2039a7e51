// ddprun_probe: a worker for tests. It does what its arguments say, one after the other, and tells
// what a process cannot be asked from outside.
//
//   facts             prints one line for each fact: "session own", "deathsig 9", "files 0 1 2"
//   words             prints its arguments and its environment, a line each
//   write FILE TEXT   writes TEXT to the open file of that number
//   copy              copies its input to its output until the input ends
//   child             forks a process of its group, which tells its signals and sleeps
//   orphan            forks a process with a session of its own, which sleeps; prints its pid
//   tell NAME         writes "NAME TERM" to file 3 on each SIGTERM, SIGUSR1 or SIGHUP from here on
//   say TEXT          prints a line
//   columns           prints the width of the terminal that its output is
//   trace PID         becomes the tracer of that process, whose end it will never ask for
//   folder PATH       goes there
//   core              allows itself a core file
//   raise SIGNAL      to itself
//   exit CODE
//   sleep             until it is killed
//
// It ends by itself after half a minute, so that a failed test leaves nothing behind.
#include <dirent.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

namespace {

constexpr unsigned kLifeSeconds = 30;
constexpr int kToldTo = 3;

void print(const std::string& text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(9);
}

[[noreturn]] void sleep_forever() {
  alarm(kLifeSeconds);
  for (;;) pause();
}

std::set<int> open_files() {
  std::set<int> files;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') files.insert(std::atoi(entry->d_name));
  files.erase(dirfd(folder));
  closedir(folder);
  return files;
}

/// "SigBlk", "SigIgn" of proc(5), as hexadecimal text.
std::string signals(const std::string& name) {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "unknown";
}

std::string cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) text += " " + std::to_string(cpu);
  return text;
}

void facts() {
  int death_signal = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  std::string numbers;
  for (const int file : open_files()) numbers += " " + std::to_string(file);
  print("session " + std::string{getsid(0) == getpid() ? "own" : "shared"} + "\ngroup " +
        (getpgrp() == getpid() ? "own" : "shared") + "\ndeathsig " + std::to_string(death_signal) +
        "\nblocked " + signals("SigBlk") + "\nignored " + signals("SigIgn") + "\nfiles" + numbers +
        "\nfile limit " + std::to_string(files.rlim_cur) + "\ncpus" + cpus() + "\n");
}

void words(char** arguments, char** environment) {
  std::string text;
  for (char** word = arguments; *word != nullptr; ++word) text += std::string{*word} + "\n";
  for (char** entry = environment; *entry != nullptr; ++entry) text += std::string{*entry} + "\n";
  print(text);
}

void copy() {
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = read(STDIN_FILENO, bytes.data(), bytes.size())) > 0;)
    print({bytes.data(), static_cast<std::size_t>(n)});
}

std::string told_as;

void on_signal(int number) {
  const char* name = number == SIGTERM ? " TERM\n" : number == SIGUSR1 ? " USR1\n" : " HUP\n";
  std::array<char, 64> line{};
  const std::size_t begin = std::min(told_as.size(), line.size() - std::strlen(name));
  std::memcpy(line.data(), told_as.data(), begin);
  std::memcpy(line.data() + begin, name, std::strlen(name));
  if (write(kToldTo, line.data(), begin + std::strlen(name)) < 0) _exit(9);
}

void tell_signals(const std::string& name) {
  told_as = name;
  for (const int number : {SIGTERM, SIGUSR1, SIGHUP}) std::signal(number, on_signal);
}

void fork_child() {
  if (fork() != 0) return;
  tell_signals("child");
  print("child " + std::to_string(getpid()) + "\n");
  sleep_forever();
}

void fork_orphan() {
  if (fork() != 0) return;
  setsid();
  print(std::to_string(getpid()) + "\n");
  sleep_forever();
}

void allow_core() {
  rlimit size{};
  getrlimit(RLIMIT_CORE, &size);
  size.rlim_cur = size.rlim_max;
  setrlimit(RLIMIT_CORE, &size);
}

void columns() {
  winsize size{};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  print(std::to_string(size.ws_col) + "\n");
}

void trace(const char* pid) {
  const bool traces = ptrace(PTRACE_SEIZE, std::atoi(pid), nullptr, nullptr) == 0;
  print(traces ? "traces\n" : "may not trace\n");
}

}  // namespace

int main(int, char** arguments, char** environment) {
  alarm(kLifeSeconds);
  for (char** word = arguments + 1; *word != nullptr; ++word) {
    const std::string_view step{*word};
    if (step == "facts")
      facts();
    else if (step == "words")
      return words(arguments, environment), 0;
    else if (step == "copy")
      copy();
    else if (step == "child")
      fork_child();
    else if (step == "orphan")
      fork_orphan();
    else if (step == "core")
      allow_core();
    else if (step == "columns")
      columns();
    else if (step == "sleep")
      sleep_forever();
    else if (word[1] == nullptr)
      return 64;  // NOLINT(bugprone-branch-clone): what follows needs a value
    else if (step == "tell")
      tell_signals(*++word);
    else if (step == "say")
      print(std::string{*++word} + "\n");
    else if (step == "trace")
      trace(*++word);
    else if (step == "folder") {
      if (chdir(*++word) != 0) return 65;
    } else if (step == "raise")
      raise(std::atoi(*++word));
    else if (step == "exit")
      return std::atoi(*++word);
    else if (step == "write" && word[2] != nullptr) {
      const int file = std::atoi(*++word);
      const std::string_view text{*++word};
      if (write(file, text.data(), text.size()) < 0) return 66;
    } else
      return 64;
  }
  return 0;
}
