/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted HTTP server and a client for it. What the server does is in the path:
 *
 * /echo, /prefix/echo  the request as text
 * /headers, /etag      answers with headers; 304 for a matching If-None-Match
 * /chunks[/broken|/endless]  five pieces of "event\n", then an end in order, none, or silence
 * /big[/hints], /gzip  five million bytes, maybe after an interim answer; a hundred thousand out of
 *                      a few
 * /truncated           less than Content-Length says
 * /stall[/headers]     silence, at once or within the body
 * /reset[/once][/eof]  a broken connection, the first time or always
 * /throttle[/503][/always]  429 or 503 with Retry-After: 0, twice or always
 * /e/...               an error answer each, see the table in the source
 */
#ifndef TEST_SUPPORT_CLIENTSCENE_H
#define TEST_SUPPORT_CLIENTSCENE_H

#include "test/support/clientbench.h"
#include "test/support/testserver.h"

struct clientscene {
    struct testserver *server;
    struct ek_client_config *config;
    struct clientbench bench;
};

/* Starts the server and makes a configuration for it, to be changed before the client starts. */
void clientscene_config(struct clientscene *scene);

/* The same, and starts the client. */
void clientscene_start(struct clientscene *scene);

/* Stops and releases all of it. */
void clientscene_stop(struct clientscene *scene);

#endif
