#include "launcher/commands/serve.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/output/console.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/process/file_limit.hpp"
#include "base/process/process_tree.hpp"
#include "base/system/accept.hpp"
#include "base/system/endpoint_text.hpp"
#include "base/system/left_behind.hpp"
#include "base/system/whole_file.hpp"
#include "launcher/commands/secret_folder.hpp"
#include "launcher/nodes/folder_memory.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/run/open_status_page.hpp"
#include "launcher/run/own_address.hpp"
#include "launcher/run/resolve.hpp"
#include "launcher/settings/values.hpp"
#include "rendezvous/service/server.hpp"
#include "rendezvous/store/store_server.hpp"
#include "rendezvous/transport/handshake_pool.hpp"

namespace ddprun {

namespace {

struct ListenOptions {
  std::string host;          // "": all addresses of this machine
  std::uint16_t port = 0;    // 0: any free one
  std::string port_file;     // where the port is written once it listens; "": nowhere
  std::string status_addr;   // where the status page is served; "": nowhere
  std::string secret_dir;    // where the jobs' secrets are; "": they have none
  std::string node_history;  // the folder of failures of nodes; "": they are forgotten at its end
};

/// A command that listens, with its own words for --help and its usual port.
struct Listener {
  std::string name;
  std::string about;
  std::string examples;
  std::uint16_t port;
  bool has_secrets = false;
};

using OptionalKey = std::optional<JobKey>;
/// A node that comes waits no longer for the disk of secrets, and no other node waits with it.
constexpr std::chrono::seconds kSecretTimeout{2};

/// Begins to listen at an address as the options say, and returns the port.
using BeginToListen =
    std::function<Result<std::uint16_t>(const asio::ip::address&, const ListenOptions&)>;

constexpr std::uint16_t kServerPort = 29'400;  // the default of torchrun's c10d rendezvous
constexpr std::uint16_t kStorePort = 29'500;   // MASTER_PORT by convention

/// "::" takes IPv4 too where the kernel knows IPv6.
asio::ip::address all_addresses(asio::io_context& io) {
  if (is_own_address(io, asio::ip::address_v6::any())) return asio::ip::address_v6::any();
  return asio::ip::address_v4::any();
}

/// Its folder may hang: until somebody has stopped the command, that is waited for.
class PortFile {
 public:
  explicit PortFile(std::string path) : path_{std::move(path)} {}

  Result<void> write(std::uint16_t port, const std::function<bool()>& is_stopped) {
    const auto written = std::make_shared<Result<void>>();
    const auto added = disk_.add([path = path_, port, written] {
      *written = write_whole(path, std::to_string(port) + "\n");
    });
    if (!added) return named(added.error());
    for (auto waited = kLook; !disk_.done_within(kLook); waited += kLook) {
      if (is_stopped()) return {};
      if (waited == kTellAfter) log::warn("--port-file: no answer from {}: {}", path_, kIsItThere);
    }
    return *written ? Result<void>{} : named(written->error());
  }

  void remove() {
    const auto added = disk_.add([path = path_] {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    });
    if (!added || !disk_.done_within(kRemoveTimeout))
      log::warn("--port-file: {} is left behind: its disk or its server gives no answer", path_);
  }

 private:
  static constexpr std::chrono::milliseconds kLook{50};
  static constexpr std::chrono::milliseconds kTellAfter{2'000};
  static constexpr std::chrono::seconds kRemoveTimeout{2};

  static Error named(const Error& error) { return {error.kind, "--port-file: " + error.message}; }

  std::string path_;
  LeftBehindQueue disk_{2};
};

/// Declares the options of a command that listens; the port is left in `port` as a text.
void declare(CommandOptions& command, const Listener& listener, ListenOptions& options,
             std::string& port) {
  command.option("--host", options.host, "HOST",
                 "address or name to listen at; not given: all addresses");
  command.option("--port", port, "PORT", "0: any free one");
  command.option("--port-file", options.port_file, "FILE", "write the port there once it listens");
  if (!listener.has_secrets) return;
  command.option("--secret-dir", options.secret_dir, "DIR",
                 "accept only jobs that have a secret in DIR, in a file named like the run id");
  command.option("--node-history", options.node_history, "DIR",
                 "keep in DIR which nodes cause failures; not given: until the server ends");
  command.option("--status-addr", options.status_addr, "[HOST:]PORT",
                 "show the jobs in a browser, and their numbers to Prometheus, there");
}

/// Listens, says `listening on HOST:PORT` and serves until SIGTERM, SIGINT or SIGHUP. Returns 0.
Result<int> serve_until_stopped(const ListenOptions& options, const CommandContext& context,
                                const BeginToListen& begin) {
  // Each agent or client takes a file, and a shell usually allows 1,024.
  if (const auto raised = raise_file_limit("ddprun", 0); !raised) return raised.error();
  auto address = options.host.empty() ? Result<asio::ip::address>{all_addresses(context.io)}
                                      : resolve(context.io, options.host);
  if (!address) return address.error();
  const auto port = begin(*address, options);
  if (!port)
    return Error{port.error().kind,
                 port.error().message + whose_port(context.io, *address, options.port, "")};
  // The first process of a container becomes the parent of all orphans there.
  asio::signal_set child_ends{context.io, SIGCHLD};
  const auto serving = std::make_shared<bool>(true);
  auto reaping = keep_reaping(child_ends, [serving] {
    reap_orphans({});
    return *serving;
  });
  start_coroutine(context.io, std::move(reaping), report_failure("reaping orphans"));
  asio::signal_set signals{context.io, SIGTERM, SIGINT, SIGHUP};
  bool stopped = false;
  signals.async_wait([&](boost::system::error_code, int signal) {
    log::info("{} received", strsignal(signal));
    stopped = true;
  });
  std::optional<PortFile> port_file;
  if (!options.port_file.empty()) port_file.emplace(options.port_file);
  context.io.restart();
  const auto is_stopped = [&] {
    context.io.poll();
    return stopped;
  };
  if (port_file)
    if (const auto written = port_file->write(*port, is_stopped); !written) return written.error();
  if (!stopped) context.out.write("listening on " + endpoint_text({*address, *port}) + "\n");
  context.io.restart();
  while (!stopped) context.io.run_one();
  *serving = false;
  if (port_file) port_file->remove();
  return 0;
}

/// Reads the words, and prints --help or serves.
Result<int> run(const Listener& listener, const std::vector<std::string>& words,
                const CommandContext& context, const BeginToListen& begin) {
  ListenOptions options;
  std::string port = std::to_string(listener.port);
  CommandOptions command{listener.about, "ddprun " + listener.name};
  command.examples(listener.examples);
  declare(command, listener, options, port);
  if (const auto done = command.parse(words, context.out)) return *done;
  const auto number = parse_integer({port, "--port"}, 0, kPortMax);
  if (!number) return number.error();
  options.port = static_cast<std::uint16_t>(*number);
  return serve_until_stopped(options, context, begin);
}

/// Shows the jobs in a browser where the options want it.
Result<std::unique_ptr<StatusServer>> show(Server& server, const ListenOptions& options,
                                           asio::io_context& io) {
  if (options.status_addr.empty()) return std::unique_ptr<StatusServer>{};
  const auto address = parse_status_address({options.status_addr, "--status-addr", true});
  if (!address) return address.error();
  StatusPage page;
  page.jobs = [&server] { return server.status(); };
  page.one_job = false;
  auto opened = open_status_page(io, io, *address, !options.secret_dir.empty(), std::move(page));
  if (!opened) return opened.error();
  return std::move(opened->server);
}

/// With a folder of secrets, lets in only jobs that have one there.
Result<void> lock(Server& server, const ListenOptions& options, const asio::ip::address& address) {
  if (options.secret_dir.empty()) {
    if (!address.is_loopback())
      log::warn(
          "there are no secrets (--secret-dir): anyone who reaches this server can join its jobs");
    return {};
  }
  auto folder = SecretFolder::open(options.secret_dir);
  if (!folder) return folder.error();
  const auto secrets = std::make_shared<SecretFolder>(std::move(*folder));
  const auto disk = std::make_shared<LeftBehindQueue>(1);
  auto tls = TlsContext::for_coordinator([secrets, disk](std::string_view identity) -> OptionalKey {
    const std::function<Result<OptionalKey>()> find = [secrets, name = std::string{identity}] {
      return Result<OptionalKey>{secrets->find(name, Clock::now())};
    };
    auto found = disk->answer_within<OptionalKey>(kSecretTimeout, find);
    if (found) return std::move(*found);
    log::warn("--secret-dir: a node is not let in: {}", found.error().message);
    return std::nullopt;
  });
  if (!tls) return tls.error();
  server.lock(std::move(*tls), handshake_threads(usable_cpus()));
  return {};
}

}  // namespace

Result<int> run_server(const std::vector<std::string>& words, const CommandContext& context) {
  const Listener listener{
      "server",
      "Hosts the rendezvous of any number of jobs, by their run id, and outlives them: their "
      "nodes name it with --rdzv-backend c10d --rdzv-endpoint HOST:PORT --rdzv-id ID.",
      "ddprun server --port 29400 --status-addr 8080\n"
      "ddprun server --secret-dir secrets   # on a network that others use, too",
      kServerPort, true};
  std::unique_ptr<Server> server;
  std::unique_ptr<StatusServer> page;
  std::shared_ptr<FolderMemory> memory;
  auto code = run(
      listener, words, context,
      [&](const asio::ip::address& address, const ListenOptions& options) -> Result<std::uint16_t> {
        auto listening = Server::listen(context.io.get_executor(), address, options.port,
                                        limits_for(file_limit()));
        if (!listening) return listening.error();
        server = std::move(*listening);
        if (const auto locked = lock(*server, options, address); !locked) return locked.error();
        auto shown = show(*server, options, context.io);
        if (!shown) return shown.error();
        page = std::move(*shown);
        if (!options.node_history.empty())
          memory = std::make_shared<FolderMemory>(context.io.get_executor(), options.node_history);
        server->remember_nodes_in(memory ? memory : memory_of_process());
        server->start();
        return server->port();
      });
  if (page) page->close();
  if (!server) return code;
  server->close();
  context.io.run_for(std::chrono::seconds{2});  // lets the last words to connected agents out
  if (memory) memory->end_within(kMemoryEndTimeout);
  context.io.restart();
  context.io.poll();  // logs what went wrong with that
  return code;
}

Result<int> run_store(const std::vector<std::string>& words, const CommandContext& context) {
  const Listener listener{"store",
                          "Serves the key-value store of torch.distributed, as torch's TCPStore "
                          "does. Every client that connects is served.",
                          "ddprun store --host 127.0.0.1 --port 29500", kStorePort};
  StoreServer store{context.io.get_executor()};
  asio::ip::tcp::acceptor acceptor{context.io};
  auto code = run(
      listener, words, context,
      [&](const asio::ip::address& address, const ListenOptions& options) -> Result<std::uint16_t> {
        auto listening = listen_on(context.io.get_executor(), {address, options.port});
        if (!listening) return listening.error();
        acceptor = std::move(*listening);
        auto clients = accept_all(
            acceptor, [&](asio::ip::tcp::socket socket) { store.adopt(std::move(socket)); });
        start_coroutine(context.io, std::move(clients), report_failure("the store"));
        return acceptor.local_endpoint().port();
      });
  acceptor.close();
  store.close();
  context.io.poll();  // lets what waits for clients end
  return code;
}

}  // namespace ddprun
