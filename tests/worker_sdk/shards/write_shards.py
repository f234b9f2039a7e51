"""Writes shards with Python's tarfile, as WebDataset does: write_shards.py KIND PATH [ARGUMENTS...]"""

import io
import sys
import tarfile


def add(tar, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


def link(tar, name, kind):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, "000/a.txt"
    tar.addfile(entry)


def odd(path, form):
    """All that is not plain: folders, links, meta data, hidden files, long names, other letters."""
    with tarfile.open(path, "w", format=getattr(tarfile, form)) as tar:
        folder = tarfile.TarInfo("000")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        add(tar, "__meta__/info.json", b"{}")
        add(tar, "000/a.txt", b"first")
        add(tar, "000/a.SEG.png", b"\0\1\2")
        link(tar, "000/a.link", tarfile.SYMTYPE)
        link(tar, "000/a.hard", tarfile.LNKTYPE)
        add(tar, "README", b"belongs to no sample")
        add(tar, "000/.hidden", b"nor does this")
        add(tar, "000/a.cls", b"7")
        add(tar, "v1.2/b.txt", b"")
        add(tar, "x" * 90 + "/" + "y" * 90 + ".txt", b"long")
        if form != "USTAR_FORMAT":
            add(tar, "z" * 300 + ".txt", b"longer")
        add(tar, "\u00e4\u65e5.txt", b"letters")
        add(tar, "000/a.txt", b"the same name again, later")


def numbered(pattern, shards, samples, mode):
    """Shards whose samples are numbered through: the key and the field txt of each."""
    for shard in range(int(shards)):
        with tarfile.open(pattern % shard, mode) as tar:
            for sample in range(int(samples)):
                number = f"{shard * int(samples) + sample:05}"
                add(tar, f"{number}.txt", number.encode())
                add(tar, f"{number}.cls", str(shard).encode())


def fields(path, *names):
    with tarfile.open(path, "w") as tar:
        for name in names:
            add(tar, name, b"12345678")


{"odd": odd, "numbered": numbered, "fields": fields}[sys.argv[1]](*sys.argv[2:])
