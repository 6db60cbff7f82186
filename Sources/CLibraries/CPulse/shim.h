#pragma once
/* Types and constants only: nothing here is linked. The library is opened at run time (PulseLibrary.swift), so that a
 * machine without it still plays. */
#include <pulse/pulseaudio.h>
