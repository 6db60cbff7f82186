#pragma once
#include <stdint.h>

/*
 * Returns the capabilities that the process had at start and dropped before any linked library ran, one bit each
 * (capabilities(7); 10 is CAP_NET_BIND_SERVICE). 0 if it had none, and for root, who keeps them.
 *
 * Linking this target drops them. A set-user-ID or set-group-ID program exits with status 77.
 */
uint64_t cpriv_given_up(void);

/* Returns nonzero if a file has capabilities; needs no privilege. Swift's Glibc does not declare getxattr(2). */
int cpriv_file_has_capabilities(const char *path);
