#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * TOML 1.0 by toml++ (https://marzer.github.io/tomlplusplus), as a series of events, because Swift does not import C++.
 * Chosen because its nodes have line numbers.
 */

typedef enum {
    CTOML_STRING, CTOML_INTEGER, CTOML_FLOAT, CTOML_BOOLEAN, CTOML_DATE, CTOML_TIME, CTOML_DATE_TIME,
    /* The contents follow, up to CTOML_END. */
    CTOML_ARRAY, CTOML_TABLE, CTOML_END
} ctoml_kind;

typedef struct {
    ctoml_kind kind;
    /* The key in a table; NULL in an array and for the document. Not null-terminated. */
    const char *key;
    size_t key_length;
    /* Line number, from 1. */
    uint32_t line;
    /* For CTOML_STRING, in UTF-8; not null-terminated. */
    const char *text;
    size_t text_length;
    int64_t integer;
    double number;
    bool flag;
    /* For CTOML_DATE, CTOML_TIME and CTOML_DATE_TIME. */
    int year, month, day, hour, minute, second;
    bool has_offset;
    int offset_minutes;
} ctoml_event;

/*
 * Calls `take` for each node, within each table in the order of lines. Pointers are valid during the call only.
 *
 * Returns false on a syntax error, before any call. `line` is its line, `sentence` a description of at most `room`
 * bytes with the terminating zero. Brackets are nested at most 256 deep (toml++), and the keys around a value have at
 * most 256 dots.
 */
bool ctoml_read(const char *bytes, size_t count, void *context, void (*take)(void *, const ctoml_event *),
                uint32_t *line, char *sentence, size_t room);

#ifdef __cplusplus
}
#endif
