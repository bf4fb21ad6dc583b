/* SPDX-License-Identifier: Apache-2.0 */
/* The framer: rows of streams, each cut in every possible way. */
#include <check.h>
#include <stdlib.h>

#include "informers/cache/framer.h"
#include "informers/queue/backoff.h"
#include "test/support/suite.h"

#define MAX_FRAME 64

static const struct {
    const char *name;
    const char *stream;
    const char *frames; /* each followed by "|" */
    int code;           /* 0, or the error that follows them */
    const char *error;  /* part of its message */
    int end;            /* code of ek_framer_end, when there was no error */
} rows[] = {
    {"nothing", "", "", 0, NULL, 0},
    {"blanks only", " \r\n\t\n", "", 0, NULL, 0},
    {"one", "{}", "{}|", 0, NULL, 0},
    {"one with a newline", "{\"a\":1}\n", "{\"a\":1}|", 0, NULL, 0},
    {"two in a row", "{}{}", "{}|{}|", 0, NULL, 0},
    {"blank lines between", "{}\n\n \r\n{\"a\":[]}\n", "{}|{\"a\":[]}|", 0, NULL, 0},
    {"newlines inside", "{\n\"a\":\n1\n}\n", "{\n\"a\":\n1\n}|", 0, NULL, 0},
    {"brackets in strings", "{\"}{\":\"]}\"}{}", "{\"}{\":\"]}\"}|{}|", 0, NULL, 0},
    {"escaped quote", "{\"a\":\"\\\"}\"}", "{\"a\":\"\\\"}\"}|", 0, NULL, 0},
    {"escaped backslash", "{\"a\":\"\\\\\"}{}", "{\"a\":\"\\\\\"}|{}|", 0, NULL, 0},
    {"escaped u", "{\"a\":\"\\u007d\"}", "{\"a\":\"\\u007d\"}|", 0, NULL, 0},
    {"nested", "{\"a\":{\"b\":[{\"c\":[[]]}]}}", "{\"a\":{\"b\":[{\"c\":[[]]}]}}|", 0, NULL, 0},
    {"cut in an object", "{}{\"a\"", "{}|", 0, NULL, EK_E_PARSE},
    {"cut in a string", "{\"a}", "", 0, NULL, EK_E_PARSE},
    {"cut in an escape", "{\"a\\", "", 0, NULL, EK_E_PARSE},
    {"text", "{} Internal error", "{}|", EK_E_PARSE, "0x49 where an object must begin, at offset 3",
     0},
    {"array at the top", "[{}]", "", EK_E_PARSE, "0x5b where an object must begin, at offset 0", 0},
    {"stray closing", "{}}", "{}|", EK_E_PARSE, "offset 2", 0},
    {"byte order mark", "\xef\xbb\xbf{}", "", EK_E_PARSE, "0xef where an object", 0},
    {"wrong closing of an object", "{\"a\":1]", "", EK_E_PARSE, "']' closes another bracket", 0},
    {"wrong closing of an array", "{}\n{\"a\":[1}}", "{}|", EK_E_PARSE, "at offset 10", 0},
    {"as large as allowed", "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":12}",
     "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":12}|", 0, NULL, 0},
    {"one byte too large", "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":12}",
     "", EK_E_LIMIT, "exceeds 64 bytes", 0},
    {"blanks do not count",
     "                                                                     {}", "{}|", 0, NULL, 0},
};

/* Pulls all frames that the bytes pushed so far complete; returns 0 or the error. */
static int pull(struct ek_framer *framer, struct ek_buf *frames, struct ek_err *err)
{
    struct ek_str frame;
    int rc;

    while ((rc = ek_framer_next(framer, &frame, err)) == 1) {
        ek_buf_append(frames, frame.p, frame.len);
        ek_buf_puts(frames, "|");
    }
    return rc;
}

/* Pushes a copy of exactly len bytes, so that a read beyond the chunk, or after it, is caught. */
static int push(struct ek_framer *framer, const char *data, size_t len, struct ek_buf *frames,
                struct ek_err *err)
{
    char *chunk = malloc(len ? len : 1);

    memcpy(chunk, data, len);
    ek_framer_push(framer, chunk, len);
    int rc = pull(framer, frames, err);
    free(chunk);
    return rc;
}

/* Cuts row's stream into pieces of first bytes, then size each. */
static void check_row(size_t row, size_t first, size_t size)
{
    EK_AUTO(ek_framer) framer;
    EK_AUTO(ek_buf) frames;
    struct ek_err err = {0};
    size_t len = strlen(rows[row].stream), at = 0;
    int rc = 0;

    ek_framer_init(&framer, MAX_FRAME);
    ek_buf_init(&frames, 4096);
    for (size_t n = first; at < len && rc == 0; at += n, n = size)
        rc = push(&framer, rows[row].stream + at, n < len - at ? n : len - at, &frames, &err);
    ck_assert_msg(!strcmp(ek_buf_str(&frames), rows[row].frames), "%s (%zu, %zu): frames %s",
                  rows[row].name, first, size, ek_buf_str(&frames));
    ck_assert_msg(rc == rows[row].code, "%s (%zu, %zu): code %d %s", rows[row].name, first, size,
                  rc, err.message);
    if (rc) {
        struct ek_str frame;
        ck_assert_msg(strstr(err.message, rows[row].error) != NULL, "%s: %s", rows[row].name,
                      err.message);
        ck_assert_int_eq(ek_framer_next(&framer, &frame, NULL), rc);
    } else {
        ck_assert_msg(ek_framer_end(&framer, &err) == rows[row].end, "%s: end", rows[row].name);
    }
}

START_TEST(a_stream_gives_its_frames_however_it_is_cut)
{
    size_t row = (size_t)_i, len = strlen(rows[row].stream);

    for (size_t first = 1; first <= len + 1; first++)
        for (size_t size = 1; size <= 5; size++)
            check_row(row, first, size);
}
END_TEST

START_TEST(depth_is_bounded)
{
    EK_AUTO(ek_framer) framer;
    char deep[2 * EK_FRAME_DEPTH_MAX + 8] = "{\"a\":";
    struct ek_str frame;
    struct ek_err err;

    ek_framer_init(&framer, sizeof deep);
    memset(deep + 5, '[', EK_FRAME_DEPTH_MAX - 1);
    memset(deep + 4 + EK_FRAME_DEPTH_MAX, ']', EK_FRAME_DEPTH_MAX - 1);
    deep[3 + 2 * EK_FRAME_DEPTH_MAX] = '}';
    ek_framer_push(&framer, deep, 4 + 2 * EK_FRAME_DEPTH_MAX);
    ck_assert_int_eq(ek_framer_next(&framer, &frame, &err), 1);
    memset(deep + 5, '[', EK_FRAME_DEPTH_MAX);
    ek_framer_push(&framer, deep, 5 + EK_FRAME_DEPTH_MAX);
    ck_assert_int_eq(ek_framer_next(&framer, &frame, &err), EK_E_LIMIT);
}
END_TEST

/* Lines are offered only where they can be frames, and what was not taken is framed as ever. */
static const struct {
    const char *name;
    const char *chunk;
    const char *line; /* NULL: none is offered */
    const char *next; /* the frame that ek_framer_next gives when the line is left; NULL: none */
} look_rows[] = {
    {"a line", "{\"a\":1}\n{}", "{\"a\":1}", "{\"a\":1}"},
    {"after blanks", " \n\r\n{}\n", "{}", "{}"},
    {"carriage return", "{}\r\n", "{}\r", "{}"},
    {"two in one line", "{}{}\n", "{}{}", "{}"},
    {"newlines inside", "{\n\"a\":1}\n", "{", "{\n\"a\":1}"},
    {"no newline", "{}", NULL, "{}"},
    {"cut", "{\"a\":", NULL, NULL},
    {"no object", "[]\n", NULL, NULL},
    {"nothing", "", NULL, NULL},
    {"too long", "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1}\n", NULL,
     NULL},
};

START_TEST(lines_are_looked_at_without_harm)
{
    for (int take = 0; take < 2; take++) {
        EK_AUTO(ek_framer) framer;
        struct ek_str line, frame;
        const char *name = look_rows[_i].name, *want = look_rows[_i].line;

        ek_framer_init(&framer, MAX_FRAME);
        ek_framer_push(&framer, look_rows[_i].chunk, strlen(look_rows[_i].chunk));
        bool offered = ek_framer_look(&framer, &line);
        ck_assert_msg(offered == (want != NULL), "%s: offered", name);
        ck_assert_msg(!offered || ek_str_eq(line, ek_str_from(want)), "%s: line", name);
        if (take && offered) {
            ek_framer_take_line(&framer, line);
            ck_assert_msg(framer.offset >= line.len, "%s: offset", name);
            ck_assert_msg(framer.chunk.len == 0 || framer.chunk.p[0] == '\n', "%s: rest", name);
            continue;
        }
        want = look_rows[_i].next;
        bool framed = ek_framer_next(&framer, &frame, NULL) == 1;
        ck_assert_msg(framed == (want != NULL), "%s: framed", name);
        ck_assert_msg(!framed || ek_str_eq(frame, ek_str_from(want)), "%s: frame", name);
    }
}
END_TEST

/* In the middle of a frame nothing is offered, after it there is. */
START_TEST(no_line_is_offered_inside_a_frame)
{
    EK_AUTO(ek_framer) framer;
    struct ek_str text;

    ek_framer_init(&framer, MAX_FRAME);
    ek_framer_push(&framer, "{\"a\":", 5);
    ck_assert_int_eq(ek_framer_next(&framer, &text, NULL), 0);
    ek_framer_push(&framer, "{}\n}\n{}\n", 8);
    ck_assert_int_eq(ek_framer_look(&framer, &text), false);
    ck_assert_int_eq(ek_framer_next(&framer, &text, NULL), 1);
    ck_assert_int_eq(ek_framer_look(&framer, &text), true);
    ek_framer_take_line(&framer, text);
    ck_assert_int_eq(ek_framer_next(&framer, &text, NULL), 0);
    ck_assert_int_eq(ek_framer_end(&framer, NULL), 0);
}
END_TEST

/* A reset framer takes another stream, also after an error and in mid-frame. */
START_TEST(reset_starts_anew)
{
    EK_AUTO(ek_framer) framer;
    struct ek_str frame;

    ek_framer_init(&framer, MAX_FRAME);
    ek_framer_push(&framer, "{\"a", 3);
    ck_assert_int_eq(ek_framer_next(&framer, &frame, NULL), 0);
    ek_framer_reset(&framer);
    ck_assert_int_eq(ek_framer_end(&framer, NULL), 0);
    ek_framer_push(&framer, "x", 1);
    ck_assert_int_eq(ek_framer_next(&framer, &frame, NULL), EK_E_PARSE);
    ek_framer_reset(&framer);
    ek_framer_push(&framer, "{\"b\":2}", 7);
    ck_assert_int_eq(ek_framer_next(&framer, &frame, NULL), 1);
    ck_assert_int_eq(ek_str_eq(frame, EK_STR("{\"b\":2}")), 1);
}
END_TEST

/* A frame of megabytes in chunks of all sizes comes out as it went in. */
START_TEST(large_frames_are_gathered)
{
    EK_AUTO(ek_framer) framer;
    struct ek_rand rand = {42};
    size_t len = (size_t)4 << 20, at = 0, frames = 0;
    char *json = malloc(len);
    struct ek_str frame;

    memset(json, 'x', len);
    memcpy(json, "{\"a\":\"", 6);
    memcpy(json + len - 2, "\"}", 2);
    ek_framer_init(&framer, len);
    while (at < len) {
        size_t n = 1 + ek_rand_next(&rand) % 32768;
        n = n < len - at ? n : len - at;
        ek_framer_push(&framer, json + at, n);
        at += n;
        while (ek_framer_next(&framer, &frame, NULL) == 1) {
            frames++;
            ck_assert_uint_eq(frame.len, len);
            ck_assert_int_eq(memcmp(frame.p, json, len), 0);
        }
    }
    ck_assert_uint_eq(frames, 1);
    free(json);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("framer");

    tcase_add_loop_test(tcase, a_stream_gives_its_frames_however_it_is_cut, 0,
                        (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, depth_is_bounded);
    tcase_add_loop_test(tcase, lines_are_looked_at_without_harm, 0, (int)EK_ARRAY_SIZE(look_rows));
    tcase_add_test(tcase, no_line_is_offered_inside_a_frame);
    tcase_add_test(tcase, reset_starts_anew);
    tcase_add_test(tcase, large_frames_are_gathered);
    return ek_test_run("framer", tcase);
}
