"""The paper's abalone example: a joint report by each method of intervals.

Six rings against the rest, 844 random training rows, three classifiers.

    python benchmarks/abalone.py --data FOLDER

FOLDER holds ``abalone.data`` of the UCI Machine Learning Repository.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skci import JointEvaluator
from skci.exceptions import SmallSampleWarning

TRAINING_ROWS = 844
METHODS = ("delta", "blurred", "plus-four", "score")


def load(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the features, sex one-hot, and whether an abalone has six rings."""
    rows = np.genfromtxt(folder / "abalone.data", delimiter=",", dtype=str)
    sex = OneHotEncoder(sparse_output=False, drop="first").fit_transform(rows[:, :1])
    numbers = rows[:, 1:].astype(float)
    return np.hstack([sex, numbers[:, :-1]]), numbers[:, -1] == 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of abalone.data"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    X, y = load(options.data)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=TRAINING_ROWS, random_state=options.seed
    )
    logistic = LogisticRegression(C=np.inf, max_iter=2000)
    rules = {
        "1-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "Logistic": make_pipeline(StandardScaler(), logistic),
        "Random forest": RandomForestClassifier(random_state=options.seed),
    }
    for rule in rules.values():
        rule.fit(X_train, y_train)
    for method in METHODS:
        evaluator = JointEvaluator(rules, ["accuracy", "f0.5"], method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallSampleWarning)
            report = evaluator.evaluate(X_test, y_test)
            print(report, *report.findings(), "", sep="\n")


if __name__ == "__main__":
    main()
