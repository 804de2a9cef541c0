#ifndef BLOB_CFUZZER_H
#define BLOB_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

// The interface of libFuzzer as a library, which has no header of its own:
// https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t byte_count));

// Mutates the bytes in place, as libFuzzer does without a mutator of one's own; returns their new number.
size_t LLVMFuzzerMutate(uint8_t *data, size_t byte_count, size_t maximum_byte_count);

#endif
