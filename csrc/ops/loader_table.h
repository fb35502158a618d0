// SPDX-License-Identifier: Apache-2.0
// The loaders behind handles, for all files of ops that deal with them. Thread-safe.
#pragma once

#include "ops/handles.h"
#include "pipeline/loader.h"

namespace dts::ops {

HandleTable<Loader>& loaders();

}  // namespace dts::ops
