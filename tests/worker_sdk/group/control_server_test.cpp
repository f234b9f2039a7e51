#include "worker_sdk/group/control_server.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <torch/csrc/distributed/c10d/control_plane/Handlers.hpp>

#include "ddprun/worker_env.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

class Client {
 public:
  explicit Client(const std::string& path) : file_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = connect(file_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(file_); }
  bool connected() const { return connected_; }
  void send(const std::string& text) const {
    REQUIRE(::send(file_, text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  std::string all() const {
    std::string heard;
    char bytes[4096];
    for (ssize_t got; (got = read(file_, bytes, sizeof bytes)) > 0;)
      heard.append(bytes, static_cast<std::size_t>(got));
    return heard;
  }

 private:
  int file_;
  bool connected_ = false;
};

class ServerFixture {
 protected:
  std::string asked(const std::string& target) const {
    const Client client{socket_};
    REQUIRE(client.connected());
    client.send("POST " + target + " HTTP/1.1\r\nHost: worker\r\nContent-Length: 0\r\n\r\n");
    return client.all();
  }
  ScratchFolder folder_;
  std::string socket_ = folder_.path() / "0.0.1.sock";
};

TEST_CASE_METHOD(ServerFixture, "torch's handlers answer, without Python") {
  const ControlServer server{socket_};
  CHECK_THAT(asked("/handler/ping"), contains("HTTP/1.1 200 OK\r\n"));
  CHECK_THAT(asked("/handler/fr_trace_json"), contains("\"pg_status\""));
  CHECK_THAT(asked("/handler/wait_counter_values"), contains("HTTP/1.1 200"));
}

TEST_CASE_METHOD(ServerFixture, "a handler gets the parameters, and its errors are reported") {
  namespace control_plane = c10d::control_plane;
  control_plane::registerHandler(
      "test_echo", [](const control_plane::Request& request, control_plane::Response& response) {
        if (request.getParam("fail") == "yes") throw std::runtime_error{"it fails"};
        response.setContent("a is " + request.getParam("a") + ", b is " + request.getParam("b"),
                            "text/plain");
      });
  const ControlServer server{socket_};
  CHECK_THAT(asked("/handler/test_echo?a=1&b=two"), contains("\r\n\r\na is 1, b is two"));
  CHECK_THAT(asked("/handler/test_echo?fail=yes"), contains("HTTP/1.1 500"));
  CHECK_THAT(asked("/handler/test_echo?fail=yes"), contains("it fails"));
}

TEST_CASE_METHOD(ServerFixture, "what is no question gets an error, and the next one an answer") {
  const ControlServer server{socket_};
  CHECK_THAT(asked("/handler/no_such"), contains("HTTP/1.1 404"));
  CHECK_THAT(asked("/"), contains("HTTP/1.1 400"));
  const Client rude{socket_};
  rude.send("\r\n\r\n");
  CHECK_THAT(rude.all(), contains("HTTP/1.1 400"));
  { const Client gone{socket_}; }
  const Client endless{socket_};
  endless.send(std::string(8 * 1024, 'x'));
  CHECK(endless.all().empty());
  CHECK_THAT(asked("/handler/ping"), contains("200"));
}

TEST_CASE_METHOD(ServerFixture, "the agent names the socket, and no child finds the name") {
  setenv(env::kIntrospection, (folder_.path() / "3.1").c_str(), 1);
  socket_ = folder_.path() / ("3.1." + std::to_string(getpid()) + ".sock");
  const auto server = open_wanted_server();
  CHECK_THAT(asked("/handler/ping"), contains("200"));
  CHECK(environment_lookup(env::kIntrospection) == "");
  CHECK(open_wanted_server() == nullptr);
  unsetenv(env::kIntrospection);
  CHECK(open_wanted_server() == nullptr);
}

TEST_CASE_METHOD(ServerFixture, "the server ends at once, also while somebody says nothing") {
  std::optional<ControlServer> server{std::in_place, socket_};
  const Client silent{socket_};
  server.reset();
  CHECK(silent.all().empty());
  CHECK_FALSE(std::filesystem::exists(socket_));
  CHECK_FALSE(Client{socket_}.connected());
}

TEST_CASE_METHOD(ServerFixture, "a process that is forked off leaves the server alone") {
  std::optional<ControlServer> server{std::in_place, socket_};
  const pid_t child = fork();
  if (child == 0) {
    server.reset();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK_THAT(asked("/handler/ping"), contains("200"));
}

TEST_CASE_METHOD(ServerFixture, "a socket that cannot be made is an error, and nothing stays") {
  CHECK_THROWS_AS(ControlServer{folder_.path() / "no/folder.sock"}, std::system_error);
  CHECK_THROWS_AS(ControlServer{folder_.path() / std::string(120, 'x')}, std::length_error);
}

}  // namespace
}  // namespace ddprun::sdk
