#pragma once
#include <alsa/asoundlib.h>

/* alsa-lib prints errors to standard error. Its error handler is variadic, which Swift cannot implement. This one
 * discards the messages, because every failure is also returned as a code. */
static inline void calsa_ignore(const char *file, int line, const char *function, int err, const char *format, ...) {
  (void)file, (void)line, (void)function, (void)err, (void)format;
}

static inline void calsa_be_quiet(void) { snd_lib_error_set_handler(calsa_ignore); }
