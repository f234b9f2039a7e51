#!/usr/bin/env python3
"""Writes the wheel: the module of worker_sdk/python, and the executable as a script of the wheel, so that
no Python starts in between. The format is that of
https://packaging.python.org/en/latest/specifications/binary-distribution-format/

    wheel.py --binary FILE --version VERSION --tag linux_x86_64 --licences FILE --out FOLDER

It needs no package, and writes the same bytes each time: sorted names, fixed modes, and the time that
SOURCE_DATE_EPOCH tells. It prints the path of the wheel.
"""

import argparse
import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
MODULE = PROJECT / "worker_sdk" / "python"
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


def contents(arguments):
    """Each file of the wheel: its name, its mode, its bytes; without RECORD."""
    version, info = arguments.version, f"ddprun-{arguments.version}.dist-info"
    description = (PROJECT / "packaging" / "wheel_description.md").read_text()
    for path in MODULE.glob("ddprun/**/*"):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(MODULE).as_posix(), 0o644, path.read_bytes()
        elif path.parent.name == "bin":
            yield path.relative_to(MODULE).as_posix(), 0o755, path.read_bytes()
    yield f"ddprun-{version}.data/scripts/ddprun", 0o755, Path(arguments.binary).read_bytes()
    yield f"{info}/METADATA", 0o644, METADATA.format(version=version, description=description).encode()
    yield f"{info}/WHEEL", 0o644, WHEEL.format(tag=arguments.tag).encode()
    yield f"{info}/entry_points.txt", 0o644, ENTRY_POINTS.encode()
    yield f"{info}/licenses/LICENSES", 0o644, Path(arguments.licences).read_bytes()


def record(files, name):
    """RECORD: name, checksum and size of each file, and its own name."""
    lines = []
    for path, _, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return name, 0o644, "".join([*lines, f"{name},,\n"]).encode()


def write(path, files):
    when = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 0)))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, mode, data in files:
            entry = zipfile.ZipInfo(name, max(when, FIRST_DATE_OF_ZIP))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, where the upper half of the next field has the mode
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("binary", "version", "tag", "licences", "out"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    files = sorted(contents(arguments))
    files.append(record(files, f"ddprun-{arguments.version}.dist-info/RECORD"))  # the last, as is asked for
    path = Path(arguments.out) / f"ddprun-{arguments.version}-py3-none-{arguments.tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, files)
    print(path)


if __name__ == "__main__":
    main()
