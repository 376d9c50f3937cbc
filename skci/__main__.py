"""The commands ``skci`` and ``python -m skci``.

Without arguments, the commands print a joint report on data from scikit-learn.
"""

import sys

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skci import JointEvaluator
from skci.cli.main import main as run

_NEXT = """
Next steps with your data, and the pages of the documentation that explain them:

  skci.JointEvaluator(models).evaluate(X_test, y_test)            quickstart.rst
  skci.joint_report(y_test, {"A": y_pred_a, "B": y_pred_b})       comparing.rst
  skci.cross_validate_report(models, X, y, metrics="f1")          cross_validation.rst

python -m skci --help lists the commands for files of predictions, see shell.rst."""


def main() -> int:
    """Run the command given by the arguments, by default a demonstration."""
    if len(sys.argv) > 1:
        return run()
    demonstrate()
    return 0


def demonstrate() -> None:
    """Fit three classifiers, and print a report on held-out rows."""
    digits = load_digits()
    X_train, X_test, y_train, y_test = train_test_split(
        digits.data, digits.target == 8, test_size=0.8, random_state=0
    )
    estimators = {
        "1-NN": KNeighborsClassifier(n_neighbors=1),
        "Logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "Random forest": RandomForestClassifier(random_state=0),
    }
    for estimator in estimators.values():
        estimator.fit(X_train, y_train)
    evaluator = JointEvaluator(estimators, metrics=["accuracy", "f0.5", "mcc"])
    report = evaluator.evaluate(X_test, y_test)
    print(f"Which of {len(y_test)} handwritten digits are an 8? Three classifiers")
    print(f"learned it from {len(y_train)} others.\n\n{report}\n")
    print("With 95% confidence, all at once:", *report.findings(), sep="\n- ")
    print(_NEXT)


if __name__ == "__main__":
    sys.exit(main())
