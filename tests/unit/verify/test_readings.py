"""Every sample of a Verify field is read as it says."""

from __future__ import annotations

import pytest

from tests.unit.verify.readings import load_samples, read_as_lines

SAMPLES = load_samples()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read_as_it_says(name: str) -> None:
    sample = SAMPLES[name]
    assert read_as_lines(sample.field) == sample.reading
