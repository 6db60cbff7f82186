// Counts memory allocations per thread and per calling library, between two moments. Preloaded (LD_PRELOAD); see
// alloccount.
//
// ALLOCCOUNT_OUT=FILE     where the report goes, as JSON (required)
// ALLOCCOUNT_FROM=S       count from S seconds after process start ...
// ALLOCCOUNT_UNTIL=S      ... until S seconds after it; the report is written then
// without FROM and UNTIL  SIGUSR1 starts, SIGUSR2 stops and writes the report
//
// An allocation belongs to the object file whose code called malloc. libc, libstdc++ and their like call on behalf of
// others, so for them the stack is walked up to the first caller that is none of them. Allocations of the executable
// and of Swift's own libraries are "ours": their stacks are kept.
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// glibc's own names for the real functions: no dlsym, hence no recursion while starting.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { MAX_OBJECTS = 256, MAX_SEGMENTS = 1024, MAX_THREADS = 256, MAX_SITES = 1024, DEPTH = 20 };

typedef struct {
  char name[64];
  uintptr_t base;
  int neutral, ours;
} Object;

typedef struct {
  uintptr_t start, end;
  int object;
} Segment;

typedef struct {
  pid_t tid;
  char name[16];
  uint64_t count[MAX_OBJECTS], bytes[MAX_OBJECTS];
} Thread;

typedef struct {
  void *frames[DEPTH];
  int depth, thread;
  uint64_t count, bytes;
} Site;

static Object objects[MAX_OBJECTS];
static Segment segments[MAX_SEGMENTS];
static Thread threads[MAX_THREADS];
static Site sites[MAX_SITES];
static int object_count = 1, segment_count;  // object 0 is "unknown"
static atomic_int thread_count, site_count, active;
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
static sem_t finished;
static const char *out_path;
static double from_seconds = -1, until_seconds = -1;

static __thread int my_thread __attribute__((tls_model("initial-exec"))) = -1;
static __thread int inside __attribute__((tls_model("initial-exec")));

static void lock(void) { while (atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire)) { } }
static void unlock(void) { atomic_flag_clear_explicit(&table_lock, memory_order_release); }

static int starts_with_any(const char *name, const char *const *prefixes) {
  for (; *prefixes; prefixes++)
    if (!strncmp(name, *prefixes, strlen(*prefixes))) return 1;
  return 0;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *unused) {
  static const char *const neutral[] = {"libc.so", "ld-linux", "libstdc++", "libgcc_s", "libm.so", "libpthread", "libdl.",
                                        "counter", NULL};
  static const char *const ours[] = {"libswift", "lib_Foundation", "libFoundation", "libdispatch", "libBlocksRuntime", NULL};
  (void)size, (void)unused;
  const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
  if (!*name) name = "(executable)";
  int object = 1;
  while (object < object_count && (strcmp(objects[object].name, name) || objects[object].base != info->dlpi_addr)) object++;
  if (object < object_count || object == MAX_OBJECTS) return 0;
  Object *o = &objects[object];
  snprintf(o->name, sizeof o->name, "%s", name);
  o->base = info->dlpi_addr;
  o->neutral = starts_with_any(name, neutral);
  o->ours = !strcmp(name, "(executable)") || starts_with_any(name, ours);
  object_count++;
  for (int i = 0; i < info->dlpi_phnum && segment_count < MAX_SEGMENTS; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
      uintptr_t start = info->dlpi_addr + header->p_vaddr;
      segments[segment_count++] = (Segment){start, start + header->p_memsz, object};
    }
  }
  return 0;
}

static int look_up(const void *address) {
  for (int i = 0; i < segment_count; i++)
    if ((uintptr_t)address >= segments[i].start && (uintptr_t)address < segments[i].end) return segments[i].object;
  return 0;
}

// Libraries opened later are found on the first miss.
static int object_of(const void *address) {
  int object = look_up(address);
  if (object) return object;
  dl_iterate_phdr(add_object, NULL);
  return look_up(address);
}

static void keep_site(void **frames, int depth, size_t size) {
  int n = atomic_load(&site_count), i = 0;
  for (; i < n; i++)
    if (sites[i].thread == my_thread && sites[i].depth == depth && !memcmp(sites[i].frames, frames, depth * sizeof *frames)) break;
  if (i == MAX_SITES) return;
  if (i == n) {
    memcpy(sites[i].frames, frames, depth * sizeof *frames);
    sites[i].depth = depth, sites[i].thread = my_thread;
    atomic_store(&site_count, n + 1);
  }
  sites[i].count++, sites[i].bytes += size;
}

static __attribute__((noinline)) void count(size_t size, void *caller) {
  int error = errno;
  inside = 1;
  if (my_thread < 0) {
    my_thread = atomic_fetch_add(&thread_count, 1);
    if (my_thread >= MAX_THREADS) my_thread = MAX_THREADS - 1;
    threads[my_thread].tid = (pid_t)syscall(SYS_gettid);
  }
  Thread *mine = &threads[my_thread];
  // Threads set their names some time after their start.
  prctl(PR_GET_NAME, mine->name);
  lock();
  int object = object_of(caller);
  if (objects[object].neutral || objects[object].ours || !object) {
    void *frames[DEPTH + 3];
    int depth = backtrace(frames, DEPTH + 3), first = 0;
    while (first < depth && frames[first] != caller) first++;
    if (first == depth) first = depth > 2 ? 2 : 0;
    int at = first;
    while (at < depth && (objects[object_of(frames[at])].neutral || !object_of(frames[at]))) at++;
    if (at < depth) object = object_of(frames[at]);
    if (objects[object].ours) keep_site(frames + first, depth - first > DEPTH ? DEPTH : depth - first, size);
  }
  mine->count[object]++, mine->bytes[object] += size;
  unlock();
  inside = 0;
  errno = error;
}

#define COUNT(size) \
  do { if (atomic_load_explicit(&active, memory_order_relaxed) && !inside) count(size, __builtin_return_address(0)); } while (0)

void *malloc(size_t size) { COUNT(size); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { COUNT(n * size); return __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { COUNT(size); return __libc_realloc(old, size); }
void *reallocarray(void *old, size_t n, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(n, size, &total)) { errno = ENOMEM; return NULL; }
  COUNT(total);
  return __libc_realloc(old, total);
}
void *memalign(size_t alignment, size_t size) { COUNT(size); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { COUNT(size); return __libc_memalign(alignment, size); }
void *valloc(size_t size) { COUNT(size); return __libc_memalign((size_t)sysconf(_SC_PAGESIZE), size); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  COUNT(size);
  if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1)) return EINVAL;
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

static void put(int file, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0 && write(file, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1) < 0) { }
}

static void put_string(int file, const char *text) {
  put(file, "\"");
  for (; *text; text++) put(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", (unsigned char)*text < 32 ? '?' : *text);
  put(file, "\"");
}

static void write_report(void) {
  atomic_store(&active, 0);
  inside = 1;
  int file = open(out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  lock();
  put(file, "{\"from_s\": %g, \"until_s\": %g, \"threads\": [", from_seconds, until_seconds);
  int n = atomic_load(&thread_count);
  if (n > MAX_THREADS) n = MAX_THREADS;
  for (int t = 0; t < n; t++) {
    put(file, "%s\n{\"tid\": %d, \"name\": ", t ? "," : "", threads[t].tid);
    put_string(file, threads[t].name);
    put(file, ", \"objects\": [");
    for (int o = 0, first = 1; o < object_count; o++)
      if (threads[t].count[o]) {
        put(file, "%s{\"object\": ", first ? "" : ", ");
        put_string(file, o ? objects[o].name : "(unknown)");
        put(file, ", \"ours\": %s, \"count\": %llu, \"bytes\": %llu}", objects[o].ours ? "true" : "false",
            (unsigned long long)threads[t].count[o], (unsigned long long)threads[t].bytes[o]);
        first = 0;
      }
    put(file, "]}");
  }
  put(file, "],\n\"sites\": [");
  n = atomic_load(&site_count);
  for (int s = 0; s < n; s++) {
    put(file, "%s\n{\"thread\": ", s ? "," : "");
    put_string(file, threads[sites[s].thread].name);
    put(file, ", \"count\": %llu, \"bytes\": %llu, \"frames\": [", (unsigned long long)sites[s].count,
        (unsigned long long)sites[s].bytes);
    for (int f = 0; f < sites[s].depth; f++) {
      int object = object_of(sites[s].frames[f]);
      put(file, "%s[", f ? ", " : "");
      put_string(file, object ? objects[object].name : "(unknown)");
      // Minus one: a return address is after its call.
      put(file, ", %llu]", (unsigned long long)((uintptr_t)sites[s].frames[f] - objects[object].base - 1));
    }
    put(file, "]}");
  }
  put(file, "]}\n");
  unlock();
  close(file);
}

// Writes the report once; a second caller waits until it is complete.
static void report(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, write_report);
}

static void sleep_until(double seconds, const struct timespec *start) {
  struct timespec at = *start;
  at.tv_sec += (time_t)seconds;
  at.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) { }
}

static struct timespec started;

static void *keep_time(void *unused) {
  (void)unused;
  inside = 1;
  prctl(PR_SET_NAME, "alloccount");
  if (until_seconds > 0) {
    sleep_until(from_seconds, &started);
    atomic_store(&active, 1);
    sleep_until(until_seconds, &started);
  } else {
    while (sem_wait(&finished)) { }
  }
  report();
  return NULL;
}

static void on_start(int signal) { (void)signal; atomic_store(&active, 1); }
static void on_stop(int signal) { (void)signal; atomic_store(&active, 0); sem_post(&finished); }

__attribute__((constructor)) static void begin(void) {
  out_path = getenv("ALLOCCOUNT_OUT");
  if (!out_path) return;
  // Only for this process, not for its children.
  out_path = strdup(out_path);
  unsetenv("ALLOCCOUNT_OUT");
  unsetenv("LD_PRELOAD");
  clock_gettime(CLOCK_MONOTONIC, &started);
  const char *from = getenv("ALLOCCOUNT_FROM"), *until = getenv("ALLOCCOUNT_UNTIL");
  if (from && until) from_seconds = atof(from), until_seconds = atof(until);
  void *frames[4];
  backtrace(frames, 4);  // loads the unwinder now
  dl_iterate_phdr(add_object, NULL);
  sem_init(&finished, 0, 0);
  if (until_seconds < 0) {
    signal(SIGUSR1, on_start);
    signal(SIGUSR2, on_stop);
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the timekeeper thread must not receive the program's signals
  pthread_t timekeeper;
  if (!pthread_create(&timekeeper, NULL, keep_time, NULL)) pthread_detach(timekeeper);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((destructor)) static void end(void) {
  if (out_path) report();
}
