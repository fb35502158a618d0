// SPDX-License-Identifier: Apache-2.0
// An empty Python module: importing it loads the library, whose static initialisers
// register the ops of torch.ops.torch_dts.
#include <Python.h>

PyMODINIT_FUNC PyInit__C() {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
  return PyModule_Create(&definition);
}
