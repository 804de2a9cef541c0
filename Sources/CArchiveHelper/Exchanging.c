#define _GNU_SOURCE
#include "CArchiveHelper.h"

#include <errno.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

void *blob_map_memory(int descriptor, size_t byte_count) {
    void *memory = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void blob_unmap_memory(void *memory, size_t byte_count) { munmap(memory, byte_count); }

int blob_send(int socket, const void *bytes, size_t count) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t sent = send(socket, next, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno;
        next += sent;
        count -= (size_t)sent;
    }
    return 0;
}

ssize_t blob_receive(int socket, void *bytes, size_t count) {
    ssize_t received;
    do {
        received = recv(socket, bytes, count, 0);
    } while (received < 0 && errno == EINTR);
    return received < 0 ? -errno : received;
}

void blob_close(int descriptor) { close(descriptor); }

void blob_use_utf8(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale != (locale_t)0) uselocale(locale);
}
