#define _GNU_SOURCE
#include "CHelper.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
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

void *blob_map_file(int descriptor, size_t byte_count) {
    void *memory = mmap(NULL, byte_count, PROT_READ, MAP_PRIVATE, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void blob_unmap_memory(void *memory, size_t byte_count) { munmap(memory, byte_count); }

/// A buffer for the descriptors of one message, aligned like the header of the message.
union descriptors {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * blob_maximum_descriptor_count)];
};

/// Sends bytes, with descriptors attached to the first of them.
static ssize_t send_with_descriptors(
    int socket, const char *bytes, size_t count, const int descriptors[], int descriptor_count) {
    union descriptors control;
    memset(&control, 0, sizeof control);
    struct iovec vector = {(void *)bytes, count};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes};
    size_t size = sizeof(int) * (size_t)descriptor_count;
    message.msg_controllen = CMSG_SPACE(size);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), descriptors, size);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

int blob_send(int socket, const void *bytes, size_t count, const int descriptors[], int descriptor_count) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t sent = descriptor_count == 0
            ? send(socket, next, count, MSG_NOSIGNAL)
            : send_with_descriptors(socket, next, count, descriptors, descriptor_count);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno;
        descriptor_count = 0;
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

ssize_t blob_receive_with_descriptors(
    int socket, void *bytes, size_t count, int descriptors[], int *descriptor_count) {
    union descriptors control;
    struct iovec vector = {bytes, count};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t received;
    do {
        received = recvmsg(socket, &message, 0);
    } while (received < 0 && errno == EINTR);
    *descriptor_count = 0;
    if (received < 0) return -errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return received;
    size_t size = header->cmsg_len - CMSG_LEN(0);
    memcpy(descriptors, CMSG_DATA(header), size);
    *descriptor_count = (int)(size / sizeof(int));
    return received;
}

void blob_close(int descriptor) { close(descriptor); }

void blob_free(void *memory) { free(memory); }

size_t blob_length(const char *text) { return strlen(text); }

void blob_use_utf8(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale != (locale_t)0) uselocale(locale);
}
