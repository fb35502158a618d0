// SPDX-License-Identifier: Apache-2.0
// What the block headers of a file say, for files without sections.
//
// Input: an open file and its header. Output: one list of slots a block. Reads only the
// indexes, with up to eight threads, each with a handle of its own. Thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "base/file.h"
#include "format/block.h"
#include "format/header.h"

namespace dts {

// Slots of all blocks, each checked by parse_block_index. CorruptFile for the first bad
// block, and when the blocks together do not hold header.num_samples ("lies").
// `open_handle` is called once by each further thread.
std::vector<std::vector<SlotMeta>> scan_blocks(const InputFile& file, const Header& header,
                                               const std::function<InputFile()>& open_handle);

}  // namespace dts
