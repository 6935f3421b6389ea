"""How long work reports its progress."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with the work done so far and the total."""
