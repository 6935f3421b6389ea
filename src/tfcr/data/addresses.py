"""Addresses of files elsewhere, such as ``s3://bucket/posts.csv``: telling them from paths, and naming them."""

import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(source: str) -> bool:
    """Return whether a source is an address, and no path.

    >>> is_address("s3://bucket/a.csv"), is_address("data/a.csv")
    (True, False)
    """
    return _ADDRESS.match(source) is not None


def scheme_of(address: str) -> str:
    """Return what an address begins with, in lower case.

    >>> scheme_of("HTTPS://example.org/a.csv")
    'https'
    """
    return address.partition("://")[0].lower()


def shown_address(address: str) -> str:
    """Return an address as messages show it and models keep it: without passwords and what else may be secret.

    >>> shown_address("https://me:word@example.org/a.csv?signature=1f0e")
    'https://example.org/a.csv'
    """
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{_without_query(scheme, path)}"


def file_name(address: str) -> str:
    """Return the name that a copy of the file gets: the last part of its path.

    >>> file_name("https://example.org/data/a.csv.gz?version=2"), file_name("https://example.org/..")
    ('a.csv.gz', 'data')
    """
    path = _without_query(scheme_of(address), address.partition("://")[2])
    name = PurePosixPath("/" + path.replace("\\", "/").replace("\0", "")).name
    return name[-200:] if name not in ("", ".", "..") and "/" in path else "data"


def _without_query(scheme: str, path: str) -> str:
    """Return a path without query and fragment, which only the web has: elsewhere a name may hold ``?``."""
    return urlsplit(f"//host/{path}").path[1:] if scheme.lower() in ("http", "https") else path
