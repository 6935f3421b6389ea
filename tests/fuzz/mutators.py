"""Mutations of bytes, and of what the bytes stand for: each takes a source of random numbers and content.

To add one, write a function and add a row: to BYTES if it suits any file, to STRUCTURES by the ending of the files
whose format it knows. A mutation that does not fit returns its content as it is.
"""

import bz2
import gzip
import io
import json
import re
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

Mutate = Callable[[Random, bytes], bytes]

MOST_BYTES = 1 << 18
"""Most mutants stay this small: many small ones find more than a few large ones."""
HUGE = (1 << 20, 1 << 22)
"""How large the rare large ones grow, to find work that is quadratic."""
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32),
    *(2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**31), -(2**63), 10**9, 50_000_000, 10**30),
)
DIGITS = "9" * 5000
"""More than Python converts to an integer."""
TOKENS: tuple[bytes, ...] = (
    *(b'"', b"'", b'""', b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b",", b";", b"|", b" ", b"\\", b"\0", b"\x1a", b"="),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\xff", b"\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"),
    *(b"\xed\xa0\x80", b"\xed\xb0\x80", "\u2028".encode(), "\x85".encode(), "\u200b".encode(), "\u0301".encode() * 40),
    *(b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"0x10", b"1_000", b"-0", b"1.", b".5", b"1e5", DIGITS.encode()),
    *(b"null", b"true", b"{}", b"[]", b"[" * 2000, b'{"a":' * 2000, b"\\ud800", b'"\\u0000"', b"__label__", b"# "),
    *(b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;", b"&#0;", b"<![CDATA[", b"]]>", b"<!--", b"</", b"../", b"/etc/passwd"),
    *("日本".encode(), "é".encode("latin-1"), "e\u0301".encode(), "İ".encode(), "ß".encode(), "\U0001f600".encode()),
)
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252", "gb18030", "shift_jis")


# bytes ---------------------------------------------------------------------------------------------------------------


def _span(random: Random, data: bytes, most: int = 64) -> tuple[int, int]:
    """Return a stretch of the content, mostly a short one."""
    first = random.randrange(len(data) + 1)
    length = random.randint(1, most) if random.random() < 0.8 else random.randint(1, max(1, len(data)))
    return first, min(len(data), first + length)


def _put(data: bytes, first: int, last: int, new: bytes) -> bytes:
    return data[:first] + new + data[last:]


def flip_bit(random: Random, data: bytes) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return _put(data, place, place + 1, bytes([data[place] ^ 1 << random.randrange(8)]))


def set_byte(random: Random, data: bytes) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return _put(data, place, place + 1, random.choice((b"\0", b"\xff", b"\x80", b"\n", b'"', random.randbytes(1))))


def insert_bytes(random: Random, data: bytes) -> bytes:
    place = random.randrange(len(data) + 1)
    return _put(data, place, place, random.randbytes(random.randint(1, 16)))


def insert_token(random: Random, data: bytes) -> bytes:
    place = random.randrange(len(data) + 1)
    return _put(data, place, place, random.choice(TOKENS) * random.choice((1, 1, 1, 2, 50)))


def overwrite_with_token(random: Random, data: bytes) -> bytes:
    first, last = _span(random, data, 8)
    return _put(data, first, last, random.choice(TOKENS))


def delete_span(random: Random, data: bytes) -> bytes:
    return _put(data, *_span(random, data), b"")


def duplicate_span(random: Random, data: bytes) -> bytes:
    first, last = _span(random, data)
    return _put(data, last, last, data[first:last] * random.choice((1, 1, 2, 10)))


def move_span(random: Random, data: bytes) -> bytes:
    first, last = _span(random, data)
    rest = data[:first] + data[last:]
    place = random.randrange(len(rest) + 1)
    return _put(rest, place, place, data[first:last])


def truncate(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def grow(random: Random, data: bytes) -> bytes:
    """Repeat a stretch until the content is large, and now and then very large."""
    first, last = _span(random, data)
    size = random.choice(HUGE) if random.random() < 0.02 else random.choice((4_000, 70_000, MOST_BYTES))
    return _put(data, last, last, data[first:last] * max(1, size // max(1, last - first)))


def put_integer(random: Random, data: bytes) -> bytes:
    """Overwrite one, two, four or eight bytes with a number that programs stumble over."""
    size = random.choice((1, 2, 4, 8))
    number = (random.choice(NUMBERS) + random.choice((0, 0, 1, -1))) % (1 << 8 * size)
    place = random.randrange(max(1, len(data) - size + 1))
    return _put(data, place, place + size, number.to_bytes(size, random.choice(("little", "big"))))


def put_number(random: Random, data: bytes) -> bytes:
    """Replace a number that is written in digits."""
    found = list(re.finditer(rb"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", data[: 1 << 14]))
    if not found:
        return data
    place = random.choice(found)
    return _put(data, place.start(), place.end(), _number_text(random).encode())


def _number_text(random: Random) -> str:
    return random.choice(
        (str(random.choice(NUMBERS)), "nan", "inf", "-1e400", "1e308", "0.1", "1e-320", DIGITS, "", "x", "1:9:0")
    )


def shuffle_lines(random: Random, data: bytes) -> bytes:
    """Swap, repeat or drop lines."""
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.randrange(3)
    if how == 0:
        lines[one], lines[two] = lines[two], lines[one]
    elif how == 1:
        lines[one:one] = [lines[two]] * random.choice((1, 2, 30))
    else:
        del lines[one]
    return b"\n".join(lines)


def reencode(random: Random, data: bytes) -> bytes:
    """Write the text in another encoding, mostly with a BOM that tells it, sometimes with none or a wrong one."""
    with suppress(UnicodeError):
        return data.decode().encode(random.choice(ENCODINGS), "replace")
    return data


def pack(random: Random, data: bytes) -> bytes:
    return random.choice((gzip.compress(data, 1, mtime=0), bz2.compress(data, 1)))


BYTES: tuple[Mutate, ...] = (
    *(flip_bit, set_byte, insert_bytes, insert_token, overwrite_with_token, delete_span, duplicate_span, move_span),
    *(truncate, grow, put_integer, put_number, shuffle_lines, flip_bit, set_byte, insert_token, put_integer),
)
RARE: tuple[Mutate, ...] = (reencode, pack)


def mutate_bytes(random: Random, data: bytes) -> bytes:
    """Apply one mutation that suits any content."""
    return random.choice(RARE if random.random() < 0.03 else BYTES)(random, data)


# JSON ----------------------------------------------------------------------------------------------------------------

_MARKS = {
    "@digits@": DIGITS,
    "@deep@": "[" * 3000 + "]" * 3000,
    "@nan@": "NaN",
    "@infinity@": "-Infinity",
    "@big@": "1e999",
}
"""What json.dumps does not write, by what stands for it until then."""


def other_value(random: Random) -> Any:
    """Return a value that is probably not what was expected."""
    return random.choice(
        (
            *(
                None,
                True,
                False,
                "",
                "x",
                "\ud800",
                "\0",
                "a" * 300,
                [],
                {},
                [[]],
                [None],
                {"": 0},
                [1, "1"],
                -1.5,
                1e300,
            ),
            *(0, -1, random.choice(NUMBERS), str(random.choice(NUMBERS)), *_MARKS, list(range(40)), "../x", "nan"),
        )
    )


def edit_json(random: Random, tree: Any) -> Any:
    """Return a tree of JSON with one place changed."""
    if not isinstance(tree, dict | list) or not tree or random.random() < 0.1:
        return other_value(random)
    keys: list[Any] = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = random.choice(keys)
    new = tree.copy()
    how = random.random()
    if how < 0.7:
        new[key] = edit_json(random, tree[key])
    elif how < 0.8:
        del new[key]
    elif isinstance(new, dict):
        new[random.choice(("", "x", str(key).upper(), *map(str, keys)))] = random.choice(
            (tree[key], other_value(random))
        )
    else:
        new.insert(random.randrange(len(new) + 1), random.choice((tree[key], other_value(random))))
    return new


def dump_json(tree: Any) -> bytes:
    text = json.dumps(tree)
    for mark, stands_for in _MARKS.items():
        text = text.replace(f'"{mark}"', stands_for)
    return text.encode()


def mutate_json(random: Random, data: bytes) -> bytes:
    with suppress(ValueError, RecursionError):
        return dump_json(edit_json(random, json.loads(data)))
    return data


def mutate_json_lines(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    number = random.randrange(len(lines))
    lines[number] = mutate_json(random, lines[number])
    return b"\n".join(lines)


# arrays and tables ---------------------------------------------------------------------------------------------------


def mutate_npy(random: Random, data: bytes) -> bytes:
    """Edit the header of a .npy file: its type, its order, its shape, or its length."""
    if not data.startswith(b"\x93NUMPY") or len(data) < 12:
        return data
    size = int.from_bytes(data[8:10], "little")
    header = data[10 : 10 + size].decode("latin-1")
    kinds = ("<f4", "<f8", "<f2", ">f4", "|O", "|V4", "<U3", "<i8", "|b1", "<c8", "<M8[s]", "[('a','<f4')]", "x", "")
    shape = ", ".join(str(random.choice(NUMBERS)) for _ in range(random.randrange(4)))
    edits: tuple[tuple[str, str], ...] = (
        (r"'descr': '[^']*'", f"'descr': '{random.choice(kinds)}'"),
        (r"\([^)]*\)", f"({shape})"),
        (r"\([^)]*\)", f"({shape},)"),
        (r"False", "True"),
        (r"'shape'", "'shap'"),
        (r"\{.*\}", "(" * random.choice((1, 300)) + "{}"),
    )
    pattern, new = random.choice(edits)
    edited = re.sub(pattern, lambda _: new, header).encode("latin-1", "replace")
    length = len(edited) if random.random() < 0.9 else random.choice(NUMBERS) % 65536
    version = bytes((random.choice((1, 1, 1, 2, 3, 9)), 0))
    return data[:6] + version + struct.pack("<H", length % 65536) + edited + data[10 + size :]


def split_safetensors(data: bytes) -> tuple[Any, bytes]:
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def join_safetensors(header: Any, content: bytes) -> bytes:
    text = dump_json(header)
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + content


def mutate_safetensors(random: Random, data: bytes) -> bytes:
    """Edit the header, or the numbers of one tensor, or repeat a word of a word list."""
    try:
        header, content = split_safetensors(data)
    except (ValueError, RecursionError):
        return data
    if not isinstance(header, dict):
        return data
    tensors = [name for name in header if name != "__metadata__" and isinstance(header[name], dict)]
    how = random.random()
    if how < 0.3 or not tensors:
        return join_safetensors(edit_json(random, header), content)
    facts = header[random.choice(tensors)]
    try:
        first, last = facts["data_offsets"]
        part = content[first:last]
    except (KeyError, TypeError, ValueError):
        return data
    if how < 0.4:
        facts["dtype"] = random.choice(
            ("F16", "BF16", "F32", "F64", "I8", "I16", "I32", "I64", "U8", "U64", "BOOL", "C64")
        )
        return join_safetensors(header, content)
    if how < 0.5:
        one, two = random.sample(tensors, 2) if len(tensors) > 1 else (tensors[0], tensors[0])
        header[one], header[two] = header[two], header[one]
        return join_safetensors(header, content)
    return join_safetensors(header, content[:first] + _mutate_numbers(random, part) + content[last:])


def _mutate_numbers(random: Random, part: bytes) -> bytes:
    """Change some of the numbers in an array, and not its size."""
    if not part:
        return part
    size = random.choice([width for width in (1, 4, 8) if len(part) % width == 0])
    place, other = (size * random.randrange(len(part) // size) for _ in range(2))
    number = (random.choice(NUMBERS) % 2 ** (8 * size)).to_bytes(size, "little")
    if size > 1 and random.random() < 0.5:
        float_value = random.choice((float("nan"), float("inf"), -1e30, 1e-40, 0.0, 3e38, -1.0))
        number = struct.pack("<f" if size == 4 else "<d", float_value)
    value = part[other : other + size] if random.random() < 0.4 else number
    return _put(part, place, place + size, value)


def mutate_header(random: Random, data: bytes) -> bytes:
    """Let the first line of a vector file claim other numbers of words and dimensions."""
    first, newline, rest = data.partition(b"\n")
    numbers = [str(random.choice(NUMBERS)).encode() if random.random() < 0.6 else part for part in first.split()[:2]]
    return b" ".join(numbers) + newline + rest if len(numbers) == 2 else data


def mutate_parquet(random: Random, data: bytes) -> bytes:
    """Change the footer, which tells where everything is, or its length."""
    if len(data) < 12 or data[-4:] != b"PAR1":
        return data
    size = int.from_bytes(data[-8:-4], "little")
    start = max(4, len(data) - 8 - size)
    footer = data[start:-8]
    if random.random() < 0.15:
        return data[:-8] + (random.choice(NUMBERS) % 2**32).to_bytes(4, "little") + b"PAR1"
    for _ in range(random.randint(1, 3)):
        footer = random.choice((flip_bit, set_byte, put_integer, delete_span, duplicate_span))(random, footer)
    length = len(footer) if random.random() < 0.8 else size
    return data[:start] + footer + length.to_bytes(4, "little") + b"PAR1"


def mutate_sqlite(random: Random, data: bytes) -> bytes:
    """Put another value into a cell of a table, or change the tables themselves."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(data)
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = random.choice(names)
        connection.execute("PRAGMA writable_schema = ON")
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = random.choice(columns)
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        row, value = random.choice(rows)
        how = random.random()
        if how < 0.85:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (_other_cell(random, value), row))
        elif how < 0.9:
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        elif how < 0.95:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        else:
            pragma = random.choice(("user_version", "application_id"))
            connection.execute(f"PRAGMA {pragma} = {random.choice(NUMBERS) % 2**31}")
        connection.commit()
        return connection.serialize()
    except (sqlite3.Error, IndexError, OverflowError, UnicodeError, MemoryError):  # the last one for an empty file
        return data
    finally:
        connection.close()


def _other_cell(random: Random, value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "[") and random.random() < 0.7:
        return mutate_json(random, value.encode()).decode("utf-8", "replace")
    return random.choice(
        (None, "", b"\xff", "x", 0, -1, 2**63 - 1, 1e300, float("inf"), b"\0" * 9, "[]", DIGITS, value)
    )


# archives ------------------------------------------------------------------------------------------------------------


def mutate_gzip(random: Random, data: bytes) -> bytes:
    """Change what is inside of a compressed file; its wrapping stays right."""
    for unpacker, packer in (
        (gzip.decompress, lambda inner: gzip.compress(inner, 1, mtime=0)),
        (bz2.decompress, bz2.compress),
    ):
        with suppress(OSError, EOFError, ValueError, zlib.error):
            inner = unpacker(data)
            inside = mutate_tar if inner[257:262] == b"ustar" and random.random() < 0.7 else mutate_bytes
            return packer(inside(random, inner))
    return data


def mutate_tar(random: Random, data: bytes) -> bytes:
    """Change a field of a header of a tar archive, and make its checksum right again."""
    heads = [place for place in range(0, len(data), 512) if data[place + 257 : place + 262] == b"ustar"]
    if not heads:
        return data
    place = random.choice(heads)
    head = bytearray(data[place : place + 512])
    number = random.choice(NUMBERS)
    octal = b"%011o\0" % (number % 8**11)
    binary = b"\x80" + (number % 2**88).to_bytes(11, "big")
    fields: tuple[tuple[int, int, bytes], ...] = (
        (124, 12, octal),
        (124, 12, binary),
        (156, 1, random.choice((b"0", b"1", b"2", b"3", b"5", b"6", b"x", b"g", b"L", b"S", b"K", b"\xff"))),
        (0, 100, random.choice(TOKENS)[:100].ljust(100, b"\0")),
        (157, 100, random.choice((b"/etc/passwd", b"../x", b"0.txt", b"\xff"))[:100].ljust(100, b"\0")),
        (100, 8, b"\xff" * 8),
        (random.randrange(500), 4, random.randbytes(4)),
    )
    start, size, new = random.choice(fields)
    head[start : start + size] = new[:size]
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head[:512])
    return data[:place] + bytes(head) + data[place + 512 :]


def mutate_zip(random: Random, data: bytes) -> bytes:
    """Change a field of a header, or what is inside of one of the files."""
    if random.random() < 0.5:
        return _mutate_inside_zip(random, data)
    heads = [match.start() for match in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    if not heads:
        return data
    place = random.choice(heads) + 4 + random.randrange(42)
    size = random.choice((1, 2, 4))
    new = random.choice(NUMBERS) % 2 ** (8 * size)
    return _put(data, place, place + size, new.to_bytes(size, "little"))


def _mutate_inside_zip(random: Random, data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, KeyError):
        return data
    if not files:
        return data
    name = random.choice(list(files))
    how = random.random()
    if how < 0.85:
        files[name] = mutate_bytes(random, files[name])
    elif how < 0.95:
        del files[name]
    else:
        files[random.choice(("../x", "/x", "a\0b", "é", "x" * 300))] = files[name]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inner in files.items():
            archive.writestr(zipfile.ZipInfo(name), inner)
    return content.getvalue()


STRUCTURES: dict[str, tuple[Mutate, ...]] = {
    ".json": (mutate_json,),
    ".jsonl": (mutate_json_lines, put_number),
    ".npy": (mutate_npy,),
    ".safetensors": (mutate_safetensors,),
    ".vec": (mutate_header, put_number, shuffle_lines),
    ".bin": (mutate_header,),
    ".toml": (put_number, shuffle_lines),
    ".parquet": (mutate_parquet,),
    ".sqlite": (mutate_sqlite,),
    ".gz": (mutate_gzip,),
    ".tgz": (mutate_gzip,),
    ".bz2": (mutate_gzip,),
    ".bz": (mutate_gzip,),
    ".tar": (mutate_tar,),
    ".zip": (mutate_zip,),
    ".xlsx": (mutate_zip,),
    ".raw": (_mutate_numbers,),
}
"""Mutations that know a format, by the ending of its files."""


def mutate_file(random: Random, name: str, data: bytes, other: bytes) -> bytes:
    """Mutate the content of a file one to four times; `other` is a file of another seed, to be joined with it."""
    structures = next((known for ending, known in STRUCTURES.items() if name.endswith(ending)), ())
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        chosen = random.random()
        if structures and chosen < 0.55:
            with suppress(TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError):
                # an earlier mutation may have left nothing that this one knows
                data = random.choice(structures)(random, data)
        elif chosen < 0.6 and other:
            data = data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other)) :]
        else:
            data = mutate_bytes(random, data)
        if len(data) > MOST_BYTES and random.random() < 0.9:
            data = data[:MOST_BYTES]
    return data
