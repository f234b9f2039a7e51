"""packaging/parts.py and toolchain.py, with a list of its own, and a server on this machine in place of Debian's archives and of PyPI."""

import contextlib
import hashlib
import http.server
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path
from unittest import mock

PACKAGING = Path(__file__).resolve().parent.parent.parent / "packaging"
sys.path.insert(0, str(PACKAGING))
import parts  # noqa: E402
import toolchain  # noqa: E402

WHEEL = "tool-1.0-py3-none-any.whl"
PACKAGE = "main/l/lib/lib-dev_1.0-1_amd64.deb"


def sum_of(data):
    return hashlib.sha256(data).hexdigest()


def wheel(data="data"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        program = zipfile.ZipInfo("tool/bin/tool")
        program.external_attr = 0o755 << 16
        archive.writestr(program, "#!/bin/sh\necho it runs\n")
        archive.writestr("tool/data", data)
    return file.getvalue()


def package():
    """A package of Debian's."""
    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w:xz") as archive:
        for name in ("./usr/include/openssl/ssl.h", "./usr/include/x86_64-linux-gnu/openssl/opensslconf.h"):
            archive.addfile(tarfile.TarInfo(name))
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("debian-binary", b"2.0\n"), ("data.tar.xz", tree.getvalue())):
            (Path(folder) / name).write_bytes(data)
        subprocess.run(["ar", "rc", "it.deb", "debian-binary", "data.tar.xz"], cwd=folder, check=True)
        return (Path(folder) / "it.deb").read_bytes()


class Server(http.server.ThreadingHTTPServer):
    """Answers with `files`, by path; `asked` is what it was asked for. One named in `stalls` sends half of it, says so
    by the event `half`, and then nothing more."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.files, self.asked, self.stalls, self.half, self.ends = {}, [], set(), threading.Event(), threading.Event()
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()

    def stop(self):
        self.ends.set()
        self.shutdown()
        self.server_close()


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        data = self.server.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(OSError):
            if self.path in self.server.stalls:
                self.wfile.write(data[: len(data) // 2])
                self.server.half.set()
                self.server.ends.wait()
            else:
                self.wfile.write(data)

    def log_message(self, *_):
        pass


class Parts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.replace(LIST=self.folder / "parts.list", CACHE=self.folder / "cache", say=lambda text: None,
                     configured_archives=lambda: [], configured_index=lambda: [])
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("DDPRUN_PARTS", None)
        self.list()

    def replace(self, **names):
        for name, value in names.items():
            patch = mock.patch.object(parts, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def list(self, kind="pypi", file=WHEEL, of=None, addresses=None):
        """A list of one part for `it`, and the server has it."""
        self.data = of if of is not None else wheel()
        addresses = addresses or [self.server.address]
        lines = [f"from {kind} {address}" for address in addresses]
        lines.append(f"it {kind} any {file} {sum_of(self.data)}")
        parts.LIST.write_text("# a comment\n\n" + "\n".join(lines) + "\n")
        if kind == "pypi":
            self.server.files["/tool/"] = f'<a href="../files/{WHEEL}#sha256=0">{WHEEL}</a>'.encode()
            self.server.files[f"/files/{WHEEL}"] = self.data
        else:
            self.server.files[f"/pool/{file}"] = self.data

    def get(self):
        return parts.folder_of("it", "x86_64")

    def refused(self):
        with self.assertRaises(parts.Failed) as problem:
            self.get()
        self.assertEqual([path.name for path in parts.CACHE.glob("it-*")], [])
        return str(problem.exception)

    def test_a_wheel_comes_from_an_index_and_its_programs_run(self):
        program = self.get() / "tool" / "bin" / "tool"
        self.assertEqual(subprocess.run([program], capture_output=True, check=True).stdout, b"it runs\n")
        self.assertEqual(self.server.asked, ["/tool/", f"/files/{WHEEL}"])

    def test_what_is_there_is_not_fetched_again(self):
        folder = self.get()
        self.server.asked.clear()
        self.assertEqual(self.get(), folder)
        self.assertEqual(self.server.asked, [])

    def test_a_processor_that_the_list_does_not_know_is_said(self):
        parts.LIST.write_text(parts.LIST.read_text().replace(" any ", " x86_64 "))
        with self.assertRaisesRegex(parts.Failed, "has no it for riscv64, but for x86_64 and aarch64"):
            parts.folder_of("it", "riscv64")

    def test_another_pin_is_another_folder(self):
        folder = self.get()
        self.list(of=wheel() + b"\0")
        self.assertNotEqual(self.get(), folder)

    @unittest.skipUnless(shutil.which("ar"), "there is no ar to make a package with")
    def test_a_package_of_debian_is_unpacked_and_its_headers_lie_together(self):
        self.list("debian", PACKAGE, package())
        headers = self.get() / "usr" / "include" / "openssl"
        self.assertEqual(sorted(path.name for path in headers.iterdir()), ["opensslconf.h", "ssl.h"])

    def test_the_next_archive_is_asked_where_one_lacks_it(self):
        other = Server()
        self.addCleanup(other.stop)
        self.list("debian", "main/s/source_1.0.orig.tar.gz", b"sources", [other.address, self.server.address])
        self.assertEqual((self.get() / "source_1.0.orig.tar.gz").read_bytes(), b"sources")
        self.assertEqual(len(other.asked), 1)

    def test_the_archives_that_apt_uses_are_asked_first(self):
        self.list("debian", "main/s/source_1.0.orig.tar.gz", b"sources", ["http://127.0.0.1:1"])
        self.replace(configured_archives=lambda: [self.server.address])
        self.get()
        self.assertEqual(len(self.server.asked), 1)

    def test_a_file_with_another_sum_is_refused_and_the_next_way_is_tried(self):
        other = Server()
        self.addCleanup(other.stop)
        self.list("debian", "main/s/source_1.0.orig.tar.gz", b"sources", [other.address, self.server.address])
        other.files["/pool/main/s/source_1.0.orig.tar.gz"] = b"forged"
        self.assertEqual((self.get() / "source_1.0.orig.tar.gz").read_bytes(), b"sources")

    def test_where_every_way_fails_each_is_named_with_its_reason(self):
        self.list("debian", "main/s/source_1.0.orig.tar.gz", b"sources", ["http://127.0.0.1:1", self.server.address])
        self.server.files["/pool/main/s/source_1.0.orig.tar.gz"] = b"forged"
        said = self.refused()
        self.assertIn(f"source_1.0.orig.tar.gz (SHA-256 {sum_of(b'sources')}) was not to be had", said)
        self.assertIn("http://127.0.0.1:1/pool/main/s/source_1.0.orig.tar.gz: [Errno 111] Connection refused", said)
        self.assertIn(f"another file, whose SHA-256 is {sum_of(b'forged')}", said)
        self.assertIn("DDPRUN_PARTS=FOLDER", said)

    def test_an_index_that_does_not_name_the_file_is_said(self):
        self.server.files["/tool/"] = b'<a href="tool-2.0-py3-none-any.whl">newer</a>'
        self.assertIn("/tool/ does not name it", self.refused())

    def test_a_server_that_falls_silent_is_given_up(self):
        self.replace(SILENCE_S=0.2)
        self.server.stalls.add(f"/files/{WHEEL}")
        self.assertIn("timed out", self.refused())

    def test_a_file_that_takes_too_long_is_given_up(self):
        self.replace(FILE_S=-1)
        self.assertIn("it had not come after -1 s", self.refused())

    def test_a_folder_takes_the_place_of_the_internet(self):
        parts.fetch_all(self.folder / "parts")
        self.server.asked.clear()
        os.environ["DDPRUN_PARTS"] = str(self.folder / "parts")
        self.assertTrue((self.get() / "tool" / "data").exists())
        self.assertEqual(self.server.asked, [])

    def test_filling_a_folder_again_fetches_what_is_missing_or_wrong(self):
        folder = self.folder / "parts"
        parts.fetch_all(folder)
        self.server.asked.clear()
        parts.fetch_all(folder)
        self.assertEqual(self.server.asked, [])
        (folder / WHEEL).write_bytes(b"torn")
        parts.fetch_all(folder)
        self.assertEqual([path.name for path in folder.iterdir()], [WHEEL])
        self.assertEqual((folder / WHEEL).read_bytes(), self.data)

    def test_a_folder_without_the_file_or_with_another_one_is_said(self):
        os.environ["DDPRUN_PARTS"] = str(self.folder)
        self.assertIn(f"has no {WHEEL}", self.refused())
        (self.folder / WHEEL).write_bytes(b"forged")
        self.assertIn("is not the file that parts.list pins", self.refused())

    def program(self, **limits):
        """parts.py as a program, with what this test has replaced."""
        code = (f"import parts, pathlib, sys; parts.LIST = pathlib.Path({str(parts.LIST)!r}); "
                "parts.configured_archives = parts.configured_index = lambda: []; sys.exit(parts.main())")
        return subprocess.Popen([sys.executable, "-B", "-c", code, "folder", "it"], text=True, stderr=subprocess.PIPE,
                                env={**os.environ, "PYTHONPATH": str(PACKAGING), "DDPRUN_CACHE": str(self.folder)},
                                stdout=subprocess.PIPE, **limits)

    def test_a_killed_run_is_repeated(self):
        for stop in (signal.SIGKILL, signal.SIGINT):
            self.server.half.clear()
            self.server.stalls.add(f"/files/{WHEEL}")
            with self.program() as process:
                self.server.half.wait()
                process.send_signal(stop)
                process.communicate()
            self.assertNotEqual(process.returncode, 0)
        self.server.stalls.clear()
        with self.program() as process:
            out, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        self.assertTrue((Path(out.strip()) / "tool" / "data").exists())
        self.assertEqual([path.name for path in (self.folder / "parts").iterdir() if WHEEL in path.name], [])

    def test_of_two_at_a_time_one_fetches(self):
        runs = [self.program() for _ in range(2)]
        outputs = [run.communicate()[0] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0, 0])
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(self.server.asked.count(f"/files/{WHEEL}"), 1)

    def test_a_disk_that_is_full_is_said_and_left_as_it_was_and_no_other_way_is_tried(self):
        self.list(of=wheel("data" * 10000))
        for most in (20, len(self.data)):  # it does not take the file, or not what is in it
            self.server.asked.clear()
            with self.program(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))) as process:
                _, said = process.communicate()
            self.assertEqual(process.returncode, 1)
            self.assertEqual([path.name for path in (self.folder / "parts").iterdir()], ["it.lock"])
            self.assertIn(f"{self.folder}/parts takes no more: File too large", said)
            self.assertEqual(self.server.asked.count(f"/files/{WHEEL}"), 1)


class System(unittest.TestCase):
    """What the machine has of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name, output):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\ncat >/dev/null </dev/null\necho '{output}'\n")
        path.chmod(0o755)
        return str(path)

    def compiler(self, macros):
        with mock.patch.dict(os.environ, {"CXX": self.program("compiler", macros)}):
            return bool(toolchain.system_compiler())

    def test_a_compiler_counts_from_the_version_on_that_has_been_tried(self):
        self.assertFalse(self.compiler("#define __GNUC__ 11"))
        self.assertTrue(self.compiler("#define __GNUC__ 12"))
        self.assertFalse(self.compiler("#define __GNUC__ 4\n#define __clang_major__ 15"))
        self.assertTrue(self.compiler("#define __GNUC__ 4\n#define __clang_major__ 16"))

    def test_cmake_and_ninja_of_the_system_will_do_where_they_are_new_enough(self):
        fetched = mock.patch.object(parts, "folder_of", side_effect=parts.Failed("fetched"))
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:/bin"}), fetched:
            self.program("ninja", "")
            self.program("cmake", "cmake version 3.25.0")
            self.assertIsNone(toolchain.tools())
            self.program("cmake", "cmake version 3.18.4")
            self.assertRaises(parts.Failed, toolchain.tools)

    def test_the_addresses_that_apt_uses_are_read_in_both_of_its_formats(self):
        (self.folder / "sources.list").write_text(
            "# deb http://comment/debian x main\ndeb [arch=amd64 signed-by=/k] http://one/debian/ bullseye main\n"
            "deb-src https://two/ubuntu jammy main\ndeb cdrom:[disk]/ x main\n")
        (self.folder / "sources.list.d").mkdir()
        (self.folder / "sources.list.d" / "debian.sources").write_text(
            "Types: deb\nURIs: http://three/debian http://four/debian\nSuites: trixie\n")
        with mock.patch.object(parts, "Path", lambda _: self.folder):
            self.assertEqual(list(parts.configured_archives()),
                             ["http://one/debian", "https://two/ubuntu", "http://three/debian", "http://four/debian"])


class List(unittest.TestCase):
    def test_every_part_is_pinned_and_every_use_is_there_for_each_processor(self):
        for part in parts.parts():
            self.assertRegex(part.sum, "^[0-9a-f]{64}$")
            self.assertIn(part.kind, ("debian", "pypi"))
            self.assertTrue(part.name)
            self.assertTrue(parts.upstream(part.kind))
        names = {processor: [(part.use, part.name) for part in parts.parts(processor=processor)]
                 for processor in parts.PROCESSORS}
        self.assertEqual(names["x86_64"], names["aarch64"])


if __name__ == "__main__":
    unittest.main()
