"""Counters, of one process and of several."""

import re
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from tfcr.serving.metrics import BUCKETS, CONTENT_TYPE, SIZE, Metrics

LINE = re.compile(r'[a-z_]+(\{[a-z]+="(\\.|[^"\\])*"(,[a-z]+="(\\.|[^"\\])*")*\})? [0-9.e+-]+')


def test_every_line_is_of_the_format(client: TestClient) -> None:
    client.post("/predict", json={"texts": ["a", "b"]})
    client.get("/nothing")
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == CONTENT_TYPE
    lines = answer.text.splitlines()
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in lines)
    assert "tfcr_texts_total 2" in lines
    assert "tfcr_queue 0" in lines
    assert 'tfcr_requests_total{path="/predict",status="200"} 1' in lines
    assert 'tfcr_requests_total{path="other",status="404"} 1' in lines
    assert any(line.startswith('tfcr_model_info{model="tickets",hash="') for line in lines)


def test_a_status_that_is_not_known_is_no_error_of_the_server() -> None:
    metrics = Metrics()
    for status in (206, 304, 416, 418, 100):
        metrics.count("/files/x/download/y", status, 0.1)
    text = metrics.text({}, 0)
    for name, n in {"206": 1, "304": 1, "416": 1, "other": 2}.items():
        assert f'tfcr_requests_total{{path="/files",status="{name}"}} {n}' in text
    assert 'status="500"' not in text


def test_buckets_are_cumulative() -> None:
    metrics = Metrics()
    for seconds in (0.0001, 0.02, 99.0):
        metrics.count("/predict", 200, seconds)
    counts = [int(n) for n in re.findall(r'_bucket\{path="/predict",le="[^"]+"\} (\d+)', metrics.text({}, 0))]
    assert len(counts) == len(BUCKETS) + 1
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 3)


def test_the_counters_of_workers_are_added_up(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    metrics.add("texts", 3)
    metrics.add("waiting")
    ended = np.zeros(SIZE)
    ended[:] = metrics.values
    ended.tofile(tmp_path / "999999999.counters")  # a worker that has ended: what waited there waits no longer
    (tmp_path / "1.counters").write_bytes(b"cut")
    text = metrics.text({'a "name"\n': "hash"}, 0)
    assert "tfcr_texts_total 6" in text
    assert "tfcr_queue 1" in text
    assert 'model="a \\"name\\"\\n"' in text
