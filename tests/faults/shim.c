/* Stands between a process and libc: counts the calls that have to do with files and, from the
 * N-th on, does what a machine that fails does. Python, SQLite and ctypes all come by here.
 *
 * Loaded by LD_PRELOAD; tests/faults/shim.py builds it and tells it what to do. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum mode { OFF, COUNT, KILL, FAIL_ONCE, FAIL_ON, SHORT_ONCE, SHORT_ON, STOP, DELAY };

#define NAMES 65536
/* Nobody lives in a world where every call is interrupted for ever, and Python tries as long. */
#define INTERRUPTIONS 20

static atomic_int mode;
static atomic_long calls, failed;
static long first;
static int code;
static char only[4096];
static const char *names[NAMES];
static char on_main_thread[NAMES];
static atomic_long ahead_seconds;

void nbedit_arm(int what, long from, int error, const char *where) {
    mode = OFF;
    calls = failed = 0;
    first = from;
    code = error;
    strncpy(only, where, sizeof only - 1);
    mode = what;
}

long nbedit_disarm(void) {
    mode = OFF;
    return calls;
}

const char *nbedit_name(long call) { return call > 0 && call < NAMES ? names[call] : ""; }

long nbedit_failed(void) { return failed; }

int nbedit_on_main_thread(long call) { return call > 0 && call < NAMES && on_main_thread[call]; }

void nbedit_set_ahead(long seconds) { ahead_seconds = seconds; }

static int inside(const char *path) {
    size_t length = strlen(only);
    return strncmp(path, only, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Whether a call is about what is meant: by its descriptor, its path, or both. */
static int is_meant(int descriptor, const char *path) {
    char link[64], target[4096];
    ssize_t length;
    if (!only[0])
        return 1;
    if (path && path[0] == '/')
        return inside(path);
    if (descriptor == AT_FDCWD)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target - 1);
    if (length < 0)
        return 0;
    target[length] = 0;
    return inside(target);
}

enum verdict { PASS, REFUSE, CUT };

static enum verdict verdict(const char *name, int descriptor, const char *path) {
    long call;
    int before = errno;
    if (mode == OFF)
        return PASS;
    if (!is_meant(descriptor, path)) {
        errno = before;
        return PASS;
    }
    errno = before;
    call = ++calls;
    if (call < NAMES)
        names[call] = name, on_main_thread[call] = syscall(SYS_gettid) == getpid();
    switch (mode) {
    case KILL:
        if (call == first)
            syscall(SYS_kill, getpid(), SIGKILL);
        return PASS;
    case STOP:
        if (call == first)
            syscall(SYS_kill, getpid(), SIGSTOP);
        return PASS;
    case FAIL_ONCE:
        if (call != first)
            return PASS;
        break;
    case FAIL_ON:
        if (call < first || (code == EINTR && failed >= INTERRUPTIONS))
            return PASS;
        break;
    case SHORT_ONCE:
        return call == first ? CUT : PASS;
    case SHORT_ON:
        return call >= first ? CUT : PASS;
    case DELAY: {
        struct timespec pause = {code / 1000, (long)(code % 1000) * 1000000};
        if (call >= first)
            syscall(SYS_nanosleep, &pause, NULL);
        errno = before;
        return PASS;
    }
    default:
        return PASS;
    }
    failed++;
    errno = code;
    return REFUSE;
}

static size_t cut(enum verdict how, size_t size) { return how == CUT && size > 17 ? 17 : size; }

/* The next one of that name: libc's. */
#define NEXT(name)                                                                                 \
    static __typeof__(&name) next;                                                                 \
    if (!next)                                                                                     \
        next = (__typeof__(next))dlsym(RTLD_NEXT, #name);

#define CALL(type, name, parameters, arguments, descriptor, path)                                  \
    type name parameters {                                                                         \
        NEXT(name)                                                                                 \
        return verdict(#name, descriptor, path) == REFUSE ? (type) - 1 : next arguments;           \
    }

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        NEXT(name)                                                                                 \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t rights = va_arg(rest, mode_t);                                                      \
        va_end(rest);                                                                              \
        return verdict(#name, AT_FDCWD, path) == REFUSE ? -1 : next(path, flags, rights);          \
    }

#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...) {                                       \
        NEXT(name)                                                                                 \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t rights = va_arg(rest, mode_t);                                                      \
        va_end(rest);                                                                              \
        return verdict(#name, folder, path) == REFUSE ? -1 : next(folder, path, flags, rights);    \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define SIZED(name, buffer, place, given)                                                          \
    ssize_t name(int descriptor, buffer data, size_t size place) {                                 \
        NEXT(name)                                                                                 \
        enum verdict how = verdict(#name, descriptor, NULL);                                       \
        return how == REFUSE ? -1 : next(descriptor, data, cut(how, size) given);                  \
    }
#define NOWHERE
#define AT(type) , type offset
#define OFFSET , offset

SIZED(read, void *, NOWHERE, NOWHERE)
SIZED(write, const void *, NOWHERE, NOWHERE)
SIZED(pread, void *, AT(off_t), OFFSET)
SIZED(pread64, void *, AT(off64_t), OFFSET)
SIZED(pwrite, const void *, AT(off_t), OFFSET)
SIZED(pwrite64, const void *, AT(off64_t), OFFSET)

static ssize_t vector(enum verdict how, ssize_t (*next)(int, const struct iovec *, int),
                      int descriptor, const struct iovec *parts, int count) {
    struct iovec part;
    if (how == REFUSE)
        return -1;
    if (how != CUT || count == 0)
        return next(descriptor, parts, count);
    part = parts[0];
    part.iov_len = cut(how, part.iov_len);
    return next(descriptor, &part, 1);
}

#define VECTOR(name)                                                                               \
    ssize_t name(int descriptor, const struct iovec *parts, int count) {                           \
        NEXT(name)                                                                                 \
        return vector(verdict(#name, descriptor, NULL), next, descriptor, parts, count);           \
    }

#define VECTOR_AT(name, type)                                                                      \
    ssize_t name(int descriptor, const struct iovec *parts, int count, type offset, int flags) {   \
        NEXT(name)                                                                                 \
        enum verdict how = verdict(#name, descriptor, NULL);                                       \
        struct iovec part = {count ? parts[0].iov_base : NULL, cut(how, count ? parts[0].iov_len : 0)}; \
        if (how == REFUSE)                                                                         \
            return -1;                                                                             \
        return how == CUT && count ? next(descriptor, &part, 1, offset, flags)                     \
                                   : next(descriptor, parts, count, offset, flags);                \
    }

VECTOR_AT(preadv2, off_t)
VECTOR_AT(preadv64v2, off64_t)
VECTOR(readv)
VECTOR(writev)

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    NEXT(copy_file_range)
    enum verdict how = verdict("copy_file_range", out, NULL);
    return how == REFUSE ? -1 : next(in, from, out, to, cut(how, size), flags);
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    NEXT(sendfile)
    enum verdict how = verdict("sendfile", out, NULL);
    return how == REFUSE ? -1 : next(out, in, offset, cut(how, size));
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) {
    NEXT(sendfile64)
    enum verdict how = verdict("sendfile64", out, NULL);
    return how == REFUSE ? -1 : next(out, in, offset, cut(how, size));
}

int close(int descriptor) {
    NEXT(close)
    /* On Linux a close that fails has closed all the same. */
    enum verdict how = verdict("close", descriptor, NULL);
    int error = errno, done = next(descriptor);
    if (how != REFUSE)
        return done;
    errno = error;
    return -1;
}

/* No disk fails to unlock, and for what it could not unlock SQLite waits ten seconds. */
static int is_unlock(int command, const void *argument) {
    if (command != F_SETLK && command != F_SETLKW)
        return 0;
    return ((const struct flock *)argument)->l_type == F_UNLCK;
}

#define FCNTL(name)                                                                                \
    int name(int descriptor, int command, ...) {                                                   \
        NEXT(name)                                                                                 \
        va_list rest;                                                                              \
        va_start(rest, command);                                                                   \
        void *argument = va_arg(rest, void *);                                                     \
        va_end(rest);                                                                              \
        if (is_unlock(command, argument))                                                          \
            return next(descriptor, command, argument);                                            \
        return verdict(#name, descriptor, NULL) == REFUSE ? -1                                     \
                                                          : next(descriptor, command, argument);   \
    }

FCNTL(fcntl)
FCNTL(fcntl64)

int ioctl(int descriptor, unsigned long request, ...) {
    static int (*next)(int, unsigned long, ...);
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "ioctl");
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return verdict("ioctl", descriptor, NULL) == REFUSE ? -1 : next(descriptor, request, argument);
}

long syscall(long number, ...) {
    static long (*next)(long, ...);
    long a[6];
    va_list rest;
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "syscall");
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    /* Of the system's calls without a function in libc only this one has to do with files. */
    if (number == SYS_openat2 && verdict("openat2", (int)a[0], (const char *)a[1]) == REFUSE)
        return -1;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define PATH const char *path
#define TWO const char *source, const char *target

CALL(int, fsync, (int file), (file), file, NULL)
CALL(int, fdatasync, (int file), (file), file, NULL)
CALL(int, sync_file_range, (int file, off64_t from, off64_t size, unsigned flags),
     (file, from, size, flags), file, NULL)
CALL(int, fallocate, (int file, int how, off_t from, off_t size), (file, how, from, size), file,
     NULL)
CALL(int, fallocate64, (int file, int how, off64_t from, off64_t size), (file, how, from, size),
     file, NULL)
CALL(int, flock, (int file, int how), (file, how), file, NULL)
CALL(int, ftruncate, (int file, off_t size), (file, size), file, NULL)
CALL(int, ftruncate64, (int file, off64_t size), (file, size), file, NULL)
CALL(int, rename, (TWO), (source, target), AT_FDCWD, target)
CALL(int, renameat, (int in, const char *source, int to, const char *target),
     (in, source, to, target), to, target)
CALL(int, renameat2, (int in, const char *source, int to, const char *target, unsigned flags),
     (in, source, to, target, flags), to, target)
CALL(int, link, (TWO), (source, target), AT_FDCWD, target)
CALL(int, linkat, (int in, const char *source, int to, const char *target, int flags),
     (in, source, to, target, flags), to, target)
CALL(int, unlink, (PATH), (path), AT_FDCWD, path)
CALL(int, unlinkat, (int folder, PATH, int flags), (folder, path, flags), folder, path)
CALL(int, mkdir, (PATH, mode_t rights), (path, rights), AT_FDCWD, path)
CALL(int, mkdirat, (int folder, PATH, mode_t rights), (folder, path, rights), folder, path)
CALL(int, stat, (PATH, struct stat *status), (path, status), AT_FDCWD, path)
CALL(int, stat64, (PATH, struct stat64 *status), (path, status), AT_FDCWD, path)
CALL(int, lstat, (PATH, struct stat *status), (path, status), AT_FDCWD, path)
CALL(int, lstat64, (PATH, struct stat64 *status), (path, status), AT_FDCWD, path)
CALL(int, fstat, (int file, struct stat *status), (file, status), file, NULL)
CALL(int, fstat64, (int file, struct stat64 *status), (file, status), file, NULL)
CALL(int, fstatat, (int folder, PATH, struct stat *status, int flags),
     (folder, path, status, flags), folder, path)
CALL(int, fstatat64, (int folder, PATH, struct stat64 *status, int flags),
     (folder, path, status, flags), folder, path)
CALL(int, statx, (int folder, PATH, int flags, unsigned mask, struct statx *status),
     (folder, path, flags, mask, status), folder, path)
CALL(int, access, (PATH, int how), (path, how), AT_FDCWD, path)
CALL(int, faccessat, (int folder, PATH, int how, int flags), (folder, path, how, flags), folder,
     path)
CALL(int, chmod, (PATH, mode_t rights), (path, rights), AT_FDCWD, path)
CALL(int, fchmod, (int file, mode_t rights), (file, rights), file, NULL)
CALL(int, chown, (PATH, uid_t user, gid_t group), (path, user, group), AT_FDCWD, path)
CALL(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), file, NULL)
CALL(int, futimens, (int file, const struct timespec times[2]), (file, times), file, NULL)
CALL(int, utimensat, (int folder, PATH, const struct timespec times[2], int flags),
     (folder, path, times, flags), folder, path)
CALL(ssize_t, flistxattr, (int file, char *list, size_t size), (file, list, size), file, NULL)
CALL(ssize_t, fgetxattr, (int file, const char *name, void *value, size_t size),
     (file, name, value, size), file, NULL)
CALL(int, fsetxattr, (int file, const char *name, const void *value, size_t size, int flags),
     (file, name, value, size, flags), file, NULL)
CALL(int, fremovexattr, (int file, const char *name), (file, name), file, NULL)
CALL(ssize_t, readlink, (PATH, char *target, size_t size), (path, target, size), AT_FDCWD, path)
CALL(ssize_t, readlinkat, (int folder, PATH, char *target, size_t size),
     (folder, path, target, size), folder, path)

DIR *opendir(const char *path) {
    NEXT(opendir)
    return verdict("opendir", AT_FDCWD, path) == REFUSE ? NULL : next(path);
}

DIR *fdopendir(int descriptor) {
    NEXT(fdopendir)
    return verdict("fdopendir", descriptor, NULL) == REFUSE ? NULL : next(descriptor);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime)
    int done = next(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += ahead_seconds;
    return done;
}
