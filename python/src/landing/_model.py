"""An estimator with the methods of scikit-learn."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._arrays import Array, names
from ._errors import UsageError
from ._problem import Problem
from ._run import Condition, Run, train

__all__ = ["Model"]


class Model:
    """A model that fits and samples as scikit-learn's KernelDensity does: get_params, set_params and clone work.

        model = landing.Model(problem, budget="1m").fit(points)
        samples = model.sample(1000, random_state=0)

    It has no score_samples: the model draws samples, and no density of them is known. fit takes no y.

    Attributes:
        run_: the Run of the last fit.
        n_features_in_, feature_names_in_: columns of the data, and their names if it was a DataFrame.
    """

    def __init__(
        self,
        problem: Problem | str | os.PathLike[str],
        *,
        budget: float | str | None = None,
        settings: Mapping[str, Any] | None = None,
        runs: str | os.PathLike[str] = "runs",
        workers: int = 0,
        progress: bool | None = None,
    ) -> None:
        self.problem, self.budget, self.settings = problem, budget, settings
        self.runs, self.workers, self.progress = runs, workers, progress

    def fit(self, X: Any, y: None = None) -> Model:  # noqa: N803
        """Trains on points, n×d, or a DataFrame, and returns the model. Raises what landing.train raises."""
        self.run_ = train(self.problem, X, budget=self.budget, settings=self.settings, runs=self.runs,
                          workers=self.workers, progress=self.progress)
        self.n_features_in_ = int(np.shape(X)[1])
        if columns := names(X):
            self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def sample(
        self, n_samples: int = 1, random_state: int | None = None, *, condition: Condition | None = None
    ) -> Array:
        """Draws samples, n×d, as Run.generate does: random_state is its seed. Raises UsageError before a fit."""
        if not hasattr(self, "run_"):
            raise UsageError("the model is not fitted: call fit(X) first")
        return self.run_.generate(n_samples, seed=random_state, condition=condition, workers=self.workers,
                                  progress=self.progress)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments that the model was made with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Model:
        """Replaces arguments, and returns the model."""
        for name, value in params.items():
            if name not in self.get_params():
                raise UsageError(f"a Model has no {name!r}; expected one of {', '.join(self.get_params())}", key=name)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"Model({self.problem!r}{', fitted' if hasattr(self, 'run_') else ''})"
