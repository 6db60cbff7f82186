#define _GNU_SOURCE
#include "fuzz_watch.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Only the calling thread is watched: the thread of the files' server does not run the library. */
static _Thread_local int watching;
static fuzz_watch_seen seen;
static char folder[512];
static uint16_t server;
static void (*tired)(void);
/* Simulated waiting time of the library, in microseconds. */
static atomic_llong waited;

enum { MOST_WAITS = 100, MOST_FILES = 3000 };

void fuzz_watch_begin(const char *path, uint16_t port, void (*call)(void)) {
  memset(&seen, 0, sizeof seen);
  strncpy(folder, path, sizeof folder - 1);
  server = port;
  tired = call;
  watching = 1;
}

fuzz_watch_seen fuzz_watch_end(void) {
  watching = 0;
  return seen;
}

static int is_inside(const char *path) {
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' && !strstr(path + length, "/../");
}

/* Where an address leads: the library opens a descriptor that it has checked by its name in /proc. */
static const char *target_of(const char *path, char *target, size_t size) {
  if (strncmp(path, "/proc/self/fd/", 14)) return path;
  const ssize_t length = readlink(path, target, size - 1);
  if (length < 0) return path;
  target[length] = 0;
  return target;
}

static int watched_open(const char *name, int flags, int mode) {
  if (!watching) return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
  char target[512];
  const char *path = target_of(name, target, sizeof target);
  if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC)) {
    seen.writes++;
    errno = EACCES;
    return -1;
  }
  if (!is_inside(path)) {
    struct stat status;
    seen.outside++;
    /* O_PATH opens nothing: neither does a device act, nor can be read. */
    if (!(flags & O_PATH) && stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
      seen.devices++;
      strncpy(seen.path, path, sizeof seen.path - 1);
    }
    errno = ENOENT;
    return -1;
  }
  if (++seen.files == MOST_FILES && tired) tired();
  return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

#define OPENS(name)                                                  \
  int name(const char *path, int flags, ...) {                       \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0; \
    va_end(rest);                                                    \
    return watched_open(path, flags, mode);                          \
  }
OPENS(open)
OPENS(open64)

static int refuse_port(void) {
  seen.ports++;
  errno = EACCES;
  return -1;
}

int bind(int socket, const struct sockaddr *address, socklen_t size) {
  return watching ? refuse_port() : (int)syscall(SYS_bind, socket, address, size);
}

int listen(int socket, int backlog) { return watching ? refuse_port() : (int)syscall(SYS_listen, socket, backlog); }

int connect(int socket, const struct sockaddr *address, socklen_t size) {
  const struct sockaddr_in *to = (const struct sockaddr_in *)address;
  const int is_server = to->sin_family == AF_INET && to->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && to->sin_port == htons(server);
  if (watching && !is_server) {
    seen.strangers++;
    errno = ECONNREFUSED;
    return -1;
  }
  return (int)syscall(SYS_connect, socket, address, size);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  struct in_addr number;
  if (watching && (!host || inet_pton(AF_INET, host, &number) != 1)) {
    seen.strangers++;
    return EAI_NONAME;
  }
  int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
  return real(host, service, hints, found);
}

/* Replaces libavutil's time (libavutil/time.h): waiting only advances the simulated clock. */
int av_usleep(unsigned microseconds) {
  atomic_fetch_add(&waited, microseconds);
  if (watching && ++seen.waits == MOST_WAITS && tired) tired();
  return 0;
}

int64_t av_gettime_relative(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000ll + now.tv_nsec / 1000 + atomic_load(&waited);
}
