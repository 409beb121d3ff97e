"""Semantic textual similarity: how well cosines rank sentence pairs, by the protocol of the literature.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", section 6.1 and appendix B:
    plain cosine without a trained regressor, Spearman over all subsets concatenated (`all`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.seeding import derive
from mirrormask.core.similarity import paired_cosine
from mirrormask.data.sources import DatasetMissing
from mirrormask.data.sts import STS_SUITE, STS_TASKS, StsTask, load_sts
from mirrormask.evaluation.bootstrap import RESAMPLES, Difference, Estimate, difference, estimate, resampled
from mirrormask.evaluation.scores import AGGREGATIONS, aggregated, pearson, spearman, subset_rows
from mirrormask.evaluation.statistics import Statistic, over_subsets, over_subsets_by_size, pearson_of, spearman_of
from mirrormask.evaluation.vectors import Progress, TextVectors

CORRELATIONS = {"spearman": (spearman, spearman_of), "pearson": (pearson, pearson_of)}
