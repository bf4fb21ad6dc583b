/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values to YAML text. libyaml's emitter lays out the lines, in the way that kubectl's does
 * because that one was ported from it; this file decides the style of each string.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "api/obj.h"
#include "api/yaml-internal.h"
#include "api/yaml.h"

struct writer {
    yaml_emitter_t emitter;
    struct ek_buf *out;
    struct ek_err *err;
};

static int write_out(void *ctx, unsigned char *data, size_t size)
{
    struct writer *w = ctx;
    return ek_buf_append(w->out, data, size) == 0;
}

/* Reports why the emitter stopped, or why an event could not be made. */
static bool failed(struct writer *w)
{
    if (w->out->failed == EK_E_LIMIT)
        ek_err_set(w->err, EK_E_LIMIT, "YAML: more than %zu bytes of output", w->out->max);
    else if (w->out->failed || w->emitter.error == YAML_MEMORY_ERROR)
        ek_err_set(w->err, EK_E_NOMEM, "no memory to write YAML");
    else
        ek_err_set(w->err, EK_E_INVAL, "YAML: %s",
                   w->emitter.problem ? w->emitter.problem : "a string is not valid UTF-8");
    return false;
}

/* Takes an event that was made (ok) or not. */
static bool emit(struct writer *w, int ok, yaml_event_t *event)
{
    return (ok && yaml_emitter_emit(&w->emitter, event)) || failed(w);
}

static bool emit_scalar(struct writer *w, struct ek_str text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    int ok = text.len <= INT32_MAX &&
             yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text.p,
                                          (int)text.len, 1, 1, style);
    return emit(w, ok, &event);
}

/* True when text holds one of the line breaks that only YAML 1.1 knows: NEL, LS, PS. Outside
 * double quotes they would come back as other characters. */
static bool has_odd_break(struct ek_str text)
{
    return text.len > 0 && (memmem(text.p, text.len, "\xc2\x85", 2) ||
                            memmem(text.p, text.len, "\xe2\x80\xa8", 3) ||
                            memmem(text.p, text.len, "\xe2\x80\xa9", 3));
}

static bool write_string(struct writer *w, struct ek_str text)
{
    if (has_odd_break(text))
        return emit_scalar(w, text, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    if (text.len > 0 && memchr(text.p, '\n', text.len))
        return emit_scalar(w, text, YAML_LITERAL_SCALAR_STYLE);
    if (ek_yaml_resolve__(text).kind != EK_YAML_STR || ek_yaml_is_base60__(text))
        return emit_scalar(w, text, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    return emit_scalar(w, text, YAML_PLAIN_SCALAR_STYLE);
}

static bool write_plain(struct writer *w, const char *text)
{
    return emit_scalar(w, ek_str_from(text), YAML_PLAIN_SCALAR_STYLE);
}

/*
 * A number as it comes out of a cluster: API servers write it as JSON, and JSON without point and
 * exponent is a whole number to Go's YAML, as far as 64 bits reach ("1000000", but "1.5e+06" for a
 * number with a fraction, and "1e+20").
 */
static void format_real(double value, char buf[EK_YAML_REAL_SIZE])
{
    char digits[EK_YAML_REAL_SIZE];
    size_t n = 0;

    ek_yaml_format_real__(value, buf);
    const char *end = strchr(buf, 'e');
    int exponent = end ? (int)strtol(end + 1, NULL, 10) : 0;
    if (exponent < 6 || exponent > 19 || value != trunc(value))
        return;
    for (const char *p = buf; p < end; p++)
        if (*p != '.')
            digits[n++] = *p;
    while (n < (size_t)exponent + 1 + (value < 0))
        digits[n++] = '0';
    digits[n] = '\0';
    errno = 0;
    if (value < 0)
        strtoll(digits, NULL, 10);
    else
        strtoull(digits, NULL, 10);
    if (!errno)
        memcpy(buf, digits, n + 1);
}

static bool write_scalar(struct writer *w, yyjson_val *value)
{
    char text[EK_YAML_REAL_SIZE];

    if (yyjson_is_str(value))
        return write_string(w, (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)});
    if (yyjson_is_bool(value))
        return write_plain(w, yyjson_get_bool(value) ? "true" : "false");
    if (yyjson_is_sint(value))
        snprintf(text, sizeof text, "%lld", (long long)yyjson_get_sint(value));
    else if (yyjson_is_uint(value))
        snprintf(text, sizeof text, "%llu", (unsigned long long)yyjson_get_uint(value));
    else if (yyjson_is_real(value))
        format_real(yyjson_get_real(value), text);
    else
        return write_plain(w, "null");
    return write_plain(w, text);
}

static bool write_value(struct writer *w, yyjson_val *value, size_t depth);

static bool write_sequence(struct writer *w, yyjson_val *list, size_t depth)
{
    yaml_event_t event;
    yyjson_val *item;
    size_t i, n;

    if (!emit(
            w,
            yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE),
            &event))
        return false;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (!write_value(w, item, depth))
            return false;
    }
    return emit(w, yaml_sequence_end_event_initialize(&event), &event);
}

/* A plain "<<" means itself as a value, but would merge as a key. */
static bool write_key(struct writer *w, yyjson_val *key)
{
    if (yyjson_equals_str(key, "<<"))
        return emit_scalar(w, EK_STR("<<"), YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    return write_scalar(w, key);
}

static bool write_mapping(struct writer *w, yyjson_val *object, size_t depth)
{
    yaml_event_t event;
    yyjson_val *key, *value;
    size_t i, n;

    if (!emit(w,
              yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE),
              &event))
        return false;
    ek_json_each_member(object, i, n, key, value)
    {
        if (!write_key(w, key) || !write_value(w, value, depth))
            return false;
    }
    return emit(w, yaml_mapping_end_event_initialize(&event), &event);
}

static bool write_value(struct writer *w, yyjson_val *value, size_t depth)
{
    if (!yyjson_is_ctn(value))
        return write_scalar(w, value);
    if (depth >= EK_JSON_DEPTH_MAX) {
        ek_err_set(w->err, EK_E_LIMIT, "YAML: nests deeper than %d levels", EK_JSON_DEPTH_MAX);
        return false;
    }
    return yyjson_is_arr(value) ? write_sequence(w, value, depth + 1)
                                : write_mapping(w, value, depth + 1);
}

static bool write_document(struct writer *w, yyjson_val *value)
{
    yaml_event_t event;

    return emit(w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event) &&
           emit(w, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event) &&
           write_value(w, value, 0) &&
           emit(w, yaml_document_end_event_initialize(&event, 1), &event) &&
           emit(w, yaml_stream_end_event_initialize(&event), &event);
}

int ek_yaml_write(struct ek_buf *out, yyjson_val *value, struct ek_err *err)
{
    struct ek_err local = {0};
    struct writer w = {.out = out, .err = &local};

    if (!yaml_emitter_initialize(&w.emitter))
        return ek_err_set(err, EK_E_NOMEM, "no memory to write YAML");
    yaml_emitter_set_output(&w.emitter, write_out, &w);
    yaml_emitter_set_unicode(&w.emitter, 1);
    if (!write_document(&w, value) && err)
        *err = local;
    yaml_emitter_delete(&w.emitter);
    return local.code;
}
