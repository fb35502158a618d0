// SPDX-License-Identifier: Apache-2.0
// An empty Python module: importing it, behind torch_dts._C, registers the CUDA kernels of
// torch.ops.torch_dts.
#include <Python.h>

PyMODINIT_FUNC PyInit__C_cuda() {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "_C_cuda", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
  return PyModule_Create(&definition);
}
