#ifndef BLOB_CHEADERS_H
#define BLOB_CHEADERS_H

#include <stddef.h>

/// An integer in a header: a constant, the size of a type, or the offset of a field.
struct header_fact {
    const char *name;
    long long value;
};

/// The facts of one library in our header and in its own, which is not installed when `real` is NULL.
struct header_facts {
    const char *library;
    const struct header_fact *ours, *real;
    size_t count;
};

/// Sets `count` to the number of libraries.
const struct header_facts *header_facts(size_t *count);

#endif
