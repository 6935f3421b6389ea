"""Random damage to bytes, for tests with a seed."""

from random import Random

ODD = (b"", b"\0", b"\xff", b"9" * 30, b"-1", b"\n", b" ", b"[" * 50, b"nan", b"1e999")
"""What is written over a stretch of a file."""


def check_message(error: Exception) -> None:
    """An error of ours has one line."""
    assert "\n" not in str(error)


def mutated(content: bytes, random: Random) -> bytes:
    """Return the bytes after one to three changes: a flipped bit, a stretch cut out, doubled or replaced, or an end."""
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(content) + 1)
        end = min(len(content), at + random.choice((1, 1, 2, 8, 100)))
        part = content[at:end]
        replaced = random.choice(
            (
                bytes(byte ^ 1 << random.randrange(8) for byte in part),
                part + part,
                random.choice(ODD),
                random.randbytes(len(part)),
            )
        )
        content = content[:at] if random.random() < 0.1 else content[:at] + replaced + content[end:]
    return content
