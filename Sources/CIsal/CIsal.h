#ifndef BLOB_CISAL_H
#define BLOB_CISAL_H

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

// Swift does not import arrays as large as `tmp_out_buffer`.
static inline const uint8_t *blob_isal_history(const struct inflate_state *state) {
    return state->tmp_out_buffer;
}

#endif
