#pragma once

/*
 * Stores the number of the signal in `*mark` when this process ends by SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT or
 * SIGFPE of its own: a fault of the processor, abort(3), or raise(3). One that another process sends is not stored. The
 * previous handlers run afterwards. The memory must exist until the process ends or another call; NULL stores nothing.
 */
void ccrash_mark(volatile unsigned char *mark);
/* Same as ccrash_mark(NULL) if `mark` is the current memory. */
void ccrash_unmark(volatile unsigned char *mark);
