"""Several hosts on this machine: network namespaces with a name and an address of their own, on a bridge
in one more. Nothing of them shows outside, and they end with this process. Files and process ids are the
machine's."""

import ctypes
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

TOOLS = ("ip", "nsenter", "unshare")
PR_SET_PDEATHSIG = 1


def why_no_hosts():
    """Why they cannot be made here; "" when they can."""
    if os.geteuid() != 0:
        return "only root can make hosts of network namespaces"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"there is no {missing[0]} (Debian: iproute2, util-linux)"
    trial = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True,
                           text=True)
    return trial.stderr.strip()


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Hosts:
    """h1, h2, ... with the addresses 10.77.0.1, 2, ..."""

    def __init__(self, count, folder):
        self.names = [f"h{i}" for i in range(1, count + 1)]
        self._etc_hosts = Path(folder) / "etc_hosts"
        self._etc_hosts.write_text("127.0.0.1 localhost\n" + "".join(
            f"10.77.0.{i} {name}\n" for i, name in enumerate(self.names, 1)))
        self._keepers = {}

    def __enter__(self):
        self._keep("hub")
        self._on("hub", "ip", "link", "add", "bridge", "up", "type", "bridge")
        for i, name in enumerate(self.names, 1):
            self._keep(name)
            self._on("hub", "ip", "link", "add", name, "up", "master", "bridge", "type", "veth",
                     "peer", "name", "eth0", "netns", str(self._keepers[name].pid))
            self._on(name, "ip", "link", "set", "lo", "up")
            self._on(name, "ip", "address", "add", f"10.77.0.{i}/24", "dev", "eth0")
            self._on(name, "ip", "link", "set", "eth0", "up")
        return self

    def __exit__(self, *_):
        self.clear()
        for keeper in self._keepers.values():
            keeper.kill()
            keeper.wait()

    def _keep(self, name):
        """A process whose namespaces are the host's."""
        script = ('echo "$1" >/proc/sys/kernel/hostname; mount --bind "$2" /etc/hosts; echo kept;'
                  " exec sleep infinity")
        keeper = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "sh", "-c", script, "sh", name,
             str(self._etc_hosts)], stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        assert keeper.stdout.readline(), f"no namespaces for {name}"
        self._keepers[name] = keeper

    def _enter(self, name, command):
        return ["nsenter", "--target", str(self._keepers[name].pid), "--net", "--uts", "--mount",
                "--", *command]

    def _on(self, name, *command):
        subprocess.run(self._enter(name, command), check=True)

    def start(self, name, command, log=subprocess.DEVNULL):
        """The process itself: nsenter becomes the command."""
        return subprocess.Popen(self._enter(name, command), stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, cwd=self._etc_hosts.parent, preexec_fn=die_with_parent)

    def _namespace(self, process):
        with suppress(OSError):
            return os.stat(f"/proc/{process}/ns/net").st_ino
        return None

    def processes(self, name):
        keeper = self._keepers[name].pid
        namespace = self._namespace(keeper)
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()
                and int(entry) != keeper and self._namespace(entry) == namespace]

    def signal_all(self, name, number):
        for process in self.processes(name):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def freeze(self, name):
        self.signal_all(name, signal.SIGSTOP)

    def cut_off(self, name):
        """Whatever it sends or is sent vanishes."""
        self._on("hub", "ip", "link", "set", name, "nomaster")

    def heal(self, name):
        self._on("hub", "ip", "link", "set", name, "master", "bridge")

    def clear(self):
        """Ends all that runs on the hosts; what is just being started is found the next time."""
        for name in self._keepers:
            while any(Path(f"/proc/{process}/exe").exists() for process in self.processes(name)):
                self.signal_all(name, signal.SIGKILL)
