// SPDX-License-Identifier: Apache-2.0
#include "ops/source_table.h"

#include <pthread.h>

namespace dts::ops {
namespace {

// Never destroyed. A forked child gets them unlocked.
template <class T>
HandleTable<T>& table_of(const char* kind) {
  static HandleTable<T>* const table = new HandleTable<T>(kind);
  static const int registered =
      pthread_atfork([] { table->lock(); }, [] { table->unlock(); }, [] { table->unlock(); });
  static_cast<void>(registered);
  return *table;
}

}  // namespace

HandleTable<const SampleSource>& sources() { return table_of<const SampleSource>("source"); }

HandleTable<ReadBuffers>& read_buffers() { return table_of<ReadBuffers>("read buffers"); }

}  // namespace dts::ops
