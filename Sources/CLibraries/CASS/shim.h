#pragma once
#include <ass/ass.h>
#include <stdarg.h>

static inline void cass_hush(int level, const char *format, va_list arguments, void *context) {
  (void)level;
  (void)format;
  (void)arguments;
  (void)context;
}

/// libass writes to standard error by itself; a program that draws over films has nothing to say there.
static inline void cass_be_quiet(ASS_Library *library) { ass_set_message_cb(library, cass_hush, 0); }
