"""Explanations: where terms stand in the text."""

from tfcr import TfcrClassifier


def test_explanations_of_chinese_show_characters_and_bigrams_where_they_stand() -> None:
    texts = ["港股缩量回调2D", "港股大涨", "倚天屠龙记2D", "屠龙记概览"] * 3
    model = TfcrClassifier.from_preset("best", parts=["words", "bigrams"], embeddings=None)
    text = "ＮＥＷＳ：港股か\u3099缩量2D"  # composing moves what follows
    found = model.fit(texts, ["stocks", "stocks", "game", "game"] * 3).explain(text)
    spans = {word.word: [text[start:end] for start, end in word.spans] for word in found.words}
    assert spans == {
        word: [word.replace(" ", "").replace("d", "D")] for word in ("港", "股", "缩", "量", "2d", "港 股", "缩 量")
    }
    assert found.unknown == ("ｎｅｗｓ", "：", "が")
