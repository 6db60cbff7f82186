/*
 * Requests files of a web server through libavformat's TCP and TLS, as Talkie's client does, or through libcurl, for
 * the experiment `libcurl`, and prints the figures as JSON.
 *
 *   web_client CLIENT BASE TASK [NUMBER]
 *
 * CLIENT: `new` (libavformat, a connection for each request, as Talkie 0.1), `keep` (libavformat, connections are
 * reused) or the name of a libcurl, opened at run time. TASK: see `main`.
 *
 * Declares the needed part of curl.h itself: the interface is stable, and the headers are not installed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <libavformat/avformat.h>
#include <libavutil/error.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static double processor_time(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* Returns the sum of the fields of smaps_rollup whose name starts with `name`, in KiB. */
static long memory(const char *name) {
  char line[256];
  long sum = 0, value;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line, "%*s %ld", &value) == 1) sum += value;
  if (file) fclose(file);
  return sum;
}

/* A request ends after `wanted` bytes (0: at its end), or when it is cancelled. */
static volatile int is_cancelled;
static int64_t received, wanted;
static double last_arrival, longest_gap;

static void count(size_t bytes) {
  double at = now();
  if (last_arrival && at - last_arrival > longest_gap) longest_gap = at - last_arrival;
  last_arrival = at;
  received += bytes;
}

/* libavformat */

static AVIOContext *connection;
static int keeps;

static int interrupts(void *none) { return is_cancelled; }

static int connect_to(const char *base) {
  char url[256];
  const char *colon = strstr(base, "://");
  snprintf(url, sizeof url, "%s%s", strncmp(base, "https", 5) == 0 ? "tls" : "tcp", colon);
  AVDictionary *options = NULL;
  av_dict_set(&options, "tls_verify", "1", 0);
  AVIOInterruptCB callback = {interrupts, NULL};
  int code = avio_open2(&connection, url, AVIO_FLAG_READ_WRITE, &callback, &options);
  av_dict_free(&options);
  return code;
}

static int get_libavformat(const char *base, const char *path, int64_t from) {
  static char head[65536];
  int code = 0, size = 0;
  if (!connection && (code = connect_to(base)) < 0) return code;
  int written = snprintf(head, sizeof head, "GET /%s HTTP/1.1\r\nHost: %s\r\nRange: bytes=%lld-\r\n%s\r\n", path,
                         strstr(base, "://") + 3, (long long)from, keeps ? "" : "Connection: close\r\n");
  avio_write(connection, (unsigned char *)head, written);
  avio_flush(connection);
  char *end = NULL;
  while (!end) {
    int got = avio_read_partial(connection, (unsigned char *)head + size, sizeof head - 1 - size);
    if (got <= 0) { code = got ? got : AVERROR_EOF; goto closed; }
    size += got;
    head[size] = 0;
    end = strstr(head, "\r\n\r\n");
  }
  char *length = strcasestr(head, "\r\nContent-Length:");
  int64_t left = length ? atoll(length + 17) : INT64_MAX;
  int more = size - (int)(end + 4 - head);
  count(more);
  left -= more;
  while (left > 0 && (wanted == 0 || received < wanted)) {
    static unsigned char buffer[32768];
    int got = avio_read_partial(connection, buffer, left < (int64_t)sizeof buffer ? (int)left : (int)sizeof buffer);
    if (got <= 0) { code = got ? got : AVERROR_EOF; goto closed; }
    count(got);
    left -= got;
  }
  if (keeps && left == 0) return 0;
closed:
  avio_closep(&connection);
  return code;
}

/* libcurl */

enum { URL = 10002, WRITEFUNCTION = 20011, RANGE = 10007, NOSIGNAL = 99, FOLLOWLOCATION = 52, HTTP_VERSION = 84,
       PROTOCOLS_STR = 10318, QUICK_EXIT = 322, PROXY = 10004, BUFFERSIZE = 98 };
static int quick_exit_value;
static void *easy, *multi;
static void *(*easy_init)(void), *(*multi_init)(void);
static int (*global_init)(long), (*setopt)(void *, int, ...), (*add)(void *, void *), (*drop)(void *, void *);
static int (*perform)(void *, int *), (*poll_multi)(void *, void *, unsigned, int, int *), (*wake)(void *);
static struct message { int what; void *easy; union { void *any; int result; } data; } *(*read_info)(void *, int *);

static size_t take(char *bytes, size_t size, size_t number, void *none) {
  count(size * number);
  return size * number;
}

static void open_libcurl(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) { fprintf(stderr, "%s\n", dlerror()); exit(2); }
#define FIND(variable, symbol) *(void **)&variable = dlsym(library, "curl_" symbol)
  FIND(global_init, "global_init"); FIND(easy_init, "easy_init"); FIND(setopt, "easy_setopt");
  FIND(multi_init, "multi_init"); FIND(add, "multi_add_handle"); FIND(drop, "multi_remove_handle");
  FIND(perform, "multi_perform"); FIND(poll_multi, "multi_poll"); FIND(wake, "multi_wakeup");
  FIND(read_info, "multi_info_read");
  global_init(3);
}

static int get_libcurl(const char *base, const char *path, int64_t from) {
  char url[512], range[32];
  if (!multi) { multi = multi_init(); easy = easy_init(); }
  snprintf(url, sizeof url, "%s/%s", base, path);
  snprintf(range, sizeof range, "%lld-", (long long)from);
  setopt(easy, URL, url); setopt(easy, RANGE, range); setopt(easy, NOSIGNAL, 1L); setopt(easy, FOLLOWLOCATION, 0L);
  setopt(easy, HTTP_VERSION, 2L); setopt(easy, PROTOCOLS_STR, "http,https"); setopt(easy, PROXY, "");
  setopt(easy, WRITEFUNCTION, take); setopt(easy, QUICK_EXIT, (long)quick_exit_value);
  add(multi, easy);
  int code = 0, running = 1, number;
  while (running && !is_cancelled && (wanted == 0 || received < wanted)) {
    perform(multi, &running);
    if (running) poll_multi(multi, NULL, 0, 1000, NULL);
  }
  struct message *message = read_info(multi, &number);
  if (message) code = -message->data.result;
  if (is_cancelled) code = AVERROR_EXIT;
  drop(multi, easy);
  return code;
}

static int (*get)(const char *, const char *, int64_t) = get_libavformat;
static double cancelled_at;

static void *cancel(void *seconds) {
  usleep(*(double *)seconds * 1e6);
  cancelled_at = now();
  is_cancelled = 1;
  if (multi) wake(multi);
  return NULL;
}

int main(int count_of, char **words) {
  if (count_of < 4) return 64;
  const char *client = words[1], *base = words[2], *task = words[3];
  double number = count_of > 4 ? atof(words[4]) : 0, start = now();
  keeps = strcmp(client, "keep") == 0;
  avformat_network_init();
  long before = memory("Private"), resident = memory("Rss");
  double loading = now();
  if (strcmp(client, "new") != 0 && !keeps) { open_libcurl(client); get = get_libcurl; }
  loading = now() - loading;
  long loaded = memory("Private");
  int code = 0;
  double used = processor_time(), waited = 0;
  start = now();
  if (strcmp(task, "segments") == 0) {  /* a playlist and so many segments, one after another */
    char path[64];
    code = get(base, "list.m3u8", 0);
    for (int i = 0; i < number && code == 0; i++) {
      snprintf(path, sizeof path, "s%d.ts", i);
      code = get(base, path, 0);
    }
  } else if (strcmp(task, "seeks") == 0) {  /* 256 KiB at each of so many positions, far apart */
    for (int i = 0; i < number && code == 0; i++) {
      wanted = received + (256 << 10);
      code = get(base, "film.mp4", (i * 7 % 10) * 2000000LL);
    }
  } else if (strcmp(task, "read") == 0) {  /* the whole film, or until its server closes */
    code = get(base, "film.mp4", 0);
  } else if (strcmp(task, "slow") == 0 || strcmp(task, "close") == 0) {
    code = get(base, task, 0);
  } else if (strcmp(task, "cancel") == 0 || strcmp(task, "cancel-quick") == 0) {  /* cancels after so many seconds */
    pthread_t thread;
    quick_exit_value = strcmp(task, "cancel-quick") == 0;
    if (get == get_libcurl) { multi = multi_init(); easy = easy_init(); }
    pthread_create(&thread, NULL, cancel, &number);
    code = get(base, "silent", 0);
    waited = cancelled_at ? now() - cancelled_at : -1;
  }
  printf("{\"code\": %d, \"wall\": %.3f, \"processor\": %.3f, \"received\": %lld, \"gap\": %.3f, \"cancel\": %.4f, "
         "\"load_ms\": %.1f, \"loaded_kib\": %ld, \"used_kib\": %ld, \"rss_kib\": %ld}\n",
         code, now() - start, processor_time() - used, (long long)received, longest_gap, waited, loading * 1000,
         loaded - before, memory("Private") - before, memory("Rss") - resident);
  fflush(stdout);
  /* Threads of a name resolution may still run. */
  _exit(0);
}
