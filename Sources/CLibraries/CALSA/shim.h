#pragma once
#include <alsa/asoundlib.h>

/* alsa-lib writes what goes wrong to standard error. Its handler takes variable arguments, which Swift cannot write;
 * ours swallows them, because every failure also comes back as a code. */
static inline void calsa_ignore(const char *file, int line, const char *function, int err, const char *format, ...) {
  (void)file, (void)line, (void)function, (void)err, (void)format;
}

static inline void calsa_be_quiet(void) { snd_lib_error_set_handler(calsa_ignore); }
