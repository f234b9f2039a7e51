#!/usr/bin/env python3
"""What ddprun is compiled with where the system lacks something: of the system what is new enough, the rest by parts.py.

  toolchain.py tools              prints a folder with cmake and ninja, or nothing where the system's will do
  toolchain.py cmake              prints a file for CMake that names the compiler and the libraries: the system's
                                  compiler where it is new enough, else zig, which brings its own C library
  toolchain.py cmake --compiler zig --arch aarch64     for this processor, by zig
"""

import argparse
import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys

import parts

# What zig links runs with this one, which is that of CentOS 7, and with everything since.
OLDEST_GLIBC = "2.17"
OLDEST_CMAKE = (3, 25)
OLDEST_COMPILER = {"GNU": 12, "clang": 16}


def output_of(*command, given=""):
    with contextlib.suppress(OSError):
        return subprocess.run(command, input=given, text=True, capture_output=True, check=False).stdout
    return ""


def tools():
    """A folder with cmake and ninja; none where the system's are new enough."""
    version = re.search(r"cmake version (\d+)\.(\d+)", output_of("cmake", "--version"))
    if version and (int(version[1]), int(version[2])) >= OLDEST_CMAKE and shutil.which("ninja"):
        return None
    folder = parts.folder_of("tools", platform.machine())
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for program in (folder / "cmake" / "data" / "bin" / "cmake", next(folder.glob("ninja-*.data/scripts/ninja"))):
        with contextlib.suppress(FileExistsError):
            (programs / program.name).symlink_to(program)
    return programs


def system_compiler():
    """The one that CMake would take, where it is new enough; LibTorch goes with no other."""
    for compiler in filter(None, [os.environ.get("CXX"), "c++", "g++", "clang++"]):
        macros = output_of(*compiler.split(), "-x", "c++", "-dM", "-E", "-")
        for name, macro in (("clang", "__clang_major__"), ("GNU", "__GNUC__")):
            version = re.search(rf"^#define {macro} (\d+)", macros, re.MULTILINE)
            if version:
                return compiler if int(version[1]) >= OLDEST_COMPILER[name] else None
    return None


def write_program(path, text):
    """Its time stays where it has not changed: ccache goes by that."""
    if path.exists() and path.read_text() == text:
        return
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.chmod(0o755)
    new.replace(path)


def zig_tools(target):
    """A folder with cc, c++, ar and ranlib that make programs for it, such as x86_64-linux-gnu.2.17."""
    compiler = parts.zig(platform.machine())
    folder = parts.CACHE / f"zig-{parts.digest(str(compiler))}-{target}"
    folder.mkdir(exist_ok=True)
    for name in ("cc", "c++", "ar", "ranlib"):
        # zig makes its C++ library once for each way to optimise: what CMake tries shall have the one of a release.
        options = f"{name} -target {target} -O2 -s" if name.startswith("c") else name
        write_program(folder / name, f"""#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR='{parts.CACHE}/zig-cache' ZIG_LOCAL_CACHE_DIR='{parts.CACHE}/zig-cache'
exec '{compiler}' {options} "$@"
""")
    return folder


def toolchain(processor=platform.machine(), compiler="best"):
    """A file for -DCMAKE_TOOLCHAIN_FILE. Its name changes with what is in it."""
    own = compiler != "zig" and processor == platform.machine() and system_compiler()
    headers, openssl = parts.folder_of("headers", processor) / "usr", parts.folder_of("openssl", processor) / "usr"
    libraries = next(openssl.glob("lib/*-linux-gnu"))
    configs = headers / "lib" / "x86_64-linux-gnu" / "cmake"
    settings = {
        "CMAKE_FIND_ROOT_PATH": headers, "CMAKE_FIND_ROOT_PATH_MODE_PACKAGE": "BOTH",
        "CMAKE_FIND_ROOT_PATH_MODE_PROGRAM": "NEVER",
        "Boost_DIR": next(configs.glob("Boost-*")), "boost_headers_DIR": next(configs.glob("boost_headers-*")),
        "spdlog_DIR": configs / "spdlog", "fmt_DIR": configs / "fmt",
        "OPENSSL_INCLUDE_DIR": openssl / "include", "OPENSSL_CRYPTO_LIBRARY": libraries / "libcrypto.a",
        "OPENSSL_SSL_LIBRARY": libraries / "libssl.a",
    }
    if own:
        settings["CMAKE_CXX_COMPILER"] = own
    else:
        made = zig_tools(f"{processor}-linux-gnu.{OLDEST_GLIBC}")
        settings |= {"CMAKE_C_COMPILER": made / "cc", "CMAKE_CXX_COMPILER": made / "c++",
                     "CMAKE_AR": made / "ar", "CMAKE_RANLIB": made / "ranlib",
                     "CMAKE_TRY_COMPILE_CONFIGURATION": "Release"}
    if processor != platform.machine():
        settings |= {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": processor}
    # A recipe may name another OpenSSL: what is in the cache, -D replaces.
    text = "".join(f'set({name} "{value}"{"" if name.startswith("CMAKE") else " CACHE PATH " + name})\n'
                   for name, value in settings.items())
    path = parts.CACHE / f"{'system' if own else 'zig'}-{processor}-{parts.digest(text)}.cmake"
    write_program(path, text)
    return path


def run(arguments):
    if arguments.what == "tools":
        return tools() or ""
    return toolchain(arguments.arch, arguments.compiler)


def main():
    parser = argparse.ArgumentParser(description="What ddprun is compiled with where the system lacks something.")
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("tools")
    cmake = commands.add_parser("cmake")
    cmake.add_argument("--compiler", choices=["best", "zig"], default="best")
    cmake.add_argument("--arch", choices=parts.PROCESSORS, default=platform.machine())
    return parts.answer(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
