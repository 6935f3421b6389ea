import importlib
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pytest
from distributed import Client, LocalCluster
from distributed.security import Security

import tfcr.cluster
from tfcr.cluster import DaskPlaces, open_client, opening
from tfcr.errors import ClusterError, MissingExtraError


def refused(address: str) -> str:
    with pytest.raises(ClusterError) as error, open_client(address):
        pass
    text = str(error.value)
    assert "\n" not in text
    return text


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_an_address_where_nothing_listens_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CONNECTING", 1.0)
    began = time.monotonic()
    assert "found no Dask scheduler at tcp://127.0.0.1:" in (text := refused(f"tcp://127.0.0.1:{free_port()}"))
    assert "start it with dask scheduler, or type --dask local" in text
    assert time.monotonic() - began < 10


def test_a_server_that_says_nothing_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CONNECTING", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert "found no Dask scheduler at tcp://127.0.0.1:" in refused(f"tcp://127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:port", "tcp://"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert f"found no Dask scheduler at {address} (" in refused(address)


def test_tls_without_certificates_says_what_to_set() -> None:
    assert "and no certificates; expected Dask's settings to name them" in refused("tls://127.0.0.1:8786")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, to make a certificate")
def test_a_cluster_with_tls_is_opened_by_dasks_own_settings(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=tfcr-test"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    settings = {"distributed.comm.tls.ca-file": certificate}
    for role in ("client", "scheduler", "worker"):
        settings |= {f"distributed.comm.tls.{role}.cert": certificate, f"distributed.comm.tls.{role}.key": key}
    with dask.config.set(settings):
        cluster = LocalCluster(
            n_workers=1,
            protocol="tls://",
            host="127.0.0.1",
            security=Security(require_encryption=True),
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        )
        with cluster, open_client(cluster.scheduler_address) as client:
            assert client.scheduler.address.startswith("tls://")
            assert list(DaskPlaces(client).each(sum, [[1, 2]])) == [3]


def test_a_scheduler_without_workers_is_refused_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "WORKERS", 0.3)
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        text = refused(cluster.scheduler_address)
    assert "has had no workers for 0 seconds; expected one at least: start some with dask worker tcp://" in text


def test_the_address_of_a_worker_is_refused(client: Client) -> None:
    assert "found a Dask worker at tcp://" in refused(next(iter(client.nthreads())))


def test_a_cluster_is_opened_by_its_address(client: Client) -> None:
    with open_client(client.scheduler.address) as opened:
        assert opened.submit(sum, [1, 2]).result() == 3


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ({"tfcr": "9.9", "Python": "3.11"}, r"the worker tcp://\S+ has tfcr 9\.9; expected tfcr \S+, as here: pip"),
        ({"tfcr": "", "Python": "3.11"}, r"the worker tcp://\S+ has no tfcr; expected tfcr"),
        ({"tfcr": None, "Python": "2.7"}, r"the worker tcp://\S+ has Python 2\.7; expected Python 3"),
    ],
)
def test_other_versions_on_workers_are_named(
    theirs: dict[str, Any], message: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {**theirs, "tfcr": opening._ours()["tfcr"] if theirs["tfcr"] is None else theirs["tfcr"]}
    monkeypatch.setattr(opening, "_teller", lambda: lambda: told)
    with pytest.raises(ClusterError, match=message):
        opening.check_versions(client)


def test_the_function_that_tells_versions_needs_no_tfcr() -> None:
    code = cloudpickle.dumps(opening._teller())
    program = f"import sys, pickle; sys.modules['tfcr'] = None; print(pickle.loads({code!r})())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str(opening._ours())


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "distributed", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'tfcr\[dask\]'"):
            importlib.reload(tfcr.cluster)
    importlib.reload(tfcr.cluster)


def test_a_local_cluster_ends_with_its_block() -> None:
    before = threading.active_count()
    with open_client("local", processes=1) as client:
        assert list(client.nthreads().values()) == [1]
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
    deadline = time.monotonic() + 10
    while threading.active_count() > before + 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert client.status == "closed"
