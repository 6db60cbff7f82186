#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * TOML 1.0 by toml++ (https://marzer.github.io/tomlplusplus), as a walk: Swift sees no C++. Its nodes know their lines,
 * which is why it was chosen.
 */

typedef enum {
    CTOML_STRING, CTOML_INTEGER, CTOML_FLOAT, CTOML_BOOLEAN, CTOML_DATE, CTOML_TIME, CTOML_DATE_TIME,
    /* What lies inside follows, up to CTOML_END. */
    CTOML_ARRAY, CTOML_TABLE, CTOML_END
} ctoml_kind;

typedef struct {
    ctoml_kind kind;
    /* Inside a table; NULL inside an array and for the document itself. Not terminated by a zero. */
    const char *key;
    size_t key_length;
    /* From 1. */
    uint32_t line;
    /* CTOML_STRING, in UTF-8. */
    const char *text;
    size_t text_length;
    int64_t integer;
    double number;
    bool flag;
    /* CTOML_DATE, CTOML_TIME, CTOML_DATE_TIME. */
    int year, month, day, hour, minute, second;
    bool has_offset;
    int offset_minutes;
} ctoml_event;

/*
 * Walks through a document in the order of its lines within each table. What is pointed to is valid during the call of `take` alone.
 *
 * Returns false when it is no TOML; nothing was taken then, `line` is where, and `sentence` says why, at most `room` bytes with the
 * terminating zero. Depth is bounded by toml++ (256).
 */
bool ctoml_read(const char *bytes, size_t count, void *context, void (*take)(void *, const ctoml_event *),
                uint32_t *line, char *sentence, size_t room);

#ifdef __cplusplus
}
#endif
