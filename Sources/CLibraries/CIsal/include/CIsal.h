#ifndef BLOB_CISAL_H
#define BLOB_CISAL_H

// Types and constants come from ISA-L's headers. Its functions are called through a table that `blob_isal_load` fills, so
// that ISA-L is not linked: a program starts where it is not installed.
#include <stddef.h>
#include <stdint.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

/// Loads ISA-L. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread calls `dlopen(3)` or `dlsym(3)` again.
const char *blob_isal_load(void);

/// The functions of ISA-L in use. Each is declared with the prefix `blob_`; the headers of ISA-L document them.
#define BLOB_ISAL_FUNCTIONS(X) \
    X(uint32_t, crc32_gzip_refl, (uint32_t value, const unsigned char *bytes, uint64_t count), (value, bytes, count)) \
    X(int, isal_inflate, (struct inflate_state *state), (state)) \
    X(void, isal_inflate_init, (struct inflate_state *state), (state)) \
    X(void, isal_inflate_reset, (struct inflate_state *state), (state)) \
    X(int, isal_inflate_set_dict, (struct inflate_state *state, uint8_t *bytes, uint32_t count), (state, bytes, count))

#define BLOB_DECLARE(result, name, parameters, arguments) result blob_##name parameters;
BLOB_ISAL_FUNCTIONS(BLOB_DECLARE)
#undef BLOB_DECLARE

// Swift does not import arrays as large as `tmp_out_buffer`.
static inline const uint8_t *blob_isal_history(const struct inflate_state *state) {
    return state->tmp_out_buffer;
}

#endif
