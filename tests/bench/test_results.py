"""The arithmetic of the benchmark: percentiles, quartiles, ratios, verdicts."""

from __future__ import annotations

import pytest

from bench import page, targets
from bench.goals import judge
from bench.over_http import targets as over_http
from bench.results import Measurement, Quartiles, compare, percentile, quartiles
from bench.suites import cold, http, recovery, size


def test_quartiles_lie_between_numbers_where_there_is_none() -> None:
    assert quartiles([4, 1, 3, 2]) == Quartiles(1.75, 2.5, 3.25)
    assert quartiles([7]) == Quartiles(7, 7, 7)


def test_a_percentile_is_that_share_of_the_way_through_the_numbers() -> None:
    numbers = list(range(101))
    assert [percentile(numbers, share) for share in (0, 0.5, 0.99, 1)] == [0, 50, 99, 100]


def test_a_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no numbers"):
        percentile([], 0.5)


def test_ratios_are_to_the_reference_in_the_same_round() -> None:
    found = compare("s", "c", "f", "s", {"relay": [1.0, 2.0, 4.0], "workbench": [2.0, 2.0, 2.0]})
    assert {one.target: one.ratios for one in found} == {"relay": (1, 1, 1), "workbench": (2, 1, 0.5)}


def test_a_target_with_fewer_rounds_is_compared_in_those() -> None:
    found = compare("s", "c", "f", "s", {"relay": [1.0, 2.0, 4.0], "slow": [10.0]})
    assert found[1].ratios == (10,)


def test_without_the_reference_there_are_no_ratios() -> None:
    (found,) = compare("s", "c", "f", "s", {"workbench": [2.0]})
    assert found == Measurement("s", "c", "workbench", "f", "s", (2.0,))
    assert found.ratio is None


@pytest.mark.parametrize(("ratio", "is_met"), [(1.5, True), (1.51, False)])
def test_a_goal_on_a_ratio_is_met_up_to_its_bound(ratio: float, is_met: bool) -> None:
    measured = Measurement(cold.SUITE, cold.CASE, "workbench", "CPU", "s", (0.1,), (ratio,))
    (verdict,) = judge([measured])
    assert (verdict.measured.median, verdict.is_met) == (ratio, is_met)


def test_a_verdict_is_close_when_the_bound_is_within_the_quartiles() -> None:
    measured = Measurement(cold.SUITE, cold.CASE, "workbench", "CPU", "s", (0.1,) * 3, (1.3, 1.4, 1.8))
    (verdict,) = judge([measured])
    assert (verdict.is_met, verdict.is_close) == (True, True)
    (verdict,) = judge([measured._replace(ratios=(1.2, 1.3, 1.4))])
    assert (verdict.is_met, verdict.is_close) == (True, False)


def test_a_goal_on_a_figure_looks_at_the_median_of_the_workbench_only() -> None:
    figure = (recovery.SUITE, recovery.CASE)
    ours = Measurement(*figure, "workbench", recovery.ERROR, "s", (0.01, 0.04, 0.2))
    another = Measurement(*figure, "workbench-modern", recovery.ERROR, "s", (0.2,))
    (verdict,) = judge([ours, another])
    assert (verdict.measured.median, verdict.is_met) == (0.04, True)


def test_a_goal_over_http_is_on_the_workbench_in_one_era() -> None:
    case = http.parallel_case_name(16)
    ours = Measurement(http.SUITE, case, "http-workbench", http.AGAINST_PEERS, "", (1.2,))
    modern = ours._replace(target="http-workbench-modern", rounds=(0.9,))
    assert [verdict.is_met for verdict in judge([ours, modern])] == [True, False]


def test_ratios_can_be_to_another_reference() -> None:
    rounds = {"relay": [1.0], "other": [2.0], "workbench": [3.0]}
    found = compare("s", "c", "f", "s", rounds, reference="other")
    assert {one.target: one.ratios for one in found} == {"relay": (0.5,), "other": (1,), "workbench": (1.5,)}


def test_a_verdict_has_the_same_figure_of_what_only_checks_and_copies() -> None:
    ours = Measurement(size.SUITE, size.ONE, "workbench", size.AGAINST_MANY, "", (1.4,))
    (verdict,) = judge([ours])
    assert (verdict.is_met, verdict.copying) == (False, None)
    (verdict,) = judge([ours, ours._replace(target="copier", rounds=(1.5,))])
    assert (verdict.is_met, verdict.copying) == (False, Quartiles(1.5, 1.5, 1.5))


def test_the_page_says_of_every_target_what_it_is() -> None:
    assert set(page.TARGETS) == {target.key for target in (*targets.ALL, *over_http.ALL)}
