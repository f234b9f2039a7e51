#include "launcher/doctor/read/name_probe.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <memory>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using boost::asio::ip::make_address;
using boost::asio::ip::udp;

constexpr std::size_t kNameServersMax = 8;  // the resolver of glibc takes 3
constexpr auto kServerTimeout = 1s;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// "Which address has localhost?" (RFC 1035). Each server knows that without asking another one.
constexpr std::array<unsigned char, 27> kQuestion = {
    0x64, 0x64, 0x01, 0x00, 0,   1,   0,   0,   0,   0,   0, 0,  // id, recursion, one question
    9,    'l',  'o',  'c',  'a', 'l', 'h', 'o', 's', 't', 0,     // the name
    0,    1,    0,    1};                                        // A, IN

/// Sends the question, and returns the socket; a closed one if it cannot be sent.
Descriptor send_question(const std::string& server) {
  boost::system::error_code error;
  const udp::endpoint endpoint{make_address(server, error), 53};
  if (error) return Descriptor{};
  Descriptor socket{
      ::socket(endpoint.protocol().family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket.is_open() ||
      ::connect(socket.number(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 ||
      ::send(socket.number(), kQuestion.data(), kQuestion.size(), 0) < 0)
    return Descriptor{};
  return socket;
}

/// Whether an answer has come, and not an error because no process listens there.
bool has_answer(const Descriptor& socket) {
  std::array<char, 512> answer{};
  return ::recv(socket.number(), answer.data(), answer.size(), 0) > 0;
}

}  // namespace

std::string numeric_address(const sockaddr& address) {
  const socklen_t size = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  const int code =
      ::getnameinfo(&address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? text.data() : "";
}

LookupReading look_up_name(const std::string& name) {
  LookupReading reading{.question = name};
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const TimePoint begin = Clock::now();
  const int code = ::getaddrinfo(name.c_str(), nullptr, &wanted, &list);
  reading.ms = ms_since(begin);
  const std::unique_ptr<addrinfo, FreeAddresses> owned{list};
  if (code != 0) reading.error = ::gai_strerror(code);
  for (const addrinfo* each = list; code == 0 && each != nullptr; each = each->ai_next) {
    if (std::string text = numeric_address(*each->ai_addr); !text.empty())
      reading.answers.push_back(std::move(text));
  }
  return reading;
}

LookupReading look_up_address(const std::string& address) {
  LookupReading reading{.question = address};
  boost::system::error_code error;
  const udp::endpoint endpoint{make_address(address, error), 0};
  std::array<char, NI_MAXHOST> text{};
  const TimePoint begin = Clock::now();
  const int code = ::getnameinfo(endpoint.data(), static_cast<socklen_t>(endpoint.size()),
                                 text.data(), text.size(), nullptr, 0, NI_NAMEREQD);
  reading.ms = ms_since(begin);
  if (code == 0)
    reading.answers.emplace_back(text.data());
  else
    reading.error = ::gai_strerror(code);
  return reading;
}

std::vector<std::string> name_servers_in(const std::string& text) {
  std::vector<std::string> servers;
  for (const std::string& line : split_lines(text)) {
    std::istringstream words{line};
    std::string first, address;
    if (words >> first >> address && first == "nameserver" && servers.size() < kNameServersMax)
      servers.push_back(address);
  }
  return servers;
}

std::vector<NameServerReading> ask_name_servers(const std::vector<std::string>& addresses) {
  const TimePoint begin = Clock::now();
  std::vector<NameServerReading> readings;
  std::vector<Descriptor> sockets;
  std::vector<pollfd> waiting;  // those that are closed or have answered are -1, which poll skips
  for (const std::string& address : addresses) {
    readings.push_back({.address = address, .answer_ms = {}});
    sockets.push_back(send_question(address));
    waiting.push_back({.fd = sockets.back().number(), .events = POLLIN, .revents = 0});
  }
  const auto open = [](const pollfd& entry) { return entry.fd >= 0; };
  while (std::ranges::any_of(waiting, open)) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(begin + kServerTimeout - Clock::now());
    if (left <= 0ms) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      if (has_answer(sockets[i])) readings[i].answer_ms = ms_since(begin);
      waiting[i].fd = -1;
    }
  }
  return readings;
}

}  // namespace ddprun
