"""What pip, uv and build call for a clone or its sdist, as pyproject.toml says: they build `ddprun` here and pack it
like the wheel of scripts/package, for this machine alone. What the system lacks for that, parts.py fetches. The SDK for
C++ is not in it. The functions are those of https://peps.python.org/pep-0517/ and https://peps.python.org/pep-0660/
"""

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import parts
import toolchain
import wheel

PROJECT = wheel.PROJECT
EXECUTABLE = os.environ.get("DDPRUN_EXECUTABLE")  # packed as it is, as packaging/wheel.sh does
BUILD = PROJECT / "build" / "pip"
CONFIGURE = ["cmake", "--preset", "release", "-B", str(BUILD), "-DDDPRUN_SDK=OFF", "-DDDPRUN_TESTS=OFF"]


def run(*command):
    """What it writes is to be seen with `pip install -v`, and where it fails."""
    print("+", *command, flush=True)
    done = subprocess.run(command, cwd=PROJECT, stdout=sys.stdout, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit(f"ddprun: {command[0]} ended with {done.returncode}, see above")


def lacking():
    """One sentence on what the system's packages lack, or nothing."""
    asked = subprocess.run([PROJECT / "scripts" / "setup-packages", "--missing", "launcher"], text=True,
                           capture_output=True, check=False)
    return asked.stderr.strip() if asked.returncode else ""


def provide():
    """CMake's arguments for what is not the system's; cmake and ninja are in PATH from here on."""
    tools = toolchain.tools()
    if tools:
        os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
    problem = lacking()
    if not problem:
        return []
    print(f"{problem}\nddprun: so what compiling needs comes into {parts.CACHE}", flush=True)
    return [f"-DCMAKE_TOOLCHAIN_FILE={toolchain.toolchain()}"]


def build_executable():
    """Goes on with what an interrupted one has made, unless that was by another compiler."""
    if EXECUTABLE:
        return EXECUTABLE
    try:
        chosen = provide()
    except parts.Failed as problem:
        raise SystemExit(f"ddprun: {problem}") from problem
    made_with = BUILD / "made_with"
    fresh = [] if made_with.exists() and made_with.read_text() == str(chosen) else ["--fresh"]
    run(*CONFIGURE, f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}", *chosen, *fresh)
    made_with.write_text(str(chosen))
    run("cmake", "--build", str(BUILD), "--target", "ddprun")
    return BUILD / "ddprun"


def tag():
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def pack(folder, files):
    """Writes the wheel of these, and returns its name."""
    try:
        return wheel.write(folder, tag(), files).name
    except OSError as problem:
        raise SystemExit(f"ddprun: {folder} takes no more: {problem.strerror}. pip's folder is in TMPDIR") from problem


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return pack(wheel_directory, [*wheel.module(), *wheel.executable(build_executable())])


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Python's module is that of the tree; `ddprun` is the one that was built now."""
    path = ("_ddprun_editable.pth", 0o644, f"{wheel.MODULE}\n".encode())
    return pack(wheel_directory, [path, *wheel.executable(build_executable())])


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


def commit():
    """As cmake/WriteCommit.cmake finds it, which reads it from the sdist's file; "": there is no git here."""
    if not (PROJECT / ".git").exists():
        return ""
    described = subprocess.run(["git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--abbrev=12",
                                "--exclude=*"], text=True, capture_output=True, check=False)
    return described.stdout.strip()


def build_sdist(sdist_directory, config_settings=None):
    base = f"ddprun-{wheel.version()}"
    path = Path(sdist_directory) / f"{base}.tar.gz"
    metadata = next(data for name, _, data in wheel.described(tag()) if name.endswith("/METADATA"))
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for source in sources():
            archive.add(source, f"{base}/{source.relative_to(PROJECT)}", recursive=False)
        for name, text in (("PKG-INFO", metadata), ("COMMIT", commit().encode())):
            if not text or (PROJECT / name).exists():
                continue  # an sdist that is packed again has both
            information = tarfile.TarInfo(f"{base}/{name}")
            information.size = len(text)
            archive.addfile(information, io.BytesIO(text))
    return path.name
