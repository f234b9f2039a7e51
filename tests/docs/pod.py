"""What a pod is to ddprun: a host name with a line in /etc/hosts, variables, and a network of its own."""

import os
import subprocess
import tempfile
from pathlib import Path

ENTER = 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'


class Pod:
    def __init__(self, name, domain="", variables=None):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        (self.path / "train.py").touch()
        line = f"10.244.1.7 {name}.{domain}.ml.svc.cluster.local {name}\n" if domain else f"10.244.1.7 {name}\n"
        (self.path / "hosts").write_text(line)
        self.name = name
        self.variables = {"PATH": os.environ["PATH"], **(variables or {})}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def words(self, words):
        """The command that runs them there."""
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", *as_root, "--uts", "--mount", "--net", "sh", "-c", ENTER, "sh",
                self.name, str(self.path / "hosts"), *words]

    def run(self, *words):
        return subprocess.run(self.words(words), cwd=self.path, env=self.variables, capture_output=True, text=True)

    def first_line(self, *words):
        """What a server says once it listens; it is then stopped."""
        with subprocess.Popen(self.words(words), cwd=self.path, env=self.variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            line = process.stdout.readline()
            process.terminate()
            return line, process.stderr.read()
