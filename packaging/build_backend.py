"""What pip, uv and build call for a clone or its sdist, as pyproject.toml says: they build `ddprun` here and pack it
like the wheel of scripts/package, for this machine alone. The SDK for C++ is not in it. The functions are those of
https://peps.python.org/pep-0517/ and https://peps.python.org/pep-0660/
"""

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import wheel

PROJECT = wheel.PROJECT
EXECUTABLE = os.environ.get("DDPRUN_EXECUTABLE")  # packed as it is, as packaging/wheel.sh does
BUILD = PROJECT / "build" / "pip"
CMAKE_NEEDED = (3, 25)
CONFIGURE = ["cmake", "--preset", "release", "-B", str(BUILD), "-DDDPRUN_SDK=OFF", "-DDDPRUN_TESTS=OFF"]


def cmake_is_new_enough():
    try:
        said = subprocess.run(["cmake", "--version"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return tuple(map(int, said.split()[2].split("-")[0].split(".")[:2])) >= CMAKE_NEEDED


def get_requires_for_build_wheel(config_settings=None):
    """Of the tools what the system lacks and the index has."""
    needed = []
    if EXECUTABLE:
        return needed
    if not cmake_is_new_enough():
        needed.append("cmake>=" + ".".join(map(str, CMAKE_NEEDED)))
    if not shutil.which("ninja"):
        needed.append("ninja")
    return needed


get_requires_for_build_editable = get_requires_for_build_wheel


def run(*command):
    """What it writes is to be seen with `pip install -v`, and where it fails."""
    print("+", *command, flush=True)
    done = subprocess.run(command, cwd=PROJECT, stdout=sys.stdout, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit(f"ddprun: {command[0]} ended with {done.returncode}, see above")


def check_system():
    """Says in one sentence what is missing, in place of CMake's page on the first library."""
    asked = subprocess.run([PROJECT / "scripts" / "setup-packages", "--missing", "launcher"], text=True,
                           capture_output=True, check=False)
    if asked.returncode:
        raise SystemExit(asked.stderr.strip())


def build_executable():
    """Goes on with what an interrupted one has made, whose ninja may have gone with pip's temporary environment."""
    if EXECUTABLE:
        return EXECUTABLE
    check_system()
    run(*CONFIGURE, f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}")
    run("cmake", "--build", str(BUILD), "--target", "ddprun")
    return BUILD / "ddprun"


def tag():
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = [*wheel.module(), *wheel.executable(build_executable())]
    return wheel.write(wheel_directory, tag(), files).name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Python's module is that of the tree; `ddprun` is the one that was built now."""
    path = ("_ddprun_editable.pth", 0o644, f"{wheel.MODULE}\n".encode())
    return wheel.write(wheel_directory, tag(), [path, *wheel.executable(build_executable())]).name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    for name, _, data in wheel.described(tag()):
        path = Path(metadata_directory) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return f"ddprun-{wheel.version()}.dist-info"


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def sources():
    """What git knows of the tree; in an unpacked sdist, which has no git, all that lies there but what was made."""
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files", "-z"], capture_output=True, check=False)
    if (PROJECT / ".git").exists() and listed.returncode == 0:
        return sorted(PROJECT / name for name in os.fsdecode(listed.stdout).split("\0") if name)
    made = {"build", "dist", "__pycache__"}
    return sorted(path for path in PROJECT.rglob("*")
                  if path.is_file() and not made & set(path.relative_to(PROJECT).parts))


def build_sdist(sdist_directory, config_settings=None):
    base = f"ddprun-{wheel.version()}"
    path = Path(sdist_directory) / f"{base}.tar.gz"
    metadata = next(data for name, _, data in wheel.described(tag()) if name.endswith("/METADATA"))
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for source in sources():
            archive.add(source, f"{base}/{source.relative_to(PROJECT)}", recursive=False)
        information = tarfile.TarInfo(f"{base}/PKG-INFO")
        information.size = len(metadata)
        archive.addfile(information, io.BytesIO(metadata))
    return path.name
