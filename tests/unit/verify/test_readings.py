"""Every sample of a Verify field is read as it says."""

from __future__ import annotations

from tests.unit.verify.readings import load_samples, read_as_lines

SAMPLES = load_samples()


def test_every_sample_is_read_as_it_says() -> None:
    readings = {name: read_as_lines(sample.field) for name, sample in SAMPLES.items()}
    wrong = {name for name, reading in readings.items() if reading != SAMPLES[name].reading}
    assert {name: readings[name] for name in wrong} == {
        name: SAMPLES[name].reading for name in wrong
    }
