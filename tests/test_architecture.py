# SPDX-License-Identifier: Apache-2.0
"""Rules about the source tree: sizes, include directions, mirrored tests, version."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

import torch_dts

ROOT = pathlib.Path(__file__).parent.parent
CORE = ROOT / "csrc" / "core"

# What each folder of the core may include, itself aside.
CORE_LAYERS = {
    "base": set(),
    "format": {"base"},
    "jpeg": {"base", "image"},
    "image": {"base"},
    "order": {"base"},
    "pipeline": {"base", "format", "jpeg", "image", "order"},
}
CODEC_HEADERS = {"jpeglib.h", "jerror.h", "zlib.h", "libdeflate.h"}
# Who may call the platform; the rest is C++ and codecs.
PLATFORM_FILES = {
    "base/file_posix.cpp",
    "base/file_testing.h",
    "base/large_memory_posix.cpp",
    "base/process_posix.cpp",
    "base/topology_posix.cpp",
    "pipeline/shared_store_handover_posix.cpp",
    "pipeline/shared_store_posix.cpp",
    "pipeline/shared_store_region_posix.cpp",
}
TORCH_HEADERS = ("torch/csrc/stable/", "torch/headeronly/", "torch/csrc/inductor/aoti_torch/c/")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def source_files(*suffixes: str) -> list[pathlib.Path]:
    """The project's own files: what git knows or would add; without git, the tree without outputs."""
    listed = []
    if shutil.which("git") and (ROOT / ".git").exists():
        command = [
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        listed = [ROOT / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    if not listed:
        for folder, folders, names in os.walk(ROOT):
            here = pathlib.Path(folder)
            folders[:] = [
                name
                for name in folders
                if not name.startswith(".")
                and name not in ("build", "dist", "__pycache__")
                and not (here / name / "pyvenv.cfg").exists()
            ]
            listed += [here / name for name in names]
    return sorted(path for path in listed if path.suffix in suffixes and path.is_file())


def includes(path: pathlib.Path) -> list[tuple[str, str]]:
    """(system header, own header) of each include; one of the two is empty."""
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def relative(paths: list[pathlib.Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_the_listing_finds_this_file() -> None:
    assert pathlib.Path(__file__).resolve() in source_files(".py")


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {
        name: path.read_bytes().count(b"\n")
        for path in source_files(".py", ".cpp", ".h", ".cu", ".hpp")
        for name in relative([path])
    }
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}


def test_sources_start_with_the_licence_line() -> None:
    copied = {"examples/benchmarks/make_imagenet_like.py"}
    missing = [
        name
        for path in source_files(".py", ".cpp", ".h", ".cu", ".sh")
        for name in relative([path])
        if name not in copied
        and not any(
            "SPDX-License-Identifier: Apache-2.0" in line for line in path.read_text().splitlines()[:2]
        )
    ]
    assert missing == [], "\n".join(missing)


def test_core_folders_are_known_layers() -> None:
    assert {path.name for path in CORE.iterdir() if path.is_dir()} <= set(CORE_LAYERS)


def test_core_includes_point_down_and_know_no_torch_python_or_cuda() -> None:
    wrong = []
    for path in source_files(".h", ".cpp", ".cu"):
        if CORE not in path.parents:
            continue
        name = path.relative_to(CORE).as_posix()
        allowed = CORE_LAYERS[path.parent.name] | {path.parent.name}
        for system, own in includes(path):
            if own and own.split("/")[0] not in allowed:
                wrong.append((name, own))
            # C++'s own headers have no dot.
            is_kernel = system == "immintrin.h" and path.stem.endswith(("_avx2", "_avx512"))
            is_platform = system.endswith(".h") and system not in CODEC_HEADERS and not is_kernel
            if system in ("iostream", "print") or (is_platform and name not in PLATFORM_FILES):
                wrong.append((name, system))
            if re.search(r"torch|python|cuda|pybind|aten|c10", system + own, re.IGNORECASE):
                wrong.append((name, system + own))
    assert wrong == [], "\n".join(map(str, wrong))


def test_ops_include_only_core_and_the_stable_abi() -> None:
    core_folders = set(CORE_LAYERS)
    wrong = []
    for path in source_files(".h", ".cpp"):
        if path.parent != ROOT / "csrc" / "ops":
            continue
        for system, own in includes(path):
            if own and own.split("/")[0] not in core_folders | {"ops"}:
                wrong.append((path.name, own))
            if "torch" in system and not system.startswith(TORCH_HEADERS):
                wrong.append((path.name, system))
            if re.match(r"ATen|c10|pybind11", system):
                wrong.append((path.name, system))
    assert wrong == [], "\n".join(map(str, wrong))


def test_each_python_module_has_its_test() -> None:
    missing = []
    for path in source_files(".py"):
        if ROOT / "torch_dts" not in path.parents or path.name in (
            "__init__.py",
            "__main__.py",
            "_version.py",
        ):
            continue
        folder = ROOT / "tests" / path.parent.relative_to(ROOT / "torch_dts")
        if not any(folder.glob(f"test{path.stem if path.stem.startswith('_') else '_' + path.stem}*.py")):
            missing.append(relative([path])[0])
    assert missing == [], "\n".join(missing)


def test_each_core_source_has_its_test() -> None:
    missing = [
        relative([path])[0]
        for path in source_files(".cpp")
        if CORE in path.parents
        and not any((ROOT / "tests" / "cpp" / path.parent.name).glob(f"test_{path.stem}*.cpp"))
    ]
    assert missing == [], "\n".join(missing)


def test_raises_and_warns_always_say_what_they_expect() -> None:
    call = re.compile(r"pytest\.(?:raises|warns)\(")
    wrong = []
    for path in source_files(".py"):
        if ROOT / "tests" not in path.parents or path == pathlib.Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8")
        for found in call.finditer(text):
            depth, end = 1, found.end()
            while depth and end < len(text):
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            if "match=" not in text[found.start() : end]:
                wrong.append(f"{relative([path])[0]}:{text.count(chr(10), 0, found.start()) + 1}")
    assert wrong == [], "\n".join(map(str, wrong))


def test_the_version_stands_in_one_place_and_in_the_changelog() -> None:
    version = torch_dts.__version__
    holders = [
        name
        for path in source_files(".py", ".toml", ".cfg", ".h", ".cpp")
        for name in relative([path])
        if f'"{version}"' in path.read_text(encoding="utf-8")
    ]
    assert holders == ["torch_dts/_version.py"]
    assert version in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("heading", ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"])
def test_the_changelog_keeps_its_headings(heading: str) -> None:
    unreleased = (ROOT / "CHANGELOG.md").read_text().split("## [Unreleased]")[1].split("\n## ")[0]
    assert f"\n### {heading}\n" in unreleased


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    assert "make demo" in lines
    assert "make test" in lines


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in source_files(".md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append((relative([page])[0], target))
    assert broken == []


def test_each_header_is_in_the_table_of_stages() -> None:
    readme = (ROOT / "csrc" / "README.md").read_text()
    headers = [path for path in source_files(".h") if ROOT / "csrc" in path.parents]
    names = [path.relative_to(ROOT / "csrc").as_posix() for path in headers]
    assert [name for name in names if f"`{name}`" not in readme] == []
