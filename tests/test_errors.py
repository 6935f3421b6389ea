"""What messages quote."""

import io

from tfcr.errors import in_one_line


def test_an_error_in_one_line() -> None:
    assert in_one_line(ValueError("a\nb")) == "a"
    assert in_one_line(KeyError()) == "KeyError"
    assert in_one_line(OSError(2, "is gone", "file")) == "is gone"
    assert in_one_line(io.UnsupportedOperation("no")) == "no"
