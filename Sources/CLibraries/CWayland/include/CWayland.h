#pragma once
/* Queries of a Wayland compositor that SDL lacks. libwayland-client is loaded at run time; nothing is linked. */

/* Returns 1 if the compositor of the environment has a seat (an input device, or support for one), 0 if not, -1 if
 * unknown. Blocks until the compositor responds. */
int cwayland_has_seat(void);
