"""Problems of the catalogue as programs in three languages: they end where `simulate` does."""

import numpy as np
import pytest
from compilers import LANGUAGES, program, ran

import dalembert as da
from dalembert import problems

#: problems, and when they end here
CASES = {
    "andrews": (lambda: problems.naive(problems.andrews()), 0.003),
    "elastic_robot": (problems.elastic_robot, 1.0),  # index 5
    "batch_reactor": (lambda: problems.batch_reactor(jacket=True), 1.0),
    "car_axis": (lambda: problems.naive(problems.car_axis()), 0.1),
    "written": (problems.pendulum_written_out, 1.0),  # more equations than unknowns
    "amplifier": (problems.transistor_amplifier, 0.01),  # a singular leading matrix
}


@pytest.mark.parametrize("name", CASES)
def test_programs_agree_with_simulations(name, tmp_path):
    make, end = CASES[name]
    problem = make()
    model, start = problem.model, problem.start()
    solution = da.simulate(model, (0, end), **start, rtol=1e-10, atol=1e-10)
    scale = np.abs(solution.x).max(axis=0)
    for language in LANGUAGES:
        (tmp_path / language).mkdir()
        text = da.translate(model, language, (0, end), rtol=1e-8, atol=1e-8, **start)
        table = ran(program(text, language, tmp_path / language))
        assert table["time"][-1] == pytest.approx(end, rel=1e-14)
        for j, variable in enumerate(model.names("x")):
            assert abs(table[variable][-1] - solution.x[-1, j]) < 2e-6 * scale[j], (language, variable)
