#pragma once
#include <ass/ass.h>
#include <stdarg.h>

static inline void cass_hush(int level, const char *format, va_list arguments, void *context) {
  (void)level;
  (void)format;
  (void)arguments;
  (void)context;
}

/// Disables libass's messages, which it prints to standard error by default.
static inline void cass_be_quiet(ASS_Library *library) { ass_set_message_cb(library, cass_hush, 0); }
