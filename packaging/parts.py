#!/usr/bin/env python3
"""Fetches what building ddprun needs into the cache, as parts.list pins it: nobody has to be root for that.

  parts.py folder USE             prints the folder with what parts.list has for it
  parts.py fetch FOLDER           fills it with all of it, for a machine without internet

DDPRUN_PARTS=FOLDER takes all files from such a folder. What is there already is not fetched again. An interrupted run
leaves nothing that the next one takes for whole. Python 3.9 is enough, and no other package.
"""

import argparse
import contextlib
import errno
import fcntl
import functools
import hashlib
import html.parser
import http.client
import os
import platform
import re
import shutil
import ssl
import stat
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).resolve().parent / "parts.list"
CACHE = Path(os.environ.get("DDPRUN_CACHE")
             or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ddprun").absolute() / "parts"
PROCESSORS = ("x86_64", "aarch64")
# A server that sends nothing for SILENCE_S has failed, and so has a file that takes FILE_S.
SILENCE_S, FILE_S = 60, 1800


class Failed(Exception):
    """Its text is a sentence for people."""


class Unavailable(Exception):
    """Here: another way may have it."""


def say(text):
    name = Path(sys.argv[0]).name if __name__ == "__main__" else "ddprun"  # pip calls a program that nobody knows
    print(f"{name}: {text}", file=sys.stderr, flush=True)


# --- What the list says.

@dataclass(frozen=True)
class Part:
    use: str
    kind: str  # debian or pypi
    processor: str  # or any
    path: str  # the file's in a pool of Debian's, or the name of a wheel
    sum: str  # SHA-256

    @property
    def file(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def name(self):
        return re.match(r"(.+?)[-_]\d", self.file)[1]


def lines():
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def parts(use=None, processor=None):
    listed = [Part(*words) for words in lines() if words[0] != "from"]
    return [part for part in listed
            if use in (None, part.use) and (processor is None or part.processor in ("any", processor))]


def upstream(kind):
    return [words[2] for words in lines() if words[:2] == ["from", kind]]


# --- Where a file is to be had.

def configured_archives():
    """Those that apt uses here: https://manpages.debian.org/sources.list."""
    folder = Path("/etc/apt")
    for path in [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]:
        text = path.read_text(errors="replace") if path.is_file() else ""
        found = re.findall(r"^deb(?:-src)?\s+(?:\[[^\]]*\]\s*)?(\S+)", text, re.MULTILINE)
        for uris in re.findall(r"^URIs:(.*)", text, re.MULTILINE):
            found += uris.split()
        yield from (address.rstrip("/") for address in found if address.startswith("http"))


def configured_index():
    """The one that pip would ask; nothing where it is the usual one."""
    asked = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], text=True,
                           capture_output=True, check=False)
    index = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()
    return [index.rstrip("/")] if index else []


class Links(html.parser.HTMLParser):
    """Those of a page, by their last piece: https://packaging.python.org/en/latest/specifications/simple-repository-api/"""

    def __init__(self, page):
        super().__init__()
        self.page, self.found = page, {}

    def handle_starttag(self, tag, attrs):
        address = urllib.parse.urljoin(self.page, dict(attrs).get("href") or "")
        name = urllib.parse.unquote(urllib.parse.urlsplit(address).path.rsplit("/", 1)[-1])
        self.found.setdefault(name, address)


def address_in_index(part, index):
    page = f"{index}/{part.name}/"
    links = Links(page)
    links.feed(b"".join(received(page)).decode(errors="replace"))
    if part.file not in links.found:
        raise Unavailable(f"{page} does not name it")
    return links.found[part.file]


def ways(part):
    """What there is to try, in order: functions that give the file's address."""
    if part.kind == "pypi":
        for index in dict.fromkeys([*configured_index(), *upstream("pypi")]):
            yield functools.partial(address_in_index, part, index)
        return
    for archive in dict.fromkeys([*configured_archives(), *upstream("debian")]):
        pool = "pool/updates" if "security" in archive else "pool"
        yield functools.partial(str, f"{archive}/{pool}/{urllib.parse.quote(part.path)}")


# --- Fetching one file.

def received(address):
    """Its pieces."""
    certificates = os.environ.get("PIP_CERT") or None  # OpenSSL itself reads SSL_CERT_FILE
    ends = time.monotonic() + FILE_S
    try:
        context = ssl.create_default_context(cafile=certificates)
        with urllib.request.urlopen(address, timeout=SILENCE_S, context=context) as answer:
            while chunk := answer.read(1 << 20):
                yield chunk
                if time.monotonic() > ends:
                    raise Unavailable(f"{address}: it had not come after {FILE_S} s")
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise Unavailable(f"{address}: {getattr(problem, 'reason', None) or problem}") from problem


def sum_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def takes_no_more(folder, problem):
    return Failed(f"{folder} takes no more: {problem.strerror}. The parts need 800 MB; DDPRUN_CACHE names another "
                  "folder")


def write(path, chunks):
    try:
        with open(path, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
    except OSError as problem:
        raise takes_no_more(path.parent, problem) from problem


def download(part, to):
    tried = []
    for find in ways(part):
        try:
            address = find()
            say(f"fetching {part.file} from {'/'.join(address.split('/')[2:4])}")
            write(to, received(address))
            if sum_of(to) == part.sum:
                return
            tried.append(f"{address}: another file, whose SHA-256 is {sum_of(to)}")
        except Unavailable as problem:
            tried.append(str(problem))
    raise Failed(f"{part.file} (SHA-256 {part.sum}) was not to be had:\n  " + "\n  ".join(tried) +
                 "\nWhere a machine has internet, scripts/setup --fetch FOLDER puts all parts into a folder, and "
                 "DDPRUN_PARTS=FOLDER takes them from there")


def take_from(folder, part, to):
    source = Path(folder) / part.file
    if not source.is_file():
        raise Failed(f"DDPRUN_PARTS={folder} has no {part.file}: scripts/setup --fetch FOLDER, where there is internet, "
                     "fills such a folder")
    with open(source, "rb") as file:
        write(to, iter(lambda: file.read(1 << 20), b""))
    if sum_of(to) != part.sum:
        raise Failed(f"{source} is not the file that parts.list pins: its SHA-256 is {sum_of(to)}, expected {part.sum}")


def obtain(part, to):
    folder = os.environ.get("DDPRUN_PARTS")
    take_from(folder, part, to) if folder else download(part, to)


def fetch_all(folder):
    """What is there and right stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts():
        target = folder / part.file
        if target.is_file() and sum_of(target) == part.sum:
            continue
        new = folder / f".{part.file}.new"
        obtain(part, new)
        new.replace(target)


# --- Unpacking, into a folder that bears its name only when it is whole.

def unpack_wheel(path, to):
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            unpacked = Path(archive.extract(member, to))
            mode = member.external_attr >> 16
            if unpacked.is_file() and mode & stat.S_IXUSR:
                unpacked.chmod(0o755)


def unpack_package(path, to):
    """A package of Debian's is an archive of `ar` around one of `tar`: https://manpages.debian.org/deb.5"""
    reader = [shutil.which("ar")] if shutil.which("ar") else [str(zig(platform.machine())), "ar"]
    with subprocess.Popen([*reader, "p", str(path), "data.tar.xz"], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|xz") as archive:
            # Python 3.9 may be older than the filters, of which the newest ask for one.
            archive.extraction_filter = getattr(tarfile, "tar_filter", lambda member, _: member)
            for member in archive:
                if not member.name.startswith("./usr/share/doc"):
                    archive.extract(member, to)
    # Headers that differ between processors lie in a folder of their own, which no compiler but Debian's looks into.
    for folder in to.glob("usr/include/*-linux-gnu/openssl"):
        for header in folder.iterdir():
            header.replace(to / "usr/include/openssl" / header.name)


def unpack(path, to):
    if path.suffix == ".whl":
        unpack_wheel(path, to)
    elif path.suffix == ".deb":
        unpack_package(path, to)
    else:
        shutil.copy(path, to)


def zig(processor):
    return folder_of("compiler", processor) / "ziglang" / "zig"


@contextlib.contextmanager
def alone(use):
    """Of two that run at a time, one fetches, and the other one waits for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{use}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def folder_of(use, processor):
    """The folder with all that the list has for this use, fetched and unpacked if it is not there."""
    wanted = parts(use, processor)
    if not wanted:
        raise Failed(f"parts.list has no {use} for {processor}, but for {' and '.join(PROCESSORS)}")
    folder = CACHE / f"{use}-{processor}-{digest(''.join(part.sum for part in wanted))}"
    if not folder.exists():
        with alone(use):
            if not folder.exists():
                make_folder(folder, wanted)
    return folder


def add(part, to):
    file = CACHE / part.file
    try:
        obtain(part, file)
        unpack(file, to)
    except (OSError, tarfile.TarError) as problem:
        if getattr(problem, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise takes_no_more(CACHE, problem) from problem
        raise Failed(f"{part.file} could not be unpacked into {to}: {problem}") from problem
    finally:
        file.unlink(missing_ok=True)


def make_folder(folder, wanted):
    new = CACHE / f"{folder.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        for part in wanted:
            add(part, new)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)  # a disk that is full is not kept so
        raise
    new.replace(folder)


# --- As a program.

def answer(function, arguments):
    """Prints what the function returns, or in one sentence why it cannot. Returns the exit code."""
    try:
        result = str(function(arguments))
    except Failed as problem:
        say(problem)
        return 1
    except OSError as problem:
        say(f"{problem.filename or CACHE}: {problem.strerror or problem}")
        return 1
    print(result, end="\n" if result else "")
    return 0


def run(arguments):
    if arguments.what == "folder":
        return folder_of(arguments.use, arguments.arch)
    fetch_all(arguments.folder)
    return ""


def main():
    parser = argparse.ArgumentParser(description="Fetches what building ddprun needs into the cache.")
    commands = parser.add_subparsers(dest="what", required=True)
    folder = commands.add_parser("folder")
    folder.add_argument("use", choices=sorted({part.use for part in parts()}))
    folder.add_argument("--arch", choices=PROCESSORS, default=platform.machine())
    commands.add_parser("fetch").add_argument("folder", type=Path)
    return answer(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
