# SPDX-License-Identifier: Apache-2.0
import json

import pytest
import torch
from bench_figures import figures, rate
from building import build, build_pixels, samples_of

import torch_dts
from torch_dts.cli import _bench, main
from torch_dts.cli._augment import load_transform
from torch_dts.cli._bench import thread_counts
from torch_dts.cli._bench_digest import digest_epoch

QUICK = ("--seconds", "0.3", "--size", "16", "--batch-size", "3", "--num-workers", "1")


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"cat": 4, "dog": 3}), [b"cat", b"dog"])


def run(capsys, *arguments):
    assert main(["bench", *map(str, arguments)]) == 0, capsys.readouterr().err
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def refused(capsys, *arguments):
    assert main(["bench", *map(str, arguments)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def test_json(capsys, path):
    found = json.loads(run(capsys, path, *QUICK, "--json", "--consumer", 1e6))
    assert set(found) == set(vars(figures())) | {"mean_bytes", "advice"}
    assert found["kind"] == "blocks"
    assert found["num_samples"] == 7
    assert found["transform"] == "imagenet"
    assert 1 in [each["num_workers"] for each in found["rates"]]
    assert set(found["rates"][0]) == {
        *("num_workers", "num_images", "seconds", "cpu_seconds", "bytes_read", "bottleneck"),
        *("first_batch_seconds", "wait_seconds", "images_per_s", "cpu_ms", "read_bytes_per_s", "wait_share"),
    }
    assert found["disk"]["num_bytes"] >= 4 << 20
    assert found["consumer"]["num_images"] > 0
    assert [each["options"] for each in found["exports"]["others"]][1:] == [
        "--level 1",
        "--level 2",
        "--level 3",
    ]
    assert found["is_interrupted"] is False
    assert found["python_reason"] == ""
    assert found["advice"]


def test_text(capsys, path, monkeypatch):
    def measure(args, data, transform, found):
        found.num_cpus, found.num_workers = 2, 2
        found.rates = [rate(1, 510), rate(2, 1000)]
        found.consumer, found.consumer_rate = rate(2, 400, wait_seconds=0.02), 400.0

    monkeypatch.setattr(_bench, "_measure", measure)
    monkeypatch.setattr(_bench, "default_num_workers", lambda: 2)
    assert run(capsys, path).splitlines() == [
        f"data         {path} (.dts file, level 0)",
        f"samples      7, {_bench.human_bytes(path_bytes(path) / 7)} on average, "
        f"{_bench.human_bytes(path_bytes(path))} together",
        "work         imagenet, batches of 256, mode auto",
        "CPUs         2",
        "first batch  after 0.10 s",
        "limit        decoding",
        "",
        "threads  images/s  CPU ms/image  MB/s read",
        "      1       510          3.92          5",
        "      2     1,000          2.00          5",
        "beside a model of 400 images/s: 1.0 % of the time waiting",
        "",
        "Decoding limits: 2 threads give 1,000 images/s, 2.00 ms of CPU time an image.",
        "A model that takes 400 images/s waits 1.0 % of the time: loading is fast enough, and 1 thread would "
        "do.",
    ]


def path_bytes(path):
    with torch_dts.open(path) as file:
        return int(file.sizes.sum())


def test_what_there_is_when_it_is_interrupted(capsys, path, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_bench, "measure_rate", stop)
    assert main(["bench", str(path), *QUICK, "--json"]) == 130
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["is_interrupted"] is True
    assert found["disk"]["num_bytes"] >= 4 << 20
    assert (found["rates"], found["advice"]) == ([], [])
    assert shown.err == "torch-dts: interrupted\n"


def test_digests(capsys, path, tmp_path):
    loader = torch_dts.DataLoader(
        path,
        batch_size=2,
        shuffle=True,
        num_workers=0,
        transform=load_transform("imagenet", 16),
        seed=3,
        shuffle_window=16,
        num_replicas=2,
        rank=1,
        dtype=torch.float32,
    )
    expected = []
    for epoch in (0, 1):
        loader.set_epoch(epoch)
        expected.append(digest_epoch(loader))
    options = ("--digest", "--epochs", 2, "--seed", 3, "--num-replicas", 2, "--rank", 1, "--size", 16)
    more = ("--dtype", "float32", "--mode", "fully", "--batch-size", 3)
    assert run(capsys, path, *options, *more) == "".join(
        f"epoch {epoch}  {expected[epoch].sha256}  4 images\n" for epoch in (0, 1)
    )
    found = json.loads(run(capsys, path, *options, *more, "--json"))
    assert found == {"digests": [{"sha256": each.sha256, "num_images": 4} for each in expected]}


def test_a_transform_of_ones_own(capsys, path, tmp_path, monkeypatch):
    monkeypatch.setattr(_bench, "thread_counts", lambda *_: [0])  # no worker processes
    own = tmp_path / "own.py"
    own.write_text(
        "from torchvision.transforms import v2\n"
        "def transform(image):\n    return v2.functional.pil_to_tensor(image.resize((8, 8)))\n"
        "def pictures(image):\n    return image\n"
    )
    found = json.loads(
        run(capsys, path, "--transform", f"{own}:transform", "--seconds", 0.2, "--num-workers", 0, "--json")
    )
    assert "it is not an operation of torchvision's own types" in found["python_reason"]
    assert found["exports"] is None
    assert any("runs in Python" in line for line in found["advice"])
    said = refused(capsys, path, "--digest", "--num-workers", 0, "--transform", f"{own}:pictures")
    assert said.startswith("torch-dts: error: ")
    assert said.count("\n") == 1


def test_pixel_files(capsys, tmp_path):
    path = build_pixels(tmp_path / "p.dts", 40)
    found = json.loads(run(capsys, path, "--seconds", 0.2, "--num-workers", 0, "--json"))
    assert (found["kind"], found["transform"], found["exports"]) == ("pixels", "cifar", None)


def test_bad_arguments(capsys, path, tmp_path):
    assert refused(capsys, tmp_path / "no.dts").count("\n") == 1
    (tmp_path / "empty").mkdir()
    assert "find any class folder" in refused(capsys, tmp_path / "empty")
    for option in (("--epochs", 2), ("--seed", 1), ("--rank", 0), ("--shuffle-window", "all")):
        assert refused(capsys, path, *option) == (
            f"torch-dts: error: {option[0]} belongs to --digest, which is missing\n"
        )
    assert "--digest measures nothing" in refused(capsys, path, "--digest", "--consumer", 5)
    assert "'imagnet' is no transform" in refused(capsys, path, "--transform", "imagnet")
    assert refused(capsys, path, "--transform", "x:y", "--size", 9) == (
        "torch-dts: error: --size 9 is for imagenet, imagenet-val, cifar: 'x:y' says its size itself\n"
    )
    assert "rank" in refused(capsys, path, "--digest", "--num-replicas", 2, "--rank", 2)
    for wrong in (("--seconds", "0"), ("--consumer", "x"), ("--seconds", "inf"), ("--shuffle-window", "0")):
        assert main(["bench", str(path), *wrong]) == 2


def test_thread_counts():
    assert thread_counts(2, 2) == [2, 1]
    assert thread_counts(6, 6) == [6, 1, 2, 4]
    assert thread_counts(0, 1) == [0, 1]
    assert thread_counts(16, 4) == [16, 1, 2, 4]
