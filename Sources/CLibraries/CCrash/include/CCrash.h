#pragma once

/*
 * Stores the number of the signal in `*mark` when this process ends by SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE or
 * SIGABRT. SIGABRT that another process sends is not stored: a service manager ends a process so after a timeout. The
 * previous handlers run afterwards. The memory must exist until the process ends or another call; NULL stores nothing.
 */
void ccrash_mark(volatile unsigned char *mark);
/* Same as ccrash_mark(NULL) if `mark` is the current memory. */
void ccrash_unmark(volatile unsigned char *mark);
