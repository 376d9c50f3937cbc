"""Strengths of models from pairwise votes."""

import json
import pickle
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from skci import votes_report
from skci.cli.main import main
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

# Games of the 1987 season in the Eastern Division of the American League, of Agresti
# (2002), Categorical Data Analysis, p. 438, as in the R package BradleyTerry2.
GAMES = pd.read_csv(Path(__file__).parent / "reference" / "baseball.csv")
BASEBALL = pd.concat(
    GAMES.loc[GAMES.index.repeat(GAMES[wins]), ["home.team", "away.team"]]
    .set_axis(["home", "away"], axis=1)
    .assign(winner=winner)
    for winner, wins in (("first", "home.wins"), ("second", "away.wins"))
).reset_index(drop=True)
RNG = np.random.default_rng(0)
MODELS = np.array(["a", "b", "c", "d"])
STRENGTHS = np.array([0.6, 0.2, -0.1, -0.7])


def draw(rng, n, ties=-0.5, position=0.3, noise=None):
    """Votes of the model, of which those of a voter may have something in common."""
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    noise = np.zeros((n, 4)) if noise is None else noise
    rows = np.arange(n)
    logs = np.full((n, 3), -np.inf)
    logs[:, 0] = STRENGTHS[first] + noise[rows, first] + position
    logs[:, 1] = STRENGTHS[second] + noise[rows, second]
    if ties is not None:
        logs[:, 2] = ties + logs[:, :2].mean(axis=1)
    gumbel = rng.gumbel(size=(n, 3))
    outcome = np.array(["first", "second", "tie"])[(logs + gumbel).argmax(axis=1)]
    return MODELS[first], MODELS[second], outcome


def test_strengths_of_baseball_teams():
    # Of BradleyTerry2 1.1.3, against Baltimore, with standard errors of the model.
    expected = {
        "Milwaukee": (1.58136, 0.34326),
        "Detroit": (1.43641, 0.33957),
        "Boston": (1.10770, 0.33388),
        "Cleveland": (0.68385, 0.33188),
    }
    report = votes_report("home", "away", "winner", data=BASEBALL)
    differences = report.differences(control="Baltimore")
    for team, (value, error) in expected.items():
        difference = differences["strength", team, "Baltimore"]
        assert float(difference) == pytest.approx(value, abs=5e-6)
        assert difference.standard_error == pytest.approx(error, rel=0.06)
    report = votes_report("home", "away", "winner", data=BASEBALL, position=True)
    position = report["all models", "position"]
    assert float(position) == pytest.approx(0.30226, abs=5e-6)
    assert position.standard_error == pytest.approx(0.13094, rel=0.03)


def test_without_ties_it_is_a_logistic_regression():
    first, second, outcome = draw(RNG, 500, ties=None)
    length = RNG.normal(size=500)
    options = {"position": True, "covariates": {"length": length}}
    report = votes_report(first, second, outcome, **options)
    is_first, is_second = (x[:, np.newaxis] == MODELS for x in (first, second))
    X = np.column_stack([1.0 * is_first - is_second, length])[:, 1:]
    fit = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    fit.fit(X, outcome == "first")
    strengths = np.append(0, fit.coef_[0, :3])
    found = report.estimates
    assert_allclose(found[:4], strengths - strengths.mean(), atol=1e-5)
    assert_allclose(found[4:], [fit.intercept_[0], fit.coef_[0, 3]], atol=1e-5)


def test_errors_are_those_of_a_jackknife_over_voters():
    n, voters = 600, np.arange(600) // 10
    taste = RNG.normal(0, 0.7, (60, 4))[voters]
    first, second, outcome = draw(RNG, n, noise=taste)
    report = votes_report(first, second, outcome, groups=voters)
    left_out = [
        votes_report(*(x[voters != voter] for x in (first, second, outcome))).estimates
        for voter in range(60)
    ]
    deviations = np.array(left_out) - np.mean(left_out, axis=0)
    errors = (59 / 60 * (deviations**2).sum(axis=0)) ** 0.5
    assert_allclose([report[key].standard_error for key in report], errors, rtol=0.05)
    assert "n = 600 in 60 groups" in str(report)


def test_ranks_letters_and_the_scale_of_elo():
    first, second, outcome = draw(RNG, 3000)
    report = votes_report(first, second, outcome)
    elo = pickle.loads(pickle.dumps(votes_report(first, second, outcome, scale="elo")))
    factor = 400 / np.log(10)
    units = ", strengths in Elo points, other effects as logarithms"
    assert units in str(elo.individual()) and "Elo" not in str(report)
    assert_allclose(elo.estimates[:4], 1000 + factor * report.estimates[:4])
    for name, (a, b) in enumerate(zip(report, elo, strict=True)):
        ratio = elo[b].standard_error / report[a].standard_error
        assert ratio == pytest.approx(factor if name < 4 else 1)
    assert report.ranks("strength").top(1) == ["a"]
    assert report.letters("strength")["a"] != report.letters("strength")["d"]
    assert report.best("strength").may_be_best.tolist()[3] is False
    assert report.plot().figure_ is not None


def rises_forever(votes, n_models, position):
    """Whether some direction raises the likelihood without end, by trying them.

    The cones of these votes are spanned by directions of small whole numbers.
    """
    ties = any(outcome == "tie" for _, outcome in votes)
    of_models = [range(-4, 5)] * (n_models - 1)
    of_position, of_ties = range(-2, 3) if position else [0], range(1 + ties)
    for *v, effect, c in product(*of_models, of_position, of_ties):
        v = [0, *v]
        margins = []
        for (i, j), outcome in votes:
            half = (v[i] - v[j] + effect) / 2
            sign = -1 if outcome == "second" else 1
            margins.append(c - abs(half) if outcome == "tie" else sign * half - c)
        if any([*v, effect, c]) and min(margins) >= 0:
            return True
    return False


PATTERNS = [
    (orders, n_models, position, pattern)
    for orders, n_models, position in [
        ([(0, 1), (0, 2), (1, 2)], 3, False),
        ([(0, 1), (1, 0)], 2, True),
    ]
    for pattern in product(range(8), repeat=len(orders))
]
PATTERNS = [PATTERNS[k] for k in np.random.default_rng(0).permutation(576)[:100]]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimates_exist_where_no_direction_raises_the_likelihood():
    """Each pair has some of the outcomes; where there is a maximum it is a solution."""
    rng, finite = np.random.default_rng(1), 0
    for orders, n_models, position, pattern in PATTERNS:
        votes = [
            (pair, outcome)
            for pair, seen in zip(orders, pattern, strict=True)
            for k, outcome in enumerate(["first", "second", "tie"])
            for _ in range(rng.integers(1, 30) * (seen >> k & 1))
        ]
        pairs, outcomes = [v[0] for v in votes], [v[1] for v in votes]
        if len({name for pair in pairs for name in pair}) < n_models:
            continue
        first, second = MODELS[np.array(pairs).T]
        if rises_forever({*votes}, n_models, position):
            with pytest.raises(ValueError, match="must"):
                votes_report(first, second, outcomes, position=position)
            continue
        finite += 1
        report = votes_report(first, second, outcomes, position=position)
        estimates = dict(zip(report, report.estimates, strict=True))
        v = np.array([estimates[name, "strength"] for name in MODELS[:n_models]])
        i, j = np.array(pairs).T
        odds = np.exp(v[i] - v[j] + estimates.get(("all models", "position"), 0.0))
        nu = np.exp(estimates.get(("all models", "ties"), -np.inf)) * np.sqrt(odds)
        wins = (odds + nu / 2) / (1 + odds + nu)
        observed = np.select([np.array(outcomes) == "first", nu > 0], [1, 0.5], 0.0)
        observed[np.array(outcomes) == "second"] = 0
        for each in range(n_models):
            score = ((i == each).astype(int) - (j == each)) @ (observed - wins)
            assert score == pytest.approx(0, abs=1e-5)
    assert 15 < finite < 85


NO_LOSS = "a" * 100, "b" * 100, ["first"] * 30 + ["tie"] * 70
PAIR = "a" * 60, "b" * 60
SIGNS = np.where(RNG.random(60) < 0.5, 1, -1)
WINS, TIES = ["first", "second"], ["first", "tie"]


@pytest.mark.parametrize(
    ("votes", "options", "match"),
    [
        (("aa", "ba", ["first"] * 2), {}, "got a for both in row 1"),
        (("a", "b", ["a"]), {}, "outcome must be one of .* got 'a' in row 0"),
        (("a", "b", [1]), {}, "got 1 in row 0; replace .* by 'first', 'second' an"),
        (("a", "bc", ["first"]), {}, "second must have an entry for each of"),
        (("aa", "bb", ["first"] * 2), {}, "no win of b. Estimated"),
        ((*PAIR, WINS * 30), {"position": True}, "be distinguished"),
        ((*PAIR, WINS * 30), {"covariates": np.zeros(60)}, "be distin"),
        ((*PAIR, np.where(SIGNS > 0, *WINS)), {"covariates": SIGNS}, "not finite"),
        (("ab" * 20, "ba" * 20, ["first"] * 40), {"position": True}, "not finite"),
        (NO_LOSS, {}, "wins in the order a and b.* not finite"),
        (NO_LOSS, {"groups": np.arange(100) // 5, "scale": "elo"}, "order a and b"),
        (
            ("b" + NO_LOSS[0], "a" + NO_LOSS[1], ["first", *NO_LOSS[2]]),
            {"sample_weight": [0.0] + [1.0] * 100},
            "order a and b",
        ),
        (
            ("abba" * 9, "baab" * 9, TIES * 18),
            {"position": True},
            "must have effects that can be estimated, got effects that",
        ),
        (("ab" * 9, "ba" * 9, TIES * 9), {"position": True}, "order a and b"),
        (
            ("aba" * 9, "bab" * 9, ["first", "first", "tie"] * 9),
            {"covariates": [1.0, 2.0, 0.5] * 9},
            "that can be estimated, got effects that are not finite",
        ),
        (
            ("aab" * 10, "bcc" * 10, ["first"] + ["tie"] * 29),
            {},
            "got only wins in the order a, (b and c|c and b), and ties",
        ),
        (("aab", "bcc", ["tie"] * 3), {}, "wins, got only ties, from which"),
        (("aac", "bbd", ["tie"] * 3), {}, "2 sets .* The smallest set"),
        (
            ("aacdef", "bbdcfe", WINS * 3),
            {},
            "through other models, got 3 sets of models without votes between sets. "
            "The smallest set has the models a and b. Report",
        ),
        (
            ("abac", "babd", ["first", "first", *TIES[::-1]]),
            {},
            "without votes between sets",
        ),
        (
            ("abac", "bacb", ["first", *WINS, "tie"]),
            {"covariates": np.zeros(4)},
            "cannot be distinguished",
        ),
        (
            ("abcdac", "badcca", ["first"] * 5 + ["second"]),
            {},
            "got no win of c and d. Estimated strengths are then infinite. "
            "Remove the votes on c and d",
        ),
        (("abcdacbd", "badccaea", ["first"] * 7 + ["tie"]), {}, "got no win of e. "),
    ],
)
def test_strengths_without_an_estimate_are_errors(votes, options, match):
    first, second, outcome = votes
    with pytest.raises(ValueError, match=match):
        votes_report([*first], [*second], outcome, **options)


def test_ties_may_count_as_half_a_win_of_each_model():
    """The remedy of the message, on 300 wins, 700 ties and no loss."""
    half = ["first"] * 700 + ["second"] * 700
    report = votes_report(
        ["a"] * 1700,
        ["b"] * 1700,
        ["first"] * 300 + half,
        sample_weight=[1.0] * 300 + [0.5] * 1400,
        groups=[*range(1000), *range(300, 1000)],
    )
    strength = report["a", "strength"]
    share, variance = 0.65, (300 + 700 / 4) / 1000 - 0.65**2
    error = (variance / 1000) ** 0.5 / (share * (1 - share)) / 2
    assert float(strength) == pytest.approx(np.log(share / (1 - share)) / 2)
    assert strength.standard_error == pytest.approx(error, rel=2e-3)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("groups", [[0] * 40, [0] * 20 + [1] * 20], ids=["1", "2"])
def test_groups_without_a_variance_leave_the_whole_range(groups):
    first, second = ["a", "b"] * 20, ["b", "a"] * 20
    outcome = (["first"] * 3 + ["second"]) * 10
    report = votes_report(first, second, outcome, groups=groups)
    with pytest.warns(DegenerateVarianceWarning):
        assert "[-inf, inf]" in str(report)


def test_outcomes_may_be_those_of_an_arena():
    first, second, outcome = draw(RNG, 300)
    names = {"first": "model_a", "second": "model_b"}
    report = votes_report(first, second, outcome)
    for tie in ("tie (bothbad)", "both_bad", "tie"):
        other = votes_report(first, second, [names.get(x, tie) for x in outcome])
        assert str(other) == str(report)
    with pytest.raises(KeyError, match="must name one of the metrics"):
        report.requirements("a >= b - 0.1")
    assert [*report.best()] == ["strength"]
    assert {metric for _, metric in report.ranks()} == {"strength"}


@pytest.mark.slow
def test_intervals_of_strengths_cover_jointly():
    """Coverage .92 to .98 of 300 samples with ties, with an error of .013."""
    rng, hits = np.random.default_rng(5), []
    for _ in range(300):
        report = votes_report(*draw(rng, 400), position=True)
        truth = [*STRENGTHS - STRENGTHS.mean(), 0.3, -0.5]
        hits.append(
            all(
                report[key].low <= value <= report[key].high
                for key, value in zip(report, truth, strict=True)
            )
        )
    assert 0.92 - 0.026 <= np.mean(hits) <= 0.98 + 0.026


def coverage_and_warnings(samples, truth, votes):
    """Whether each individual interval covers, and whether its sample warns."""
    covered, warned = [], []
    for seed in range(samples):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                report = votes(np.random.default_rng(seed)).individual()
            except ValueError as error:
                assert "not finite" in str(error)
                continue
            limits = [report[key].confidence_interval() for key in truth]
        values = truth.values()
        covered += [a <= x <= b for (a, b), x in zip(limits, values, strict=True)]
        warns = any(each.category is SmallSampleWarning for each in caught)
        warned += [warns] * len(truth)
    return np.array(covered), np.array(warned)


TRUE = dict(
    zip(((x, "strength") for x in MODELS), STRENGTHS - STRENGTHS.mean(), strict=True)
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "ties", "position", "voters"),
    [
        (120, None, 2, None),
        (120, None, 3, None),
        (500, None, 4.5, None),
        (800, -0.5, 0.3, 40),
    ],
)
def test_individual_intervals_cover_or_warn(n, ties, position, voters):
    """With few votes against the position, and with voters of very unequal size.

    Where hardly a vote is against the position, some samples have no estimate at all.
    The Monte Carlo error of .95 is .015.
    """

    def votes(rng):
        groups = None
        if voters:
            sizes = rng.lognormal(sigma=1.5, size=voters)
            groups = rng.choice(voters, n, p=sizes / sizes.sum())
        drawn = draw(rng, n, ties, position)
        return votes_report(*drawn, position=True, groups=groups)

    truth = TRUE | ({} if voters else {("all models", "position"): position})
    covered, warned = coverage_and_warnings(60, truth, votes)
    assert warned[~covered].mean() > 0.5
    assert covered.mean() >= 0.93 - 0.03 or not voters


def test_votes_from_the_shell(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    first, second, outcome = draw(np.random.default_rng(3), 400)
    votes = pd.DataFrame({"left": first, "right": second, "winner": outcome})
    votes = votes.assign(voter=np.arange(400) // 5, longer=[-1.0, 0.0, 1, 2] * 100)
    votes.to_csv(path, index=False)
    columns = ["--first=left", "--second=right", "--outcome=winner", "--groups=voter"]
    style = ["--covariates=longer", "--position", "--scale=elo"]
    output = ["--control=d", "--format=json", "--require=a - d strength >= 0"]
    assert main(["votes", str(path), *columns, *style, *output]) == 0
    told = json.loads(capsys.readouterr().out)
    report = votes_report(
        *("left", "right", "winner"),
        data=votes,
        groups="voter",
        covariates=["longer"],
        position=True,
        scale="elo",
    )
    expected = {
        "report": report,
        "differences": report.differences(control="d"),
        "ranks of report": report.ranks(),
    }
    for name, each in expected.items():
        low = [row["low"] for row in told[name]["rows"]]
        assert_allclose(low, each.to_frame()["low"], rtol=1e-9)


def test_faults_of_votes_from_the_shell_are_named(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner\na,b,model_a\nb,a,both_bad\n")
    for outcome, message in (
        ("model_a", "outcome must be one of"),
        ("Winner", "must have one column 'Winner'"),
        ("winner", "wins in the order a and b"),
    ):
        assert main(["votes", str(path), f"--outcome={outcome}"]) == 2
        assert message in capsys.readouterr().err
