"""What a page asks is answered, by whichever way it comes; the ways are tested with the server and the widget."""

import pytest

from prosector.explain.answers import answer


def test_a_run_and_then_a_cell_of_it(explainer):
    document = answer(explainer, "run", {"text": "我爱你", "beam": 2})
    assert document["output"] == "I love you."
    asked = {"run": document["run"], "address": "encoder.0.feed_forward.hidden", "row": 1, "column": 7}
    found = answer(explainer, "value", asked)
    assert found["lines"][-1]["value"] == pytest.approx(found["recorded"], abs=1e-4)
    assert "run" in asked  # what was given is as it was


@pytest.mark.parametrize(
    ("question", "given", "says"),
    [
        ("open", {}, "nobody answers 'open'; ask run or value"),
        ("run", ["我"], "a request is an object, not list"),
        ("run", {"text": ""}, "blank"),
        ("run", {"text": "我", "file": "x"}, "file"),
        ("value", {"address": "encoder", "row": 0, "column": 0}, "run is None; give a run's number"),
        ("value", {"run": 10**6, "address": "encoder", "row": 0, "column": 0}, "no longer kept"),
    ],
)
def test_what_is_refused(explainer, question, given, says):
    with pytest.raises(ValueError, match=says):
        answer(explainer, question, given)
