#pragma once

// Linux has them, and Swift's module of the C library leaves them out.
#if __has_include(<sys/epoll.h>)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif
