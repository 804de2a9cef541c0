#ifndef BLOB_HEAP_H
#define BLOB_HEAP_H

#include <stddef.h>

#if defined(__APPLE__)
#include <malloc/malloc.h>

static inline size_t blob_heap_byte_count(void) {
    malloc_statistics_t statistics;
    malloc_zone_statistics(NULL, &statistics);
    return statistics.size_in_use;
}
#else
#include <malloc.h>

// Needed because Swift's Glibc module omits malloc.h. Counts the arenas of all threads and the mapped blocks.
static inline size_t blob_heap_byte_count(void) {
    struct mallinfo2 statistics = mallinfo2();
    return statistics.uordblks + statistics.hblkhd;
}
#endif

#endif
