# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import os
import resource

import PIL
import pytest
import torch

import torch_dts
from torch_dts import _native
from torch_dts.cli._doctor_facts import collect


@pytest.fixture
def root(tmp_path):
    """A machine with two nodes, in a container of 3 GiB and 1.5 CPUs."""
    for name, text in {
        "proc/cpuinfo": "processor : 0\nmodel name\t: A  fast CPU\nflags : x\nmodel name : B\n",
        "proc/meminfo": "MemTotal:  8388608 kB\nMemAvailable: 4194304 kB\n",
        "proc/loadavg": "2.25 1.00 0.50 3/300 7\n",
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/cgroup.procs": "1\n",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/memory.max": f"{3 << 30}\n",
        "sys/fs/cgroup/memory.current": f"{1 << 30}\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/devices/system/node/node0/cpulist": "0\n",
        "sys/devices/system/node/node1/cpulist": "1\n",
        "sys/devices/system/node/online": "0-1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return str(tmp_path)


def test_a_made_up_machine(root):
    found = collect(root, {"TORCH_DTS_SIMD": "avx2", "HOME": "/root", "LOCAL_WORLD_SIZE": "1"})
    allowed = len(os.sched_getaffinity(0))
    assert found["cpu"]["model"] == "A  fast CPU"
    assert found["cpu"]["quota"] == 2  # a part of a CPU counts as a whole one
    assert found["cpu"]["allowed"] == allowed
    assert found["cpu"]["threads"] == min(2, allowed)
    assert found["cpu"]["load"] == 2.25
    assert found["cpu"]["numa_nodes"] == 2
    assert found["memory"] == {
        "total": 8 << 30,
        "available": 2 << 30,
        "limit": 3 << 30,
        "huge_pages": "madvise",
    }
    assert found["environment"] == {"TORCH_DTS_SIMD": "avx2", "LOCAL_WORLD_SIZE": "1"}


def test_a_machine_that_says_nothing(tmp_path):
    found = collect(str(tmp_path), {})
    assert found["cpu"]["model"] == found["cpu"]["machine"]
    assert (found["cpu"]["quota"], found["cpu"]["load"], found["cpu"]["numa_nodes"]) == (None, None, 1)
    assert found["memory"] == {"total": None, "available": 0, "limit": None, "huge_pages": None}
    assert found["environment"] == {}


def test_this_process():
    found = collect()
    versions = found["versions"]
    assert versions["torch_dts"] == torch_dts.__version__
    assert versions["torch"] == torch.__version__
    assert versions["Pillow"] == PIL.__version__
    assert versions["torchvision"] == importlib.metadata.version("torchvision")
    assert versions["libjpeg of torch_dts"] == _native.jpeg_library()
    assert versions["CRC-32"] == _native.crc32_backend()
    assert found["simd"] == _native.simd_level()
    assert os.path.basename(found["module"]).startswith("_C.")
    assert found["cuda"]["of_torch"] == torch.version.cuda
    assert found["cuda"]["problem"] == _native.cuda_problem()
    assert len(found["cuda"]["devices"]) == (torch.cuda.device_count() if torch.cuda.is_available() else 0)
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert found["limits"]["NOFILE"] == (None if soft == resource.RLIM_INFINITY else soft)
