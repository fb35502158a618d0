// SPDX-License-Identifier: Apache-2.0
// The tables of sample sources and of read buffers, for the ops that make them and for the
// loader's. They stay to the end of the process: threads may use what is in them until then.
#pragma once

#include "ops/handles.h"
#include "pipeline/read_buffers.h"
#include "pipeline/sample_source.h"

namespace dts::ops {

HandleTable<const SampleSource>& sources();
HandleTable<ReadBuffers>& read_buffers();

}  // namespace dts::ops
