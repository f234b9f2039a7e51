#!/usr/bin/env python3
"""Writes the wheel: the module of worker_sdk/python with docs/examples, and the executable as a script of the wheel, so
that no Python starts in between. The format is that of
https://packaging.python.org/en/latest/specifications/binary-distribution-format/

    wheel.py --binary FILE --tag linux_x86_64 --out FOLDER

It needs no package, and writes the same bytes each time: sorted names, fixed modes, and the time that
SOURCE_DATE_EPOCH tells. It prints the path of the wheel. build_backend.py writes with it what `pip install .` installs.
"""

import argparse
import base64
import hashlib
import os
import re
import time
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
MODULE = PROJECT / "worker_sdk" / "python"
EXAMPLES = PROJECT / "docs" / "examples"
FIRST_DATE_OF_ZIP = (1980, 1, 1, 0, 0, 0)

METADATA = """\
Metadata-Version: 2.1
Name: ddprun
Version: {version}
Summary: Starts, watches and restarts the workers of a distributed training; takes torchrun's command lines
Keywords: torchrun,pytorch,distributed,elastic,launcher,slurm
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Topic :: System :: Distributed Computing
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: notebook
Requires-Dist: cloudpickle; extra == 'notebook'
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: ddprun
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""

ENTRY_POINTS = """\
[console_scripts]
ddprun-torchrun = ddprun.__main__:torchrun
ddprun-wrap = ddprun._wrap:main
"""


def version():
    """The one place that has it is the project() of CMakeLists.txt."""
    return re.search(r"^project\(ddprun VERSION ([0-9.]+)", (PROJECT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def description():
    """README.md as an index of packages can show it. Pages and pictures of the clone have no address there, so of a link
    to them only its words stay."""
    text = (PROJECT / "README.md").read_text()
    text = re.sub(r"^(<picture>\n(  .*\n)*</picture>\n\n|<!--.*-->\n)", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]*)\]\((?!https?://)[^)]*\)", r"\1", text)


def module():
    """Each file of the Python module, with the examples: its name, its mode, its bytes."""
    for path in MODULE.glob("ddprun/**/*"):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(MODULE).as_posix(), 0o644, path.read_bytes()
        elif path.parent.name == "bin":
            yield path.relative_to(MODULE).as_posix(), 0o755, path.read_bytes()
    for path in EXAMPLES.glob("**/*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"ddprun/examples/{path.relative_to(EXAMPLES).as_posix()}", 0o644, path.read_bytes()


def described(tag):
    """The same of what describes the wheel, without RECORD."""
    licences = b"".join((PROJECT / "packaging" / name).read_bytes() for name in ("copyright", "apache-2.0.txt"))
    for name, text in (("METADATA", METADATA.format(version=version(), description=description()).encode()),
                       ("WHEEL", WHEEL.format(tag=tag).encode()),
                       ("entry_points.txt", ENTRY_POINTS.encode()),
                       ("licenses/LICENSES", licences)):
        yield f"ddprun-{version()}.dist-info/{name}", 0o644, text


def executable(binary):
    yield f"ddprun-{version()}.data/scripts/ddprun", 0o755, Path(binary).read_bytes()


def record(files):
    """RECORD: name, checksum and size of each file, and its own name."""
    name = f"ddprun-{version()}.dist-info/RECORD"
    lines = []
    for path, _, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return name, 0o644, "".join([*lines, f"{name},,\n"]).encode()


def write(folder, tag, files):
    """The wheel of these files and of those that describe it; returns its path."""
    files = sorted([*files, *described(tag)])
    files.append(record(files))  # the last, as is asked for
    path = Path(folder) / f"ddprun-{version()}-py3-none-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    when = max(time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 0)))[:6], FIRST_DATE_OF_ZIP)
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
            for name, mode, data in files:
                entry = zipfile.ZipInfo(name, when)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3  # Unix, where the upper half of the next field has the mode
                entry.external_attr = (0o100000 | mode) << 16
                wheel.writestr(entry, data)
    except OSError:
        path.unlink(missing_ok=True)  # half a wheel has the name of a whole one
        raise
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("binary", "tag", "out"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    print(write(arguments.out, arguments.tag, [*module(), *executable(arguments.binary)]))


if __name__ == "__main__":
    main()
