# SPDX-License-Identifier: Apache-2.0
"""The documentation's snippets and the demo run as they stand."""

from __future__ import annotations

import importlib
import itertools
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

import torch_dts

ROOT = pathlib.Path(__file__).parent.parent
CASES = {
    "README": ["README.md"],
    "quickstart": ["docs/quickstart.md"],
    "loader": ["docs/loader.md"],
    "order": [
        "docs/order.md",
        *(f"docs/migrating/{name}.md" for name in ("imagefolder", "ffcv", "webdataset")),
    ],
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_python(arguments: list[str], folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    # The package under test, wherever it lies: an installed one, or this tree.
    package_path = os.fspath(pathlib.Path(torch_dts.__file__).parent.parent)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": package_path}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("pages", CASES.values(), ids=CASES)
def test_snippets_run_and_print_what_the_page_says(
    pages: list[str], image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    """All Python snippets of the pages are one script; a text block behind one is its output."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "train").symlink_to(image_folder(classes={"cat": 3, "dog": 2}))
    blocks = [block for page in pages for block in FENCE.findall((ROOT / page).read_text(encoding="utf-8"))]
    snippets = [text for language, text in blocks if language == "python"]
    expected = [
        text
        for (before, _), (language, text) in itertools.pairwise(blocks)
        if (before, language) == ("python", "text")
    ]
    assert snippets
    (tmp_path / "page.py").write_text("\n".join(snippets))
    done = run_python(["page.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    for output in expected:
        assert output in done.stdout


def test_extracted_folder_of_the_quickstart_is_the_source(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    source = image_folder(classes={"cat": 3, "dog": 2})
    torch_dts.extract(
        torch_dts.convert(source, tmp_path / "train.dts", progress=False), tmp_path / "restored"
    )
    files = sorted(path.relative_to(source) for path in source.rglob("*.jpg"))
    assert (
        sorted(path.relative_to(tmp_path / "restored") for path in (tmp_path / "restored").rglob("*.*"))
        == files
    )
    for name in files:
        assert (tmp_path / "restored" / name).read_bytes() == (source / name).read_bytes()


def test_the_command_line_page_has_every_command_and_option() -> None:
    from torch_dts.cli._main import _build_parser

    sections = (ROOT / "docs" / "cli.md").read_text().split("\n## ")
    by_name = {section.splitlines()[0]: section for section in sections[1:]}
    (commands,) = (action for action in _build_parser()._actions if isinstance(action.choices, dict))
    assert sorted(by_name) == sorted(commands.choices)
    for name, parser in commands.choices.items():
        documented = set(re.findall(r"(?<![\w-])-{1,2}[a-z][a-z-]*", by_name[name]))
        options = {option for action in parser._actions for option in action.option_strings}
        assert documented == options - {"-h", "--help"}, name


FAST = ["--steps", "2", "--rounds", "1", "--batch-size", "4", "--image-size", "32", "--num-workers", "0"]


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Callable[..., None]:
    """The demo's main(), in a folder of the test's own and with little to do."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module("demo")
    return lambda *arguments: module.main([*map(str, arguments), *FAST])


def test_demo_makes_its_own_pictures(tmp_path: pathlib.Path) -> None:
    arguments = ["--make-data", "made", "--num-images", "6", "--out", "demo.dts", *FAST]
    done = run_python([str(ROOT / "examples" / "demo.py"), *arguments], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 synthetic pictures (no photographs) in made" in done.stdout
    for name in ("torch, ImageFolder", "torch, the file", "ours, ImageFolder", "ours, the file"):
        line = rf"^{name} +\d+ +\d+   \d+\.\d+ -> \d+\.\d+$"
        assert re.search(line, done.stdout, re.MULTILINE), done.stdout
    assert (tmp_path / "demo.dts").stat().st_size == 32 << 20
    assert len(list((tmp_path / "made").rglob("*.jpg"))) == 6


def test_demo_takes_a_folder_with_one_picture_a_class(
    demo: Callable[..., None], image_folder: Callable[..., pathlib.Path], capsys: pytest.CaptureFixture[str]
) -> None:
    demo("--data", image_folder(classes={"a": 1, "b": 1}), "--out", "one.dts")
    assert "samples   2 in 2 classes" in capsys.readouterr().out


def test_demo_looks_into_a_folder_called_train(
    demo: Callable[..., None], image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "set").mkdir()
    image_folder(classes={"a": 2, "b": 1}).rename(tmp_path / "set" / "train")
    demo("--data", "set", "--out", "set.dts")
    with torch_dts.open("set.dts") as file:
        assert file.classes == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "absent does not exist; DATA must be a folder with one folder of pictures for each class"),
        ("file", "file is not a folder; DATA must be"),
        ("flat", "flat has no folders in it; DATA must be .* as in flat/cat/1.jpg, flat/dog/2.jpg"),
    ],
)
def test_demo_says_what_is_wrong_with_the_data(
    demo: Callable[..., None], tmp_path: pathlib.Path, name: str, message: str
) -> None:
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "1.jpg").write_bytes(b"picture")
    (tmp_path / "file").write_text("text")
    with pytest.raises(ValueError, match=message):
        demo("--data", name, "--out", "no.dts")
    assert not (tmp_path / "no.dts").exists()


def test_demo_does_not_replace_a_file_unasked(
    demo: Callable[..., None], image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "mine.dts").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="exists"):
        demo("--data", image_folder(), "--out", "mine.dts")
    assert (tmp_path / "mine.dts").read_bytes() == b"mine"
