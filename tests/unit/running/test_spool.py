"""What a command printed, on disk: head, tail, masked, bounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ralph.running import spool as room
from pytest_ralph.running.spool import Spool, SpoolWriter
from pytest_ralph.text.secrets import Masker
from tests.limits import limited_file_size

MIB = 1024 * 1024


def stored(path: Path, *chunks: bytes, limit: int = 100 * MIB) -> Spool:
    writer = SpoolWriter(path, limit)
    for chunk in chunks:
        writer.write(chunk)
    writer.close()
    return writer.spool()


@pytest.mark.parametrize(
    ("printed", "head", "tail", "text"),
    [
        (b"", 10, 10, ""),
        (b"all of it\n", 10, 10, "all of it\n"),
        (b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", 4, 4, "1\n2\n… 12 bytes left out …\n9\n"),
        (b"abcdefghijklmnopqrstuvwxyz", 3, 3, "abc\n… 20 bytes left out …\nxyz"),
        (b"1\n2\n3\n4\n5\n6\n", 0, 4, "… 10 bytes left out …\n6\n"),
        (b"1\n2\n3\n4\n5\n6\n", 4, 0, "1\n2\n… 8 bytes left out …\n"),
    ],
)
def test_head_and_tail_are_cut_at_line_ends(
    tmp_path: Path, printed: bytes, head: int, tail: int, text: str
) -> None:
    assert stored(tmp_path / "log", printed).text(head, tail) == text


@given(
    chunks=st.lists(st.binary(max_size=300), max_size=8),
    head=st.integers(0, 200),
    tail=st.integers(0, 200),
)
def test_a_text_is_never_much_longer_than_asked_for(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], head: int, tail: int
) -> None:
    spool = stored(tmp_path_factory.mktemp("spool") / "log", *chunks)
    printed = b"".join(chunks)
    text = spool.text(head, tail)
    assert spool.size == len(printed)
    if len(printed) <= head + tail:
        assert text == printed.decode("utf-8", "replace")
    else:
        assert len(text) <= head + tail + 60


def test_past_the_limit_the_end_is_kept_and_the_gap_told(tmp_path: Path) -> None:
    lines = [b"%07d\n" % number * 1 for number in range(600_000)]
    spool = stored(
        tmp_path / "log",
        *(b"".join(lines[at : at + 5000]) for at in range(0, 600_000, 5000)),
        limit=MIB,
    )
    kept = spool.path.read_bytes()
    assert spool.size == 8 * 600_000
    assert len(kept) < 4 * MIB
    assert kept.startswith(b"0000000\n0000001\n")
    assert kept.endswith(b"0599999\n")
    gap = re.search("… ([0-9,]+) bytes left out …\n".encode(), kept)
    assert gap is not None
    left_out = int(gap[1].replace(b",", b""))
    assert len(kept) - len(gap[0]) + left_out == pytest.approx(spool.size, abs=2)


def test_where_nothing_can_be_written_the_end_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a directory")
    spool = stored(
        tmp_path / "file" / "log", b"x\n" * room.BLOCK, b"x\n" * room.BLOCK, b"the end\n"
    )
    assert spool.size == 4 * room.BLOCK + 8
    assert len(spool.unstored) <= 2 * room.BLOCK + 8
    assert spool.text(0, 10) == f"… {len(spool.unstored) - 8:,} bytes left out …\nthe end\n"


def test_output_is_masked_however_it_is_cut(tmp_path: Path) -> None:
    def mask(text: str) -> str:
        return text.replace("secret", "***")

    writer = SpoolWriter(tmp_path / "log", MIB, mask)
    for _ in range(3):
        writer.write(b"x" * (room.BLOCK - 3) + b"\nsec")
        writer.write(b"ret \xff\n")
    writer.close()
    kept = Path(writer.file).read_bytes()
    assert b"secret" not in kept
    assert kept.count(b"***") >= 2
    assert b"\xff" in kept


def test_a_secret_in_an_endless_line_is_masked(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "log", 4 * MIB, lambda text: text.replace("secret", "***"))
    writer.write(b"x" * room.BLOCK)
    writer.write(b"x" * room.BLOCK + b' "sec')
    writer.write(b'ret" y')
    writer.close()
    assert Path(writer.file).read_bytes().endswith(b'x "***" y')


def test_the_log_grows_while_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FLUSH_INTERVAL", -1.0)
    writer = SpoolWriter(tmp_path / "log")
    writer.write(b"whole line\nhalf a")
    assert Path(writer.file).read_bytes() == b"whole line\n"
    writer.close()


@pytest.mark.parametrize(
    ("chunk", "line"),
    [
        (b"one\ntwo\n", "two"),
        (b"one\n\n  \n", "one"),
        (b"50%\r60%", "60%"),
        (b"", ""),
        (b"\n", ""),
        (b"caf\xe9", "caf\ufffd"),
    ],
)
def test_the_last_line(tmp_path: Path, chunk: bytes, line: str) -> None:
    writer = SpoolWriter(tmp_path / "log")
    writer.write(chunk)
    assert writer.last_line() == line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_does_not_end_the_command() -> None:
    writer = SpoolWriter(Path("/dev/full"))
    writer.write(b"x\n")
    writer.close()
    assert writer.spool().text() == "x\n"


def test_what_a_disk_takes_no_more_of_is_kept_in_memory(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "log")
    with limited_file_size(10):
        writer.write(b"beginning\nmiddle\n")
        writer.flush()
        writer.write(b"end\n")
        writer.close()
    assert writer.spool().text() == "middle\nend\n"


def test_the_end_that_a_disk_takes_in_part_is_kept_in_memory(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "log", limit=10)
    with limited_file_size(12):
        writer.write(b"beginning\nmiddle\nend\n")
        writer.close()
    assert writer.spool().text() == "middle\nend\n"


SECRET = "s3cr\"et with & some 'words'"


@pytest.mark.parametrize("filler", ["x", "word ", '"json", '])
def test_a_long_line_is_not_divided_in_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filler: str
) -> None:
    """Neither in the log nor in the live row, wherever the secret stands."""
    monkeypatch.setattr(room, "BLOCK", 8192)
    monkeypatch.setattr(room, "LONGEST_KEY", 2048)
    monkeypatch.setattr(room, "LAST_LINE_REACH", 256)
    mask = Masker({"SECRETKEY": SECRET}).mask
    rows = []
    logs = []
    for number in range(60):
        writer = SpoolWriter(tmp_path / "log", mask=mask)
        data = (f"{filler * 90}{SECRET}," * 50 + "x" * number * 20).encode()
        for start in range(0, len(data), 500):
            writer.write(data[start : start + 500])
            rows.append(writer.last_line())
        writer.write(b"\n")
        writer.flush()
        rows.append(writer.last_line())
        writer.close()
        logs.append((tmp_path / "log").read_text())
    # A part that has arrived cannot be told from other text, but the end of one is never seen.
    assert [row for row in rows if "words'" in row] == []
    assert [log for log in logs if "with & some" in log or log.count("***") != 50] == []


def test_the_live_row_of_a_long_line_shows_no_end_of_a_private_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two keys in one line: the first begins before the part of the line that is masked."""
    monkeypatch.setattr(room, "LONGEST_KEY", 2048)
    monkeypatch.setattr(room, "LAST_LINE_REACH", 256)
    mask = Masker({}).mask
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    body = "aGVsbG8/" * 150
    printed = f'{{"old": "{begin}{body}{end}", "new": "{begin}{body}{end}"}}, '.encode() * 4
    for length in range(1, len(printed)):
        writer = SpoolWriter(tmp_path / "log", mask=mask)
        writer.write(printed[:length])
        assert "aGVsbG8/aGVs" not in writer.last_line(), length
