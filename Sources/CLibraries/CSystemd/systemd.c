/* Messages originate in the kiosk's configuration or media, so a source location is meaningless. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "CSystemd.h"
#include <errno.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

int csystemd_journal_send(const uint8_t *const *fields, const int64_t *lengths, int count) {
  struct iovec pieces[16];
  if (count < 0 || count > (int)(sizeof pieces / sizeof *pieces)) return -E2BIG;
  for (int i = 0; i < count; i++) {
    pieces[i].iov_base = (void *)fields[i];
    pieces[i].iov_len = (size_t)lengths[i];
  }
  return sd_journal_sendv(pieces, count);
}
