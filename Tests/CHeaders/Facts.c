// What our headers say.
#include <CArchive.h>
#include <CBzip2.h>
#include <CCurl.h>
#include <CIsal.h>
#include <CLzma.h>
#include <CZstd.h>

#include "CHeaders.h"
#include "Facts.h"
#include "Real.h"

#define FACT(value) {#value, (long long)(value)},
#define TABLE(library) static const struct header_fact ours_##library[] = {FACTS_##library(FACT)};
LIBRARIES(TABLE)

const struct header_facts *header_facts(size_t *count) {
    static struct header_facts all[] = {
#define ITEM(library) {#library, ours_##library, NULL, sizeof ours_##library / sizeof *ours_##library},
        LIBRARIES(ITEM)
    };
    size_t place = 0;
#define FIND(library) all[place++].real = real_##library();
    LIBRARIES(FIND)
    *count = place;
    return all;
}
