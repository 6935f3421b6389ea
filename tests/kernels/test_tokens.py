"""Every character is an action of the kernel."""

import pytest

from tests.text.test_native_counts import NAMES, check
from tfcr.kernels.actions import ALONE, END, KEEP, MARK, MORE, SKIP, SYMBOL
from tfcr.text.tokenizers import TOKENIZERS


@pytest.mark.parametrize("name", NAMES)
def test_every_character_is_treated_as_by_the_plain_path(name: str) -> None:
    texts = [f"a{chr(code)}b{chr(code)}" for code in range(0x3000)] + [f"x{chr(c)}y" for c in range(0x3000, 0x30000, 7)]
    check(name, texts, None, 2)
    check(name, [f"中{chr(code)}文,{chr(code)}" for code in range(0x20100) if not 0x3500 < code < 0xFA00], None, 2)


def test_the_kernel_and_the_tables_mean_the_same() -> None:
    actions = TOKENIZERS["words"].actions()
    assert [actions[ord(c)] for c in ("a", "_", " ", "\u0301")] == [KEEP, KEEP, END, MORE]
    assert TOKENIZERS["paper"].actions()[ord("_")] == SKIP
    actions = TOKENIZERS["symbols"].actions()
    assert [actions[ord(c)] for c in ("a", "!", "中", "\u3099", "\u200b")] == [KEEP, SYMBOL, ALONE, MARK, END]
