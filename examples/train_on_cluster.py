"""Train on a Dask cluster from files that all of its machines can read, and predict there.

On one machine, say 10.0.0.1, start the scheduler, and on each machine a worker per processor::

    dask scheduler --host 10.0.0.1 --port 8786
    dask worker tcp://10.0.0.1:8786 --nworkers auto --nthreads 1

Then, on any of them (the folder /shared is the same on all)::

    python train_on_cluster.py tcp://10.0.0.1:8786 '/shared/*.csv' -o model

The same on the command line: ``tfcr train '/shared/*.csv' --preset fast --dask tcp://10.0.0.1:8786 -o model``.
"""

import argparse
import sys

from tfcr import TfcrClassifier, TfcrError
from tfcr.cluster import DaskPlaces, open_client
from tfcr.data.labelled_stream import labelled_stream
from tfcr.evaluation.streams import train_stream


def main() -> None:
    """Train a model, and print on how many hosts."""
    parser = argparse.ArgumentParser(description="Train on a Dask cluster.")
    parser.add_argument("address", help="of the scheduler, or local")
    parser.add_argument("data", nargs="+", help="files that all workers can read, with columns text and label")
    parser.add_argument("-o", "--output", required=True, help="folder for the model")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--workers", type=int, default=1, help="wait until there are so many")
    asked = parser.parse_args()
    with open_client(asked.address) as client, labelled_stream(asked.data) as stream:
        client.wait_for_workers(asked.workers, timeout=60)
        hosts = {worker["host"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()}
        print(f"{len(client.nthreads())} workers on {len(hosts)} hosts: {', '.join(sorted(hosts))}")
        model = TfcrClassifier.from_preset(asked.preset)
        scores = train_stream(model, stream, folds=3, places=DaskPlaces(client))
    model.save(asked.output, scores=scores)
    for name, score in scores.items():
        print(f"{name}: {score:.3f}")
    print(f"saved to {asked.output}: {len(model.classes_)} classes, {model.training_['documents']:.0f} documents")


if __name__ == "__main__":  # processes of a local cluster import this file, and must not run it
    try:
        main()
    except TfcrError as error:
        sys.exit(f"error: {error}")
