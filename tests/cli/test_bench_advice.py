# SPDX-License-Identifier: Apache-2.0
"""Given figures, the words."""

from bench_figures import figures, rate

from torch_dts.cli._bench_advice import advise
from torch_dts.cli._bench_figures import DiskRate, Export, Exports

FAST_DISK = DiskRate(1_000_000_000, 0.5)
RESTART = Export("--restart-interval auto", True, 0.5, 0.98)
LEVEL = Export("--level 3", False, 0.25, 0.25)


def test_nothing_measured_nothing_said():
    assert advise(figures()) == []


def test_decoding_limits():
    assert advise(figures(rates=[rate(1, 510), rate(2, 1000)], disk=FAST_DISK)) == [
        "Decoding limits: 2 threads give 1,000 images/s, 2.00 ms of CPU time an image."
    ]
    assert advise(figures(num_workers=0, rates=[rate(0, 500, cpu_seconds=2.0)]))[0] == (
        "Decoding limits: the caller's thread gives 500 images/s, 2.00 ms of CPU time an image."
    )


def test_conversions_that_bring_something():
    trial = Exports(40, 1.0, 500.4, (RESTART, Export("--level 1", False, 0.5, 0.6), LEVEL))
    assert advise(figures(rates=[rate()], exports=trial))[1:] == [
        "Converting with --restart-interval auto would give about 2,000 images/s with 0.98 times the bytes: "
        "0.50 ms in place of 1.00 an image, measured on 40 images; the pixels stay, and crops are decoded "
        "without the rest (the files have no restart markers).",
        "Converting with --level 3 would give about 4,000 images/s with 0.25 times the bytes: 0.25 ms in "
        "place of 1.00 an image, measured on 40 images; the short side is 500 pixels on average, and images "
        "are encoded anew.",
    ]


def test_conversions_that_bring_little_are_not_advised():
    trial = Exports(40, 1.0, 500, (Export("--level 1", False, 0.95, 0.6),))
    assert len(advise(figures(rates=[rate()], exports=trial))) == 1
    # nor where decoding is not what limits
    trial = Exports(40, 1.0, 500, (LEVEL,))
    assert len(advise(figures(rates=[rate(bottleneck="consumer")], exports=trial, disk=FAST_DISK))) == 1


def test_the_disk_limits():
    # 100 kB a sample at 50 MB/s: 500 images/s
    slow = DiskRate(50_000_000, 1.0)
    reading = rate(images_per_s=480, bottleneck="disk", bytes_read=96_000_000)
    trial = Exports(40, 1.0, 500, (RESTART, LEVEL))
    found = advise(
        figures(rates=[reading], disk=slow, mode="partial", exports=trial, available_bytes=250 << 20)
    )
    assert found == [
        "Reading limits: 2 threads give 480 images/s at 48 MB/s, and the threads mostly wait for bytes.",
        "The disk gives 50 MB/s of what is not in memory, enough for 500 images/s: where the set does not "
        "stay in memory, the disk limits.",
        'mode="fully" reads it only once: all of it (95.4 MiB) fits in memory (250.0 MiB are free).',
        "Converting with --level 3 makes it 0.25 times as large, so that the disk is enough for 2,000 "
        "images/s.",
    ]
    found = advise(figures(kind="folder", rates=[reading], disk=slow, available_bytes=150 << 20))
    assert found[2:] == [
        "All of it (95.4 MiB) is more than half of the free memory (150.0 MiB): each epoch reads it anew.",
        "A .dts file is read in large pieces: torch-dts convert packs the folder.",
    ]
    # with room for all of it, "auto" does by itself what would be advised
    assert len(advise(figures(rates=[reading], disk=slow))) == 2


def test_beside_a_model():
    def said(wait_seconds, rates, num_workers=2):
        beside = rate(num_workers, 400, bottleneck="consumer", wait_seconds=wait_seconds)
        return advise(figures(num_workers=num_workers, rates=rates, consumer=beside, consumer_rate=400.0))[1]

    waits = "A model that takes 400 images/s waits"
    assert said(0.0, [rate(2, 1000)]) == f"{waits} 0.0 % of the time: loading is fast enough."
    assert said(0.0, [rate(1, 500), rate(2, 1000)]) == (
        f"{waits} 0.0 % of the time: loading is fast enough, and 1 thread would do."
    )
    assert said(0.5, [rate(2, 300)]) == f"{waits} 25.0 % of the time and gets 400 images/s."


def test_numbers_of_threads():
    few = [rate(1, 500, cpu_seconds=2.0), rate(2, 1000), rate(8, 1010)]
    assert advise(figures(num_workers=8, rates=few))[1:] == [
        "8 threads are more than the 2 CPUs that this process may use, which makes nothing faster.",
        "More threads than 2 bring nothing here.",
    ]
    assert advise(figures(num_workers=1, rates=[rate(1, 500, cpu_seconds=2.0), rate(2, 1000)]))[1:] == [
        "--num-workers 2 give more: 1,000 images/s."
    ]


def test_other_work_on_the_machine():
    crowded = rate(2, 1000, cpu_seconds=1.0)
    assert advise(figures(rates=[rate(1, 990, cpu_seconds=1.0), crowded]))[1:] == [
        "The threads got the time of 0.5 of 2 CPUs: other work runs here. Measure again when it is done."
    ]


def test_python_and_a_slow_start():
    slow = rate(cpu_seconds=None, bottleneck="none", first_batch_seconds=4.0)
    assert advise(figures(rates=[slow], python_reason="Blur(): it is odd")) == [
        "2 threads give 1,000 images/s.",
        "The transform runs in Python, in worker processes (Blur(): it is odd); native code is much faster. "
        "torch_dts.transforms.explain(transform) says what of it is in the way.",
        "The first batch came after 4.0 s; mode='partial' and a smaller shuffle_window read less before it.",
    ]
