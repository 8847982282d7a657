"""Lines of text files, and what is said of files that are none."""

import pytest

from metrics.errors import BadInput, MissingInput
from tasks.readers.texts import Lines, read_lines

ENDS = [b"a\nb", b"a\r\nb", b"a\rb", b"\xef\xbb\xbfa\nb"]


@pytest.mark.parametrize("content", ENDS)
def test_lines_end_as_they_like(tmp_path, content):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert read_lines(path, "a list") == ["a", "b"]


BAD = [
    pytest.param(b"", "is empty, expected a list", id="empty"),
    pytest.param(b" \n\t\n", "is empty, expected a list", id="blank"),
    pytest.param(b"a\nb\0c", "line 2: is no text in ASCII or UTF-8 \\(a zero byte\\), expected a list", id="zero"),
    pytest.param(b"a\nb\n\xfcc", "line 3: is no text in ASCII or UTF-8, expected a list", id="latin-1"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_what_is_no_text(tmp_path, content, message):
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as refused:
        read_lines(path, "a list")
    assert str(path) in str(refused.value)


def test_what_is_no_file(tmp_path):
    with pytest.raises(BadInput, match="is a directory, expected a list"):
        read_lines(tmp_path, "a list")
    with pytest.raises(MissingInput, match="there is no such file"):
        read_lines(tmp_path / "gone", "a list")


def test_a_mistake_is_named_by_its_line(tmp_path):
    with pytest.raises(BadInput, match=r"text: line 7, column 'x': got 'b'; expected better \(2 such rows\)"):
        Lines(tmp_path / "text", [5, 7, 8]).refuse([False, True, True], "x", ["a", "b", "c"], "expected better")
