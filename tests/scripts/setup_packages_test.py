"""scripts/setup-packages on systems that are not this one: programs of its name answer as their managers would."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
# What the script runs beside the managers, of which this machine may have its own.
TOOLS = ("bash", "dirname", "basename", "awk", "sed", "sort", "tail", "id", "cat", "sh", "env", "grep", "cut")

APT_CACHE = """#!/bin/sh
case $1 in
  pkgnames) cut -d ' ' -f 1 {archive} | grep "^$2" ;;
  policy) echo "$2:"; sed -n "s/^$2 \\(.*\\)/  Candidate: \\1/p" {archive} ;;
esac
"""
DPKG_QUERY = """#!/bin/sh
for pattern; do :; done
while read -r name version; do
  case $name in $pattern) echo "install ok installed $name $version" ;; esac
done <{installed}
"""
WRITES_DOWN = """#!/bin/sh
echo "{name} $*" >>{calls}
"""
RPM = """#!/bin/sh
exit 1
"""
# No matter which user runs the tests: the script is to see root, or not.
ID = """#!/bin/sh
echo {uid}
"""

# This is what the build needs, as Debian 12 has it, without Boost.
OTHERS = {"python3": "3.11.2-1", "python3-venv": "3.11.2-1", "ca-certificates": "20230311", "g++": "4:12.2.0-3",
          "cmake": "3.25.1-1", "ninja-build": "1.11.1-2", "procps": "2:4.0.2-3", "libcli11-dev": "2.1.2+ds-1",
          "libspdlog-dev": "1:1.10.0+ds-0.4", "nlohmann-json3-dev": "3.11.2-2", "zlib1g-dev": "1:1.2.13.dfsg-1",
          "libarchive-dev": "3.6.2-1", "libssl-dev": "3.0.17-1", "libzstd-dev": "1.5.4+dfsg2-5",
          "libxxhash-dev": "0.8.1-1"}


class System:
    """A folder of programs that is all of PATH."""

    def __init__(self, folder, managers, uid=0):
        self.folder, self.calls = Path(folder), Path(folder) / "calls"
        for tool in TOOLS:
            where = next(Path(place) / tool for place in ("/usr/bin", "/bin") if (Path(place) / tool).exists())
            (self.folder / tool).symlink_to(where)
        for name in managers:
            self.program(name, WRITES_DOWN.format(name=name, calls=self.calls))
        (self.folder / "id").unlink()
        self.program("id", ID.format(uid=uid))

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def set_up(self, *words):
        """Exit code, what it said, and what the managers were asked to install."""
        run = subprocess.run([str(PROJECT / "scripts" / "setup-packages"), *words], text=True, capture_output=True,
                             env={"PATH": str(self.folder), "HOME": os.environ.get("HOME", "/")}, timeout=60)
        calls = self.calls.read_text().splitlines() if self.calls.exists() else []
        return run.returncode, run.stdout + run.stderr, [line.split()[-1] for line in calls if " install " in line]


class Apt(System):
    def __init__(self, folder, installed, archive, uid=0):
        super().__init__(folder, ["apt-get"], uid)
        for name, packages in (("installed", installed), ("archive", archive)):
            (self.folder / name).write_text("".join(f"{package} {version}\n" for package, version in packages.items()))
        self.program("apt-cache", APT_CACHE.format(archive=self.folder / "archive"))
        self.program("dpkg-query", DPKG_QUERY.format(installed=self.folder / "installed"))


class SetupPackages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def apt(self, archive, installed=(), uid=0):
        return Apt(self.folder.name, {**OTHERS, **dict(installed)}, archive, uid)

    def test_takes_the_system_s_own_boost_where_it_is_new_enough(self):
        system = self.apt({"libboost-dev": "1.83.0.2+b2", "libboost1.83-dev": "1.83.0-4.2", "libboost1.88-dev": "1.88.0-1"})
        self.assertEqual(system.set_up()[::2], (0, ["libboost-dev"]))

    def test_takes_the_newest_boost_beside_it_where_the_own_one_is_too_old(self):
        system = self.apt({"libboost-dev": "1.74.0.3", "libboost1.74-dev": "1.74.0+ds1-21", "libboost1.81-dev": "1.81.0-5",
                           "libboost1.81-all-dev": "1.81.0-5", "libboost1.81-tools-dev": "1.81.0-5"})
        self.assertEqual(system.set_up()[::2], (0, ["libboost1.81-dev"]))

    def test_installs_no_second_boost(self):
        system = self.apt({"libboost-dev": "1.83.0.2"}, installed={"libboost1.88-dev": "1.88.0-1"})
        self.assertEqual(system.set_up(), (0, "", []))

    def test_does_not_take_an_installed_one_that_is_too_old(self):
        system = self.apt({"libboost-dev": "1.74.0.3", "libboost1.81-dev": "1.81.0-5"},
                          installed={"libboost-dev": "1.74.0.3", "libboost1.74-dev": "1.74.0+ds1-21"})
        self.assertEqual(system.set_up()[::2], (0, ["libboost1.81-dev"]))

    def test_names_what_the_archive_lacks_and_installs_nothing(self):
        code, said, installs = self.apt({"libboost-dev": "1.74.0.3"}).set_up()
        self.assertEqual((code, installs), (1, []))
        self.assertIn("lack libboost-dev>=1.81|libboost1.[0-9][0-9]-dev>=1.81", said)

    def test_tells_who_is_not_root_what_to_install(self):
        code, said, installs = self.apt({"libboost-dev": "1.83.0"}, uid=1000).set_up()
        self.assertEqual((code, installs), (1, []))
        self.assertIn("sudo apt-get install libboost-dev\n", said)

    def test_says_what_is_missing_and_installs_nothing(self):
        system = self.apt({"libboost-dev": "1.83.0"}, uid=1000)
        code, said, installs = system.set_up("--missing", "launcher")
        self.assertEqual((code, installs), (1, []))
        self.assertIn("sudo apt-get install libboost-dev\n", said)

    def test_does_not_tell_root_that_only_root_may_install(self):
        system = self.apt({"libboost-dev": "1.74.0"}, installed={"g++": "4:10.2.1-1"})
        code, said, installs = system.set_up("--missing", "launcher")
        self.assertEqual((code, installs), (1, []))
        self.assertIn("this system's archives lack g++ 12 libboost-dev 1.81, or newer\n", said)

    def test_tells_root_what_to_install(self):
        system = self.apt({"libboost-dev": "1.83.0", "g++": "4:10.2.1-1"}, installed={"g++": "4:10.2.1-1"})
        code, said, installs = system.set_up("--missing", "launcher")
        self.assertEqual((code, installs), (1, []))
        self.assertIn("this system's archives lack g++ 12, or newer\n", said)
        self.assertIn("packages are missing: apt-get install libboost-dev\n", said)

    def test_says_nothing_where_nothing_is_missing(self):
        system = self.apt({}, installed={"libboost-dev": "1.83.0"})
        self.assertEqual(system.set_up("--missing", "launcher"), (0, "", []))

    def test_a_compiler_that_is_too_old_counts_as_missing(self):
        system = self.apt({}, installed={"g++": "4:10.2.1-1", "libboost-dev": "1.83.0"}, uid=1000)
        code, said, _ = system.set_up("--missing", "launcher")
        self.assertEqual(code, 1)
        self.assertIn("sudo apt-get install g++\n", said)

    def test_a_build_goes_on_without_what_the_archive_lacks(self):
        system = self.apt({"libarchive-dev": "3.4.3-2", "libboost-dev": "1.74.0.3"}, installed={"libarchive-dev": "gone"})
        (system.folder / "installed").write_text("python3 3.9.2\n")
        code, _, installs = system.set_up("--possible", "build")
        self.assertEqual((code, installs), (0, ["libarchive-dev"]))

    def test_who_is_not_root_builds_with_what_there_is(self):
        self.assertEqual(self.apt({"libboost-dev": "1.83.0"}, uid=1000).set_up("--possible", "build"), (0, "", []))

    def test_uses_the_names_of_the_system_s_manager(self):
        for manager, boost in (("dnf", "boost-devel"), ("zypper", "libboost_headers-devel")):
            with self.subTest(manager), tempfile.TemporaryDirectory() as folder:
                system = System(folder, [manager])
                system.program("rpm", RPM)
                code, said, _ = system.set_up()
                self.assertEqual(code, 0, said)
                self.assertIn(f" {boost} ", system.calls.read_text())

    def test_says_where_it_does_not_know_how_to_install(self):
        system = System(self.folder.name, [])
        self.assertEqual(system.set_up("--possible", "build"), (0, "", []))
        code, said, _ = system.set_up()
        self.assertEqual(code, 1)
        self.assertIn("none of apt-get, dnf, zypper and pacman", said)

    def test_every_line_of_the_list_has_a_name_for_each_manager(self):
        for line in (PROJECT / "scripts" / "packages.list").read_text().splitlines():
            if line and not line.startswith("#"):
                self.assertEqual(len(line.split()), 5, line)


if __name__ == "__main__":
    unittest.main()
