/* A system that cannot exchange two names, or gives no leases: FUSE, NFS and some containers.
 *
 * Loaded by LD_PRELOAD; NBEDIT_REFUSED names what is refused. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int is_refused(const char *what) {
    const char *refused = getenv("NBEDIT_REFUSED");
    return refused && strstr(refused, what) != NULL;
}

int renameat2(int in, const char *source, int to, const char *target, unsigned flags) {
    int (*next)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
    if (is_refused("exchange") && flags != 0) {
        errno = EINVAL;
        return -1;
    }
    return next(in, source, to, target, flags);
}

#define FCNTL(name)                                                                                \
    int name(int descriptor, int command, ...) {                                                   \
        int (*next)(int, int, ...) = dlsym(RTLD_NEXT, #name);                                      \
        va_list rest;                                                                              \
        va_start(rest, command);                                                                   \
        void *argument = va_arg(rest, void *);                                                     \
        va_end(rest);                                                                              \
        if (is_refused("lease") && command == F_SETLEASE) {                                        \
            errno = EINVAL;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
        return next(descriptor, command, argument);                                                \
    }

FCNTL(fcntl)
FCNTL(fcntl64)
