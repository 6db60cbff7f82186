#pragma once
/* Types and constants only; the library is not linked but loaded at run time (MosquittoLibrary.swift). Players outside
 * a fleet then do not load it and OpenSSL. */
#include <mosquitto.h>
#include <mqtt_protocol.h>
