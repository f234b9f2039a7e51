#include "base/system/sock_diag.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

namespace ddprun {

SocketQuestion tcp_question(std::uint8_t family, std::uint32_t number) {
  SocketQuestion question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.header.nlmsg_seq = number;
  question.socket.sdiag_family = family;
  question.socket.sdiag_protocol = IPPROTO_TCP;
  return question;
}

Descriptor open_sock_diag() {
  return Descriptor{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
}

}  // namespace ddprun
