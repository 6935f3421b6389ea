"""Archives: unpacking one file, and archives that are damaged or not to be trusted."""

import gzip
import io
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.data.files import pairs
from tests.file_server import vectors_zip, visible
from tfcr.data import read_corpus
from tfcr.errors import DataError
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
