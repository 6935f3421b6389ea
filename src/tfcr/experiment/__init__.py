"""The paper's experiments: its protocol, a runner that can be killed, and its tables beside the published scores."""

from tfcr.experiment.own import OwnScheme
from tfcr.experiment.profiles import PAPER_SCHEMES, PROFILES, Profile
from tfcr.experiment.request import DatasetChoice, Request, VectorsChoice, Word2Vec
from tfcr.experiment.run import run_experiment
from tfcr.experiment.store import Results, open_results

__all__ = [
    "PAPER_SCHEMES",
    "PROFILES",
    "DatasetChoice",
    "OwnScheme",
    "Profile",
    "Request",
    "Results",
    "VectorsChoice",
    "Word2Vec",
    "open_results",
    "run_experiment",
]
