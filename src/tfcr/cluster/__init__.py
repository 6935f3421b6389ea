"""Work on a Dask cluster: counting, sums over shards, prediction and grids; needs the extra ``dask``, checked here."""

from tfcr.errors import MissingExtraError

try:
    import distributed  # noqa: F401
except ImportError:
    raise MissingExtraError("working on a cluster", "dask") from None

from tfcr.cluster.dask import DaskPlaces
from tfcr.cluster.opening import open_client

__all__ = ["DaskPlaces", "open_client"]
