#pragma once
/* Types and constants only; the library is not linked but loaded at run time (PulseLibrary.swift), so that playback
 * works without it. */
#include <pulse/pulseaudio.h>
