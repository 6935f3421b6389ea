"""The example on two hosts: network namespaces, each with an address of its own and a worker."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from tests.cluster.conftest import cluster_corpus
from tfcr import load

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_on_cluster.py"
HOSTS = {"tfcr-one": "10.213.77.1", "tfcr-two": "10.213.77.2"}
ADDRESS = "tcp://10.213.77.1:8786"

pytestmark = pytest.mark.slow


def ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True, timeout=20)


@pytest.fixture
def hosts() -> Iterator[None]:
    try:
        for host in HOSTS:
            ip("netns", "del", host, check=False)
            ip("netns", "add", host)
        ip(
            "link",
            "add",
            "tfcr-v1",
            "netns",
            "tfcr-one",
            "type",
            "veth",
            "peer",
            "name",
            "tfcr-v2",
            "netns",
            "tfcr-two",
        )
        for (host, address), device in zip(HOSTS.items(), ("tfcr-v1", "tfcr-v2"), strict=True):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", host, "link", "set", device, "up")
            ip("-n", host, "link", "set", "lo", "up")
    except (OSError, subprocess.SubprocessError) as error:
        for host in HOSTS:
            subprocess.run(["sh", "-c", f"ip netns del {host}"], check=False, capture_output=True)
        pytest.skip(f"network namespaces cannot be made here, which stand in for hosts: {error}")
    yield
    for host in HOSTS:
        ip("netns", "del", host, check=False)


def on(host: str, *command: object) -> list[str]:
    return ["ip", "netns", "exec", host, sys.executable, *map(str, command)]


def test_the_example_trains_on_two_hosts(hosts: None, tmp_path: Path) -> None:
    corpus = cluster_corpus(600)
    for number in range(2):
        some = slice(300 * number, 300 * number + 300)
        frame = pl.DataFrame({"text": corpus.texts[some], "label": corpus.labels[some]})
        frame.write_csv(tmp_path / f"part-{number}.csv")
    environment = {**os.environ, "TFCR_THREADS": "1", "DASK_TEMPORARY_DIRECTORY": str(tmp_path / "dask")}
    with ExitStack() as stack:

        def start(host: str, *command: object) -> None:
            process = subprocess.Popen(
                on(host, "-m", *command), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)

        start("tfcr-one", "distributed.cli.dask_scheduler", "--host", HOSTS["tfcr-one"], "--port", 8786)
        time.sleep(2)
        for host, address in HOSTS.items():
            worker = ("--host", address, "--nworkers", 1, "--nthreads", 1, "--no-dashboard")
            start(host, "distributed.cli.dask_worker", ADDRESS, *worker)
        more = ("--workers", 2, "-o", tmp_path / "model")
        command = on("tfcr-one", EXAMPLE, ADDRESS, tmp_path / "part-*.csv", *more)
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("2 workers on 2 hosts: 10.213.77.1, 10.213.77.2")
    assert load(tmp_path / "model").classes_.tolist() == ["class 0", "class 1", "class 2"]
