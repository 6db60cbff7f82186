/* Messages originate in the kiosk's configuration or media, so a source location is meaningless. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "CSystemd.h"
#include "library.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/uio.h>

struct csystemd_functions csystemd;
static int csystemd_is_loaded;

static void csystemd_open(void) {
  void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;
#define CSYSTEMD_FIND(name) \
  if (!(csystemd.name = (__typeof__(name) *)dlsym(handle, #name))) return;
  CSYSTEMD_FUNCTIONS(CSYSTEMD_FIND)
  csystemd_is_loaded = 1;
}

int csystemd_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, csystemd_open);
  return csystemd_is_loaded;
}

int csystemd_journal_send(const uint8_t *const *fields, const int64_t *lengths, int count) {
  if (!csystemd_load()) return -ENOSYS;
  struct iovec pieces[16];
  if (count < 0 || count > (int)(sizeof pieces / sizeof *pieces)) return -E2BIG;
  for (int i = 0; i < count; i++) {
    pieces[i].iov_base = (void *)fields[i];
    pieces[i].iov_len = (size_t)lengths[i];
  }
  return csystemd.sd_journal_sendv(pieces, count);
}
