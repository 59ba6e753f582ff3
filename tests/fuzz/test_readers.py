"""No reader crashes, hangs or loses a byte: on the fuzzer's finds, a megabyte, any mixture."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, try_out

HERE = Path(__file__).parent
SEEDS = sorted((HERE / "corpus").glob("*/*"))
TOKENS = [
    token.strip('"').encode().decode("unicode-escape").encode("latin-1")
    for token in (HERE / "tokens.dict").read_text("utf-8").splitlines()
]
# A third of a megabyte in half a second: all of it would only take longer to show the same.
MUCH, SECONDS = 300_000, 0.5


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_was_found_once_is_read(seed: Path) -> None:
    try_out(seed.parent.name, seed.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60)
@given(data=st.lists(st.sampled_from(TOKENS) | st.binary(max_size=8), max_size=40).map(b"".join))
def test_any_mixture_of_what_documents_and_tools_are_made_of_is_read(
    name: str, data: bytes
) -> None:
    try_out(name, data)


@pytest.mark.parametrize("name", TARGETS)
def test_any_amount_of_the_same_is_read_in_linear_time(name: str) -> None:
    try_out(name, b"x")
    for piece in (
        *TOKENS,
        b"x",
        b"\n",
        b" ",
        b"a b ",
        b"- [ ] 1.1 x\n",
        b"x: ",
        b"\xff",
        b"| a ",
        b"> ",
        b"[",
        b"(",
    ):
        try_out(name, piece * (MUCH // len(piece)), SECONDS)


@pytest.mark.parametrize("name", TARGETS)
def test_any_amount_of_real_ones_is_read_in_linear_time(name: str) -> None:
    try_out(name, b"x")
    for seed in sorted((HERE / "corpus" / name).glob("*")):
        data = seed.read_bytes()
        try_out(name, data * max(1, MUCH // len(data)), SECONDS)
