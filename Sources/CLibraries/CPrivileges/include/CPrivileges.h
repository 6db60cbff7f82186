#pragma once
#include <stdint.h>

/*
 * What a program was started with and gave up before any library it is linked with had run: its capabilities, one bit
 * each (capabilities(7); 10 is CAP_NET_BIND_SERVICE). 0 when it had none, and for root, who keeps them.
 *
 * A program that links this target gives them up; one that is set-user-ID or set-group-ID ends with status 77.
 */
uint64_t cpriv_given_up(void);

/* Whether a file grants capabilities to whoever starts it; everybody may ask. getxattr(2) is not shown to Swift. */
int cpriv_file_has_capabilities(const char *path);
