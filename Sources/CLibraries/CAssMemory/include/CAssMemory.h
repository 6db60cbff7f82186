#pragma once
#include <stdbool.h>
#include <stddef.h>

/*
 * A limit of the memory that libass allocates.
 *
 * libass has no such limit and no allocator to replace: one glyph may have a bitmap of 2 GB, and the caches are cut only
 * between frames. The size cannot be computed from an event, since fonts of the film determine it, too. So libass's
 * calls of malloc, calloc, realloc and free are redirected to functions that fail beyond the limit, by its global offset
 * table. They are those of the C library in all other cases.
 */

/* Memory that was allocated while the account was in use. Not thread-safe: used by one thread at a time. */
typedef struct {
  /* Bytes in use and their maximum. */
  size_t used, limit;
  /* True after a refused allocation. */
  bool is_exhausted;
} cam_account;

/*
 * Counts libass's allocations and releases on the calling thread in this account; NULL: no account, without a limit.
 * Has no effect if libass is not a shared library.
 */
void cam_use(cam_account *account);
