"""Pages that commands write: one HTML file each, which needs nothing else."""

from pathlib import Path

ENDINGS = (".html", ".htm")


def check_page(path: str, option: str) -> None:
    """Refuse a file that is no page or cannot be written, before any long work."""
    from tfcr.errors import DataError, InputError
    from tfcr.system.limits import is_folder

    if not path.lower().endswith(ENDINGS):
        raise InputError(f"found {option} {path}; expected a file that ends in .html")
    if is_folder(Path(path)):
        raise DataError(f"{path} is a folder; expected a file to write")
    if not is_folder(Path(path).parent):
        raise DataError(f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}")


def write_page(path: str, html: str) -> None:
    """Write a page; it appears when it is complete."""
    from tfcr.system.files import written_beside

    with written_beside(Path(path)) as file:
        file.write(html.encode("utf-8", "backslashreplace"))  # half of a surrogate pair stands in no file
