#include "launcher/doctor/check/checks.hpp"

#include <cerrno>

#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

Words sick_with(const std::string& name) { return complaints(check_node(recorded(name), true)); }

TEST_CASE("healthy machines have no complaints, alone and with others") {
  for (const char* name : {"healthy_dgx", "healthy_pod"})
    for (const bool alone : {true, false}) {
      INFO(name);
      CHECK(complaints(check_node(recorded(name), alone)) == Words{});
    }
  CHECK(sick_with("healthy_desktop") == Words{});
}

TEST_CASE("each GPU that is ill is found") {
  CHECK(sick_with("ecc_error") == Words{"failed gpu-memory"});
  CHECK(sick_with("spare_rows_used_up") == Words{"failed gpu-memory"});
  CHECK(sick_with("repair_pending") == Words{"warning gpu-memory"});
  CHECK(sick_with("throttled") == Words{"warning gpu-clocks"});
  CHECK(sick_with("gpu_taken") == Words{"warning gpu-users"});
  CHECK(sick_with("gpu_taken_from_container") == Words{"warning gpu-users"});
  CHECK(sick_with("persistence_off") == Words{"warning gpu-persistence"});
  CHECK(sick_with("nvlink_down") == Words{"failed nvlink"});
  CHECK(sick_with("fabric_down") == Words{"failed nvlink"});
  CHECK(sick_with("gpu_off_the_bus") == Words{"failed gpu-driver"});
  CHECK(sick_with("driver_updated") == Words{"failed gpu-driver"});
}

TEST_CASE("a driver that is too old for torch, and a torch without CUDA, are found") {
  CHECK(sick_with("driver_too_old") == Words{"failed cuda"});
  CHECK(sick_with("torch_without_cuda") == Words{"warning cuda"});
  const auto findings = check_node(recorded("driver_too_old"), true);
  CHECK(finding_on(findings, "cuda").seen ==
        "torch was built for CUDA 13.0, the driver 535.161.08 runs up to 12.2");
}

TEST_CASE("memory, shared memory and limits that are too small are found") {
  CHECK(sick_with("docker_defaults") == Words{"failed cgroup-memory", "warning shm"});
  CHECK(sick_with("shm_left_full") == Words{"warning memory", "failed shm"});
  CHECK(sick_with("small_limits") == Words{"failed open-files", "warning processes",
                                           "failed cgroup-tasks", "failed locked-memory"});
  CHECK(sick_with("one_cpu") == Words{"warning cpus"});
}

TEST_CASE("memory for checkpoints is compared with what the last one took") {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  NodeReading node{.memory = {.available_bytes = 100 * kGiB, .shm_free_bytes = 50 * kGiB}};
  const auto with_checkpoint = [&](std::int64_t bytes) {
    node.checkpoints = {"checkpoint-500", bytes, bytes + bytes / 4};
    return check_checkpoints(node);
  };
  CHECK(check_checkpoints(node).empty());  // a job without --checkpoints
  CHECK(with_checkpoint(8 * kGiB).front().seen ==
        "50 GiB of memory is free for checkpoints such as checkpoint-500 (8 GiB)");
  CHECK(complaints(with_checkpoint(8 * kGiB)) == Words{});
  CHECK(complaints(with_checkpoint(20 * kGiB)) == Words{"warning checkpoints-memory"});
  CHECK_THAT(with_checkpoint(20 * kGiB).front().why, contains("two are kept beside the one"));
  const auto none_fits = with_checkpoint(40 * kGiB);
  CHECK(complaints(none_fits) == Words{"warning checkpoints-memory"});
  CHECK_THAT(none_fits.front().seen, contains("a checkpoint needs 50 GiB of memory, and /dev/shm"));
  node.memory.cgroup_max_bytes = 12 * kGiB;
  node.memory.cgroup_used_bytes = 13 * kGiB;
  CHECK_THAT(with_checkpoint(8 * kGiB).front().seen, contains("group of this job has 0 B left"));
  node.memory.cgroup_max_bytes = kUnlimited;
  CHECK(complaints(with_checkpoint(8 * kGiB)) == Words{});
}

TEST_CASE("before the first checkpoint, as much has to be free as the job wants") {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  NodeReading node{.checkpoints = CheckpointsReading{.save_bytes = kGiB}};
  CHECK(check_checkpoints(node).empty());  // nobody knows what is free
  node.memory.shm_free_bytes = 2 * kGiB;
  CHECK(check_checkpoints(node).front().seen ==
        "2 GiB of memory is free for checkpoints, none is there yet");
  node.memory.shm_free_bytes = kGiB / 16;
  CHECK(complaints(check_node(node, true)) == Words{"warning checkpoints-memory"});
}

TEST_CASE("the soft limit of open files counts, because workers start with it") {
  NodeReading node = recorded("healthy_dgx");
  const auto with_limits = [&](std::int64_t soft, std::int64_t hard) {
    node.limits.open_files = soft;
    node.limits.open_files_hard = hard;
    return complaints(check_limits(node));
  };
  CHECK(with_limits(1024, 1024) == Words{});
  CHECK(with_limits(kUnlimited, kUnlimited) == Words{});
  CHECK(with_limits(1023, 20'000) == Words{"warning open-files"});
  CHECK(with_limits(512, 1'048'576) == Words{"warning open-files"});
  CHECK_THAT(finding_on(check_limits(node), "open-files").advice, contains("ulimit -n 65536 in"));
  CHECK(with_limits(511, kUnlimited) == Words{"failed open-files"});
  CHECK(with_limits(256, 20'000) == Words{"failed open-files"});
  const auto raisable = check_limits(node);
  CHECK(finding_on(raisable, "open-files").seen ==
        "256 open files for a process (it may raise that to 20000)");
  CHECK_THAT(finding_on(raisable, "open-files").advice, contains("ulimit -n 20000 in the shell"));
  CHECK(with_limits(256, 256) == Words{"failed open-files"});
  const auto fixed = check_limits(node);
  CHECK(finding_on(fixed, "open-files").seen == "256 open files for a process");
  CHECK_THAT(finding_on(fixed, "open-files").advice, contains("limits.conf and log in again"));
}

TEST_CASE("processes that take half of the CPUs are named, the busiest first") {
  NodeReading node = recorded("healthy_pod");
  const int cpus = node.cpus.usable.value();
  node.cpus.busy = {{4711, "python3", cpus * 0.3}, {12, "stress", cpus * 0.2}};
  CHECK(complaints(check_cpus(node)) == Words{"warning cpus-busy"});
  CHECK_THAT(finding_on(check_cpus(node), "cpus-busy").seen, contains(": python3 (pid 4711, "));
  node.cpus.busy.pop_back();
  CHECK(complaints(check_cpus(node)) == Words{});
}

TEST_CASE("limits that do not bind a process are no mistake") {
  NodeReading root = recorded("small_limits");
  root.limits.locks_all_memory = root.limits.may_exceed_processes = true;
  CHECK(complaints(check_limits(root)) == Words{"failed open-files", "failed cgroup-tasks"});
  NodeReading no_rdma = recorded("small_limits");
  no_rdma.infiniband.clear();
  CHECK(complaints(check_limits(no_rdma)) ==
        Words{"failed open-files", "warning processes", "failed cgroup-tasks"});
}

TEST_CASE("disks that are full, slow, out of files or silent are found") {
  CHECK(sick_with("sick_disks") ==
        Words{"failed disk", "warning logs-folder", "failed disk", "failed checkpoints-folder"});
}

TEST_CASE("what to do about a folder depends on what the system has said") {
  FolderReading folder{.role = "logs", .path = "/data/logs", .error = "no", .file_system = "ext4"};
  const auto advice_after = [&](std::optional<int> number) {
    folder.error_number = number;
    return finding_on(check_folders({.folders = {folder}}), "logs-folder").advice;
  };
  CHECK_THAT(advice_after(ENOSPC), contains("remove what is not needed"));
  CHECK_THAT(advice_after(EDQUOT), contains("ask for a higher quota"));
  CHECK_THAT(advice_after(EROFS), contains("mount -o remount,rw"));
  CHECK(advice_after(ENOTDIR) == "name a folder");
  CHECK_THAT(advice_after(EACCES), contains("give it to this user, or"));
  CHECK_THAT(advice_after(EIO), contains("make the folder"));
  CHECK_THAT(advice_after({}), contains("make the folder"));
}

TEST_CASE("a folder that is not there yet is named, because its name may be wrong") {
  FolderReading folder{.role = "logs", .path = "/data/lgos", .tried = "/data"};
  folder.write_ms = 3;
  CHECK(check_folders({.folders = {folder}}).front().seen ==
        "/data/lgos is not there yet; a small file in /data took 3 ms with fsync");
  folder.error = "no file can be made there: Read-only file system";
  CHECK(finding_on(check_folders({.folders = {folder}}), "logs-folder").seen ==
        "/data/lgos is not there yet; /data: no file can be made there: Read-only file system");
}

TEST_CASE("a dead name server is named, and whether another one answers") {
  const auto findings = check_node(recorded("dead_name_server"), false);
  CHECK(complaints(findings) ==
        Words{"failed own-name", "warning own-address", "warning name-server"});
  CHECK_THAT(finding_on(findings, "name-server").seen, contains("10.1.0.2 does not answer"));
  CHECK_THAT(finding_on(findings, "name-server").why, contains("another one"));
  CHECK(sick_with("dead_name_server").front() == "warning own-name");
}

TEST_CASE("where no name server answers, names that hang are its fault") {
  NodeReading node = recorded("healthy_dgx");
  node.names.own_name->ms.reset();
  node.names.own_address->ms.reset();
  CHECK(complaints(check_names(node, true)) == Words{"failed own-name", "warning own-address"});
  CHECK_THAT(finding_on(check_names(node, true), "own-name").advice, contains("add a line"));
  for (NameServerReading& server : node.names.servers) server.answer_ms.reset();
  const auto found = check_names(node, true);
  CHECK(complaints(found) == Words{"warning name-server", "warning name-server", "failed own-name",
                                   "warning own-address"});
  for (const char* subject : {"own-name", "own-address"})
    CHECK_THAT(finding_on(found, subject).advice, contains("mend the name server first"));
  CHECK_THAT(finding_on(found, "name-server").advice, contains("remove it from"));
  node.names.servers.pop_back();
  CHECK(finding_on(check_names(node, true), "name-server").advice ==
        "start it again, or name another one in /etc/resolv.conf");
}

TEST_CASE("a name that leads to loopback matters only to other nodes") {
  const NodeReading debian = recorded("healthy_desktop");
  CHECK(complaints(check_names(debian, true)) == Words{});
  CHECK(complaints(check_names(debian, false)) == Words{"warning own-name"});
}

TEST_CASE("a name that leads to an address of another machine is found, on one node too") {
  NodeReading node = recorded("healthy_dgx");
  node.names.own_name->answers = {"10.99.99.99"};
  CHECK(complaints(check_names(node, true)) == Words{"warning own-name"});
  const auto found = check_names(node, false);
  CHECK_THAT(finding_on(found, "own-name").seen,
             contains("is 10.99.99.99, in") && contains("and no interface of this node has that"));
  CHECK_THAT(finding_on(found, "own-name").why, contains("no other node reaches it"));
  node.names.own_name->answers.push_back(node.interfaces.back().addresses.front());
  CHECK(complaints(check_names(node, false)) == Words{});
}

TEST_CASE("a torch for CUDA where no GPU is seen is reported, as in a container without them") {
  NodeReading node = recorded("healthy_dgx");
  REQUIRE_FALSE(node.python->cuda.empty());
  node.gpus.reset();
  CHECK(complaints(check_python(node)) == Words{"warning cuda"});
  CHECK_THAT(finding_on(check_python(node), "cuda").advice, contains("--gpus all"));
  node.python->cuda.clear();
  CHECK(complaints(check_python(node)) == Words{});
}

TEST_CASE("what the script needs and is not there is found") {
  CHECK(sick_with("wrong_environment") == Words{"warning torch", "failed modules"});
  CHECK(sick_with("nothing_installed") == Words{"failed python", "failed script"});
  NodeReading no_script = recorded("nothing_installed");
  no_script.script.reset();
  CHECK(complaints(check_python(no_script)) == Words{"warning python"});
}

TEST_CASE("a program in place of a script calls for --no-python, and for no Python") {
  NodeReading node = recorded("nothing_installed");
  *node.script = {.path = "mine", .foreign = "a program, not a Python script", .sha256 = "12"};
  const Findings found = check_python(node);
  CHECK(complaints(found) == Words{"warning python", "warning script"});
  CHECK(finding_on(found, "script").seen == "mine is a program, not a Python script");
  CHECK(finding_on(found, "script").advice == "start the job with --no-python ./mine");
}

TEST_CASE("a module that is missing is missing from a Python, which is named") {
  NodeReading node = recorded("wrong_environment");
  const auto missing = [&] { return finding_on(check_python(node), "modules"); };
  CHECK(missing().seen ==
        "train.py imports torch and datasets, which /usr/bin/python3 does not find");
  CHECK_THAT(missing().advice,
             contains("install them for this Python (a package may have another"));
  node.script->missing_modules = {"cv2"};
  CHECK_THAT(missing().advice,
             contains("install it for this Python (its package may have another"));
}

TEST_CASE("a fabric without subnet manager, and variables that name no interface, are found") {
  CHECK(sick_with("no_subnet_manager") ==
        Words{"failed interfaces", "failed interfaces", "failed infiniband"});
  NodeReading node = recorded("healthy_dgx");
  const auto with_nccl = [&](const char* value) {
    node.nccl_interfaces = value;
    return complaints(check_network(node, false));
  };
  CHECK(with_nccl("eno") == Words{});
  CHECK(with_nccl("=eno1") == Words{});
  CHECK(with_nccl("^docker,lo") == Words{});
  CHECK(with_nccl("=eno") == Words{"failed interfaces"});
  CHECK(with_nccl("^eno,lo") == Words{"failed interfaces"});
}

TEST_CASE("ports that are all down are a warning where GPUs talk to other nodes") {
  NodeReading node = recorded("healthy_dgx");
  node.infiniband[0].state = "DOWN";
  CHECK(complaints(check_network(node, true)) == Words{});
  CHECK(complaints(check_network(node, false)) == Words{"warning infiniband"});
}

TEST_CASE("a node that tells nothing is not judged") {
  CHECK(complaints(check_node({.node = "mute"}, false)) == Words{});
}

TEST_CASE("each complaint says what was seen, why it matters and what to do") {
  for (const char* name : {"small_limits", "sick_disks", "dead_name_server", "nothing_installed",
                           "no_subnet_manager", "gpu_taken", "docker_defaults", "ecc_error"})
    for (const Finding& finding : check_node(recorded(name), false)) {
      INFO(name << ": " << finding.subject);
      CHECK(finding.node == recorded(name).node);
      CHECK_FALSE(finding.seen.empty());
      CHECK(finding.why.empty() == (finding.severity == Severity::kOk));
      CHECK(finding.advice.empty() == (finding.severity == Severity::kOk));
    }
}

}  // namespace
}  // namespace ddprun
