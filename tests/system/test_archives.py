"""Archives: unpacking one file, and archives that are damaged or not to be trusted."""

import bz2
import gzip
import inspect
import io
import lzma
import os
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.data.files import pairs
from tests.file_server import vectors_zip, visible
from tests.mutations import check_message, mutated
from tfcr.data import read_corpus
from tfcr.errors import DataError, TfcrWarning
from tfcr.system import archives
from tfcr.system.archives import unpack_one
from tfcr.system.limits import LIMITS


def test_unpacking_goes_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("../../evil/v.txt"))
    inner = tmp_path / "inner"
    inner.mkdir()
    unpack_one(tmp_path / "a.zip", inner / "v.txt")
    assert visible(tmp_path) == ["a.zip", "inner"]
    assert visible(inner) == ["v.txt"]


@pytest.mark.parametrize("cut", [5, 60, 90])
def test_a_truncated_zip_leaves_nothing(cut: int, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("v.txt")[:-cut])
    with pytest.raises(DataError, match="truncated or not a zip archive"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")
    (tmp_path / "b.gz").write_bytes(gzip.compress(os.urandom(1000))[:-cut])
    with pytest.raises(DataError, match="b.gz is truncated or damaged"):
        unpack_one(tmp_path / "b.gz", tmp_path / "v.txt")
    assert visible(tmp_path) == ["a.zip", "b.gz"]


def test_no_space_to_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("v.txt"))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1))
    with pytest.raises(DataError, match="make room and type the same command again"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")


def write_archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_archives_not_to_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = write_archive(tmp_path / "outside.tar.gz", {"top/x/../../../evil/1": b"text"})
    with pytest.raises(DataError, match="which leads out of its folder"):
        read_corpus(outside)
    monkeypatch.setitem(LIMITS, "unpacked harmless", LIMITS["unpacked harmless"]._replace(value=10_000))
    bomb = write_archive(tmp_path / "bomb.tar.gz", {f"top/x/{n}": bytes(1_000_000) for n in range(3)})
    with pytest.raises(DataError, match="unpacks to more than"):
        read_corpus(bomb)


@pytest.mark.parametrize(
    ("kind", "target", "refused"),
    [
        (tarfile.SYMTYPE, "/etc/passwd", True),
        (tarfile.SYMTYPE, "../../../etc/passwd", True),
        (tarfile.LNKTYPE, "../outside", True),
        (tarfile.SYMTYPE, "../y/1", False),
        (tarfile.LNKTYPE, "top/y/1", False),
    ],
)
def test_links_in_archives(kind: bytes, target: str, refused: bool, tmp_path: Path) -> None:
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("top/y/1", "top/x/2"):
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"text"))
        link = tarfile.TarInfo("top/x/link")
        link.type, link.linkname = kind, target
        archive.addfile(link)
    if refused:
        with pytest.raises(DataError, match="holds the link 'top/x/link' to .*, which leads out of its folder"):
            read_corpus(path)
    else:
        assert [label for _, label in pairs(path)] == ["x", "y"]


@pytest.mark.parametrize("name", ["/etc/evil", "../evil", "a/../../evil", "C:/evil", "a\\..\\..\\evil", "//host/evil"])
def test_names_that_lead_out_of_a_zip(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("fine.txt", "text")
        archive.writestr(name, "text")
    with pytest.raises(DataError, match="which leads out of its folder; it is not to be trusted"):
        list(archives.members(tmp_path / "a.zip"))


def test_a_zip_with_a_link_or_a_password(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="holds the link 'link' to '/etc/passwd', which leads out"):
        list(archives.members(tmp_path / "a.zip"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("secret.txt", "text")
    locked = bytearray((tmp_path / "b.zip").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(header) + flags] |= 1
    (tmp_path / "b.zip").write_bytes(locked)
    with pytest.raises(DataError, match="b.zip: secret.txt is truncated or damaged .*password"):
        [b"".join(member.chunks()) for member in archives.members(tmp_path / "b.zip")]


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "cut.tar.gz", {"top/x/1": bytes(range(256)) * 400})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="cut.tar.gz.* is truncated or .*; get the file again"):
        read_corpus(path)


def tar_header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    header = tarfile.TarInfo(name)
    header.size, header.type = size, kind
    return header.tobuf(tarfile.GNU_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


END = bytes(1024)
BAD_TARS: dict[str, tuple[bytes, str]] = {
    "a large pax header": (
        tar_header("pax", 2 << 20, tarfile.XHDTYPE) + bytes(2 << 20) + tar_header("top/x/1", 0) + END,
        "a header of 2,097,152 bytes",
    ),
    "a large global header": (tar_header("pax", 1 << 33, tarfile.XGLTYPE) + END, "a header of 8,589,934,592 bytes"),
    "a long name": (tar_header("name", 1 << 30, tarfile.GNUTYPE_LONGNAME) + END, "a header of 1,073,741,824 bytes"),
    "a size below 0": (tar_header("top/x/1", -512) + END, "a header of -512 bytes"),
    "a pax size below 0": (
        tar_header("pax", 14, tarfile.XHDTYPE) + padded(b"14 size=-1024\n") + tar_header("top/x/1", 0) + END,
        "truncated or not a tar archive|unpacks to more than",
    ),
    "headers that follow each other": (
        (tar_header("pax", 12, tarfile.XHDTYPE) + padded(b"12 path=a/b\n")) * 3000 + END,
        "truncated or not a tar archive",
    ),
    "sparse": (tar_header("top/x/1", 100, tarfile.GNUTYPE_SPARSE) + END, "a sparse file"),
    "a damaged second header": (
        tar_header("top/x/1", 4) + padded(b"text") + tar_header("top/y/2", 4)[:-1] + b"x" + padded(b"text") + END,
        "bad checksum where a file or the archive's end should be",
    ),
    "no end": (tar_header("top/x/1", 4) + padded(b"text"), "empty header where a file or the archive's end should be"),
    "the end cut off": (tar_header("top/x/1", 1000) + b"text", "truncated or"),
}


@pytest.mark.parametrize("kind", BAD_TARS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_damaged_tar_archives(kind: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    content, message = BAD_TARS[kind]
    (tmp_path / "a.tar.gz").write_bytes(pack(content))
    with pytest.raises(DataError, match=message):
        read_corpus(tmp_path / "a.tar.gz")


def test_an_archive_packed_by_xz(tmp_path: Path) -> None:
    content = b"".join(tar_header(f"top/{label}/1", 4) + padded(b"text") for label in "xy") + END
    (tmp_path / "a.tar.xz").write_bytes(lzma.compress(content))
    assert [label for _, label in pairs(tmp_path / "a.tar.xz")] == ["x", "y"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_data_file_that_unpacks_to_too_much(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, "unpacked harmless", LIMITS["unpacked harmless"]._replace(value=100_000))
    (tmp_path / "a.csv.gz").write_bytes(pack(b"text,label\n" + b"a,b\n" * 200_000))
    with pytest.raises(DataError, match="unpacks to more than"):
        b"".join(archives.file_chunks(tmp_path / "a.csv.gz"))
    with pytest.raises(DataError, match="unpacks to more than"):
        unpack_one(tmp_path / "a.csv.gz", tmp_path / "a.csv")
    assert visible(tmp_path) == ["a.csv.gz"]


def test_an_xz_file_that_asks_for_too_much_memory(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 512 << 20}]
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(b"text", filters=filters))
    with pytest.raises(DataError, match="[Mm]emory"):
        b"".join(archives.file_chunks(tmp_path / "a.csv.xz"))


def test_a_zip_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "unpacked harmless", LIMITS["unpacked harmless"]._replace(value=100_000))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", bytes(10_000_000))
    with pytest.raises(DataError, match="unpacks to more than"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")
    with pytest.raises(DataError, match="unpacks to more than"):
        list(archives.members(tmp_path / "a.zip"))


@pytest.mark.parametrize("name", ["a.csv", "a.tar", "a.zip", "a.csv.gz"])
def test_a_pipe_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="it is a pipe; expected a file"):
        [b"".join(member.chunks()) for member in archives.members(tmp_path / name)]


def texts_folder(folder: Path) -> Path:
    for name in ("x/1.txt", "y/2.txt", "y/z/3.txt", ".hidden"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    return folder


def names_in(folder: Path) -> list[str]:
    return [member.name for member in archives.members(folder)]


TEXTS = ["x/1.txt", "y/2.txt", "y/z/3.txt"]

ODD_ENTRIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a name that is too long": (lambda path: path.symlink_to("z" * 300), "a link that leads nowhere"),
    "a target that is too long": (lambda path: path.symlink_to("z/" * 2000), "a link that leads nowhere"),
    "no target": (lambda path: path.symlink_to("none"), "a link that leads nowhere"),
    "a file for a folder": (lambda path: path.symlink_to("../x/1.txt/none"), "a link that leads nowhere"),
    "itself": (lambda path: path.symlink_to(path.name), "a link that leads nowhere"),
    "its own folder": (lambda path: path.symlink_to("."), "a link to a folder"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "a pipe": (os.mkfifo, "a pipe"),
}


@pytest.mark.parametrize(("make", "kind"), ODD_ENTRIES.values(), ids=ODD_ENTRIES)
def test_what_is_no_file_in_a_folder_is_passed_over_with_a_warning(
    make: Callable[[Path], object], kind: str, tmp_path: Path
) -> None:
    make(texts_folder(tmp_path) / "y" / "odd.txt")
    with pytest.warns(TfcrWarning, match=f"y/odd.txt passed over: it is {kind}; expected files and folders"):
        assert names_in(tmp_path) == TEXTS
    (tmp_path / "y" / "one.txt").symlink_to("none")
    with pytest.warns(TfcrWarning, match="y/odd.txt, and 1 more passed over"):
        assert len(read_corpus(tmp_path)) == 3


def test_a_link_to_a_file_is_read_and_hidden_links_are_not_mentioned(tmp_path: Path) -> None:
    (texts_folder(tmp_path) / "x" / "2.txt").symlink_to("../y/2.txt")
    (tmp_path / "x" / ".3.txt").symlink_to("none")
    assert names_in(tmp_path) == sorted([*TEXTS, "x/2.txt"])


def test_folders_nested_deeper_than_the_stack(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a"] * 300, "deep.txt")
    deep.parent.mkdir(parents=True)
    deep.write_text("text")
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)  # folders deeper than the usual limit could not be deleted
    try:
        names = names_in(tmp_path)
    finally:
        sys.setrecursionlimit(usual)
    assert names == [deep.relative_to(tmp_path).as_posix()]


@pytest.mark.parametrize("refused", ["scandir", "stat"])
def test_a_folder_that_may_not_be_read_is_an_error(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts_folder(tmp_path)
    (tmp_path / "y" / "4.txt").symlink_to("2.txt")
    original = getattr(os, refused)

    def refuse(path: Path | str, **options: bool) -> object:
        if Path(path).name in ("z", "4.txt"):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, **options)

    monkeypatch.setattr(os, refused, refuse)
    with pytest.raises(DataError, match=r"cannot read .*(z|4.txt): Permission denied"):
        names_in(tmp_path)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.bz2", "tar.xz", "zip", "csv.gz", "csv.bz2", "csv.xz"])
def test_mutated_archives_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    packs: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    plain = b"".join(tar_header(f"top/{n % 2}/{n}", 40) + padded(b"some text of %d" % n + bytes(25)) for n in range(8))
    whole = b"text,label\n" + b"a,b\n" * 100 if kind.startswith("csv") else plain + END
    ending = kind.rpartition(".")[2]
    whole = packs[ending](whole) if ending in packs else whole
    if kind == "zip":
        whole = vectors_zip("a/v.txt", "b/w.txt")
    path, random = tmp_path / f"a.{kind}", Random(kind)
    for _ in range(100):
        path.write_bytes(mutated(whole, random))
        try:
            [b"".join(member.chunks()) for member in archives.members(path)]
        except DataError as error:
            check_message(error)
