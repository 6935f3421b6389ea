"""The paper's experiments: its protocol, a runner that can be killed, and its tables beside the published scores."""

from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.named_systems import resolve_system
from tfcr.experiment.plan.own_schemes import OwnScheme
from tfcr.experiment.plan.profiles import PAPER_SCHEMES, PROFILES, Profile
from tfcr.experiment.plan.request import DatasetChoice, Request, VectorsChoice
from tfcr.experiment.plan.systems import System, TextSystem
from tfcr.experiment.plan.word2vec import Word2Vec
from tfcr.experiment.results.store import Results, open_results
from tfcr.experiment.run.runner import Reporter, run_experiment

__all__ = [
    "PAPER_SCHEMES",
    "PROFILES",
    "ClassSizes",
    "DatasetChoice",
    "OwnScheme",
    "Profile",
    "Reporter",
    "Request",
    "Results",
    "System",
    "TextSystem",
    "VectorsChoice",
    "Word2Vec",
    "open_results",
    "resolve_system",
    "run_experiment",
]
