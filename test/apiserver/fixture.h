/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with one peer and requests in one line, for tests of the core without sockets. Failures
 * abort: a test that cannot ask has nothing to say. Not thread safe.
 */
#ifndef TEST_APISERVER_FIXTURE_H
#define TEST_APISERVER_FIXTURE_H

#include <yyjson.h>

#include "test/apiserver/apiserver.h"

struct ek_fixture {
    struct ek_apiserver *server;
    struct ek_apiserver_peer *peer; /* "cp-a", 1.36.2 */
    int64_t now_ms;
    const char *token;                     /* sent with each request; NULL: anonymous */
    struct ek_apiserver_response response; /* to the last request */
    yyjson_doc *json;                      /* its body, NULL when it is no JSON */
};

/* Makes a server that remembers window changes; everything is allowed to token "admin". */
void ek_fixture_init(struct ek_fixture *fixture, size_t window);
void ek_fixture_done(struct ek_fixture *fixture);

/* Sends a request; target is the path with its query; body and type may be NULL. Returns the
 * status; response and json are valid until the next one. */
int ek_fixture_send(struct ek_fixture *fixture, const char *method, const char *target,
                    const char *type, const char *body);
int ek_fixture_get(struct ek_fixture *fixture, const char *target, const char *accept);

/* The last body, NUL-terminated. */
const char *ek_fixture_body(const struct ek_fixture *fixture);
/* A string at a JSON pointer of the last body, "" when absent. */
const char *ek_fixture_text(const struct ek_fixture *fixture, const char *pointer);
long long ek_fixture_number(const struct ek_fixture *fixture, const char *pointer);

/* Takes the watch of the last response; the caller frees it. */
struct ek_apiserver_watch *ek_fixture_take_watch(struct ek_fixture *fixture);

/* Stores the items of a recorded list file, oldest version first. Returns their number, or -1
 * when the file cannot be read. */
int ek_fixture_load(struct ek_fixture *fixture, const char *path, const char *group,
                    const char *version, const char *plural);

/* Reads a whole file into an owned string, NULL when it cannot be read. */
char *ek_fixture_read(const char *path);

#endif
