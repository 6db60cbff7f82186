#pragma once
/* Only fixed-width integers, as in CShim.h. */
#include <stdint.h>

/* sd_journal_sendv(3) without its iovec: each field is NAME=value. 0, also where there is no journal; otherwise a negative errno value.
   May block while the journal's socket is full. Any thread. */
int csystemd_journal_send(const uint8_t *const *fields, const int64_t *lengths, int count);
