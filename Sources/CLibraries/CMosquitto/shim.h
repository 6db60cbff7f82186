#pragma once
/* Types and constants only: nothing here is linked. The library is opened at run time (MosquittoLibrary.swift), so that a player that
 * belongs to no fleet does not carry it, and OpenSSL with it. */
#include <mosquitto.h>
#include <mqtt_protocol.h>
