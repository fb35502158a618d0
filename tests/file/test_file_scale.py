# SPDX-License-Identifier: Apache-2.0
"""A file as large as ImageNet: what is lazy must stay so."""

import json
import subprocess
import sys
import zlib

import numpy as np
import pytest
from building import (
    BLOCK_SIZE,
    HEADER_BYTES,
    build_classes,
    build_header,
    build_sections,
)

NUM_SAMPLES = 1_281_167
NUM_BLOCKS = 8768
NUM_CLASSES = 1000

SCRIPT = """
import json, resource, sys, time
import torch_dts

def memory():
    # The peak alone hides what is below that of the imports.
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[1]) * resource.getpagesize()
    return now, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def growth():
    return max(after - before for after, before in zip(memory(), memory_before))

memory_before = memory()
start = time.perf_counter()
file = torch_dts.open(sys.argv[1])
found = [len(file), len(file.classes), file.classes[999]]
seconds = time.perf_counter() - start
opened = growth()
found += [file.paths[640_000], file.describe_sample(-1), int(file.labels[1_281_166])]
print(json.dumps({"found": found, "opened": opened, "all": growth(), "seconds": seconds}))
"""


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """Header and sections are real, the blocks are a hole in the file."""
    path = tmp_path_factory.mktemp("scale") / "large.dts"
    numbers = np.arange(NUM_SAMPLES)
    per_block = np.full(NUM_BLOCKS, NUM_SAMPLES // NUM_BLOCKS)
    per_block[: NUM_SAMPLES % NUM_BLOCKS] += 1
    # i -> 7i + 3 is a permutation, as 7 does not divide the number of samples.
    order = (numbers * 7 + 3) % NUM_SAMPLES
    labels = numbers * NUM_CLASSES // NUM_SAMPLES
    # Every chunk holds the same names: one to compress, and the shorter last one.
    names = [b"n%08d/n%08d_%d.JPEG" % (i % 1000, i % 1000, i) for i in range(65536)]
    whole, rest = divmod(NUM_SAMPLES, 65536)
    streams = [zlib.compress(b"".join(name + b"\0" for name in names))] * whole
    streams.append(zlib.compress(b"".join(name + b"\0" for name in names[:rest])))
    ends = np.cumsum([len(stream) for stream in streams]).astype("<u4")
    header = build_header(num_samples=NUM_SAMPLES, num_classes=NUM_CLASSES, num_blocks=NUM_BLOCKS)
    sections = {
        "CLSS": build_classes([b"n%08d" % number for number in range(NUM_CLASSES)]),
        "BIDX": np.stack([per_block, np.zeros_like(per_block)], 1).astype("<u4").tobytes(),
        "SIZE": np.full(NUM_SAMPLES, 110_000, dtype="<u4").tobytes(),
        "LABL": labels.astype("<i4").tobytes(),
        "ORDR": order.astype("<u4").tobytes(),
        "PATH": ends.tobytes() + b"".join(streams),
    }
    with open(path, "wb") as file:
        file.truncate(HEADER_BYTES + NUM_BLOCKS * BLOCK_SIZE)
        for offset, content in [(0, header), *build_sections(sections, compressed=("SIZE", "LABL"))]:
            file.seek(offset)
            file.write(content)
    return path


def test_opening_takes_little_memory(large_file):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(large_file)], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout)
    print(result)  # shown by pytest -s
    stored = (NUM_SAMPLES - 1 - 3) * pow(7, -1, NUM_SAMPLES) % NUM_SAMPLES
    larger = NUM_SAMPLES % NUM_BLOCKS  # blocks of 147 samples, before those of 146
    block = stored // 147 if stored < larger * 147 else larger + (stored - larger * 147) // 146
    assert result["found"] == [
        NUM_SAMPLES,
        NUM_CLASSES,
        "n00000999",
        "n00000176/n00000176_50176.JPEG",
        f"sample 1281166 (n00000982/n00000982_35982.JPEG, block {block}) of {large_file}",
        999,
    ]
    assert result["opened"] < 50e6
