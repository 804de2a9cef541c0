#include "CThreadLimit.h"

#ifdef __linux__

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAXIMUM_KIND_COUNT = 64, NAME_SIZE = 80 };

struct kind {
    char name[NAME_SIZE];
    int count;
};

static int limit, patience;

/// Appends the first line of a file about a thread to a name.
static void append(char *name, const char *thread, const char *file) {
    char path[64], line[NAME_SIZE] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/%s", thread, file);
    FILE *stream = fopen(path, "re");
    if (stream == NULL) return;
    if (fgets(line, sizeof line, stream) == NULL) line[0] = 0;
    fclose(stream);
    line[strcspn(line, "\n")] = 0;
    size_t length = strlen(name);
    snprintf(name + length, NAME_SIZE - length, "%s%s", length == 0 ? "" : ", in ", line);
}

/// Counts the threads, and each kind of them if there is room for it. Those that have ended meanwhile are left out.
static int count_threads(struct kind *kinds) {
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL) return 0;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        count += 1;
        if (kinds == NULL) continue;
        char name[NAME_SIZE] = "";
        append(name, entry->d_name, "comm");
        append(name, entry->d_name, "wchan");
        struct kind *kind = kinds;
        while (kind->count > 0 && strcmp(kind->name, name) != 0 && kind < kinds + MAXIMUM_KIND_COUNT - 1) kind += 1;
        if (kind->count == 0) strcpy(kind->name, name);
        kind->count += 1;
    }
    closedir(folder);
    return count;
}

static void check(void) {
    int count = count_threads(NULL);
    for (int turn = 0; turn < patience * 10 && count > limit; turn += 1) {
        poll(NULL, 0, 100);
        count = count_threads(NULL);
    }
    if (count <= limit) return;
    struct kind kinds[MAXIMUM_KIND_COUNT] = {0};
    count = count_threads(kinds);
    fflush(NULL);
    fprintf(stderr, "%d threads are left at the end of the tests, and at most %d may be:\n", count, limit);
    for (int index = 0; index < MAXIMUM_KIND_COUNT && kinds[index].count > 0; index += 1) {
        fprintf(stderr, "%6d %s\n", kinds[index].count, kinds[index].name);
    }
    _exit(1);
}

void thread_limit_set(int new_limit, int seconds) {
    if (limit == 0) atexit(check);
    limit = new_limit;
    patience = seconds;
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("BLOBSTREAMS_THREAD_LIMIT");
    if (text == NULL) return;
    thread_limit_set(atoi(text), 10);
    // A process that a test starts ends with the threads of that test.
    unsetenv("BLOBSTREAMS_THREAD_LIMIT");
}

#else

void thread_limit_set(int limit, int seconds) { (void)limit, (void)seconds; }

#endif
