"""Modules that are imported when they are first used."""

import subprocess
import sys

import pytest

from tfcr.system.lazy import lazy_module


def test_a_module_is_imported_at_the_first_look() -> None:
    code = (
        "import sys; from tfcr.system.lazy import lazy_module; calendar = lazy_module('calendar'); "
        "print('calendar' in sys.modules, calendar.MONDAY == 0, 'calendar' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-S", "-c", code], check=False, capture_output=True, text=True)
    if result.returncode:  # without site there may be no tfcr
        result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "False True True\n"


def test_a_module_that_is_missing_says_so_when_it_is_used() -> None:
    missing = lazy_module("tfcr_has_no_such_module")
    with pytest.raises(ModuleNotFoundError, match="tfcr_has_no_such_module"):
        _ = missing.anything
