#pragma once
/* What SDL does not ask a Wayland compositor. libwayland-client is opened at run time; nothing is linked. */

/* Whether the compositor that the environment names has a seat: keyboards, pointers, or a place for them. 1 yes, 0 no, -1 where that
 * cannot be asked. Waits for the compositor's answer. */
int cwayland_has_seat(void);
