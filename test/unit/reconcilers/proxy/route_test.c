/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconcilers/proxy/route.h"
#include "test/support/suite.h"

#define PEERS_MAX 8

/*
 * Peers as text, "a:y3 b:n c:y!": name, a letter for what the documents say (y, n, u), the requests
 * in flight, and marks:
 *   -  not routable
 *   x  not sent         s  sent, no byte came       !  said that the type is unknown
 *   *  refused it as it starts or stops
 */
struct table {
    struct ek_route_peer peers[PEERS_MAX];
    char names[PEERS_MAX][8];
    size_t n;
};

static void read_peers(const char *text, struct table *ret)
{
    *ret = (struct table){0};
    for (const char *s = text; *s; ret->n++) {
        struct ek_route_peer *p = &ret->peers[ret->n];
        size_t len = strcspn(s, ":");
        memcpy(ret->names[ret->n], s, len);
        *p = (struct ek_route_peer){.name = ret->names[ret->n], .routable = true};
        s += len + 1;
        p->serves = *s == 'y' ? EK_ROUTE_YES : *s == 'n' ? EK_ROUTE_NO : EK_ROUTE_UNKNOWN;
        for (s++; *s && *s != ' '; s++) {
            if (*s == '-')
                p->routable = false;
            if (*s == 'x')
                p->mark = EK_ROUTE_NOT_SENT;
            else if (*s == 's')
                p->mark = EK_ROUTE_SENT;
            else if (*s == '!')
                p->mark = EK_ROUTE_UNKNOWN_TYPE;
            else if (*s == '*')
                p->mark = EK_ROUTE_REFUSED;
            else if (*s >= '0' && *s <= '9')
                p->in_flight = (size_t)(*s - '0');
        }
        s += *s == ' ';
    }
}

/* Names with blanks between them. */
static void read_memory(const char *text, struct ek_route_memory *ret)
{
    *ret = (struct ek_route_memory){0};
    for (size_t i = 0; *text; i++) {
        size_t len = strcspn(text, " ");
        ret->names[i] = ek_xstrndup(text, len);
        text += len + (text[len] == ' ');
    }
}

/* ---- Decisions ---- */

#define GET  "GET /api/v1/pods"
#define POST "POST /api/v1/namespaces/d/pods"
#define EXEC "GET /api/v1/namespaces/d/pods/p/exec?command=ls"

/* Options: "m" marked, "r" can't be sent again, "u" upgrade, "h" no answer is at hand where peers
 * have answered, a digit is the turn. The answer at hand is "!" before "*". */
static const struct {
    const char *name, *request, *peers, *kept, *options;
    const char *expected; /* a peer's name, "pass", "503", "503+" with Retry-After */
} rows[] = {
    /* which peer */
    {"the only capable one", GET, "a:n b:y c:n", "", "", "b"},
    {"the least loaded", GET, "a:y3 b:y1 c:y2", "", "", "b"},
    {"in turn among equals", GET, "a:y b:y c:y", "", "1", "b"},
    {"in turn among those that can serve it", GET, "a:y b:n c:y d:y1 e:y", "", "2", "e"},
    {"in turn among equals, wrapped", GET, "a:y b:y c:y", "", "5", "c"},
    {"the load before the turn", GET, "a:y b:y1 c:y1", "", "1", "a"},
    {"not the least loaded that does not serve it", GET, "a:n b:y9", "", "", "b"},
    {"not one without an address", GET, "a:y- b:y9", "", "", "b"},
    {"none known is not none", GET, "", "", "", "503+"},
    /* stickiness */
    {"the connection's peer, however busy", GET, "a:y9 b:y", "a", "", "a"},
    {"another when that does not serve it", GET, "a:n b:y1 c:y", "a", "", "c"},
    {"the second that is kept, however busy", GET, "a:n b:y9 c:y", "a b", "", "b"},
    {"the first that is kept", GET, "a:y9 b:y c:y", "a b", "", "a"},
    {"another when that is gone", GET, "b:y1 c:y", "a", "", "c"},
    {"another when that is not routable", GET, "a:y- b:y", "a", "", "b"},
    {"no resource: the connection's peer", "GET /version", "a:y9 b:y", "a", "", "a"},
    {"no resource: any", "GET /version", "a:y2 b:y1", "", "", "b"},
    {"no resource: any, of a connection whose peer is gone", "GET /version", "a:y- b:y", "a", "",
     "b"},
    {"no resource: nobody", "GET /version", "a:y- b:y-", "a", "", "503+"},
    /* nobody serves it */
    {"a peer judges and answers 404", GET, "a:n b:n1", "", "", "a"},
    {"the connection's peer does", GET, "a:n b:n1", "b", "", "b"},
    {"also of what cannot be sent again", POST, "a:n b:n1", "", "r", "a"},
    {"not while a holder is unreachable", GET, "a:n b:y- c:n", "", "", "503+"},
    {"not while a peer is not known", GET, "a:n b:u- c:n", "", "", "503+"},
    {"a peer that is not known is tried before 503", GET, "a:n b:u c:n", "", "", "b"},
    {"a holder before one that is not known", GET, "a:u b:y9", "", "", "b"},
    {"all are unreachable and say no", GET, "a:n- b:n-", "", "", "503+"},
    /* the type is unknown there */
    {"another holder", GET, "a:y! b:y", "a", "", "b"},
    {"one that did not list it", GET, "a:y! b:n", "a", "", "b"},
    {"404 when all have said so", GET, "a:y! b:n!", "a", "", "pass"},
    {"404 when all have said so, by documents", GET, "a:n! b:n-", "a", "", "pass"},
    {"503 while a holder is unreachable", GET, "a:y! b:y-", "a", "", "503+"},
    {"503 while a peer is not known", GET, "a:n! b:u-", "a", "", "503+"},
    {"a write goes to another, too", POST, "a:y! b:y", "", "", "b"},
    {"a write without its body cannot", POST, "a:y! b:y", "", "r", "503+"},
    {"a write without its body, and no holder", POST, "a:y! b:n", "", "r", "503+"},
    {"a write without its body, which one of several refused", POST, "a:n! b:n c:n", "", "r",
     "503+"},
    {"a write without its body, and nobody to ask", POST, "a:y! b:n!", "", "r", "pass"},
    {"a write without its body, and nobody up to ask", POST, "a:y! b:n-", "", "r", "pass"},
    {"more than one may say so", GET, "a:y! b:y! c:y", "", "", "c"},
    {"one failed, one said so, one is left", GET, "a:yx b:y! c:y", "", "", "c"},
    {"one failed, the rest said so", GET, "a:yx b:y! c:n!", "", "", "503+"},
    /* failures */
    {"one retry of a read", GET, "a:ys b:y", "a", "", "b"},
    {"one retry, on one that can serve", GET, "a:ys b:n c:y9", "a", "", "c"},
    {"not two retries", GET, "a:ys b:yx c:y", "a", "", "503+"},
    {"no other holder", GET, "a:ys b:n", "a", "", "503+"},
    {"a watch", "GET /api/v1/pods?watch=1", "a:ys b:y", "", "", "b"},
    {"a write that was not sent", POST, "a:yx b:y", "", "", "b"},
    {"a write that was not sent, without its body", POST, "a:yx b:y", "", "r", "503+"},
    {"a write that was sent: never twice, nor by the client", POST, "a:ys b:y", "", "", "503"},
    {"a delete that was sent", "DELETE /api/v1/namespaces/d/pods/p", "a:ys b:y", "", "", "503"},
    {"exec by GET that was sent runs a command", EXEC, "a:ys b:y", "", "u", "503"},
    {"exec that was not sent", EXEC, "a:yx b:y", "", "u", "b"},
    {"a GET behind a proxied path", "GET /api/v1/nodes/n/proxy/x", "a:ys b:y", "", "", "503"},
    {"an upgrade of a watch", "GET /api/v1/pods?watch=1", "a:ys b:y", "", "u", "503"},
    {"a retry among those that say no", GET, "a:nx b:n", "", "", "b"},
    {"no resource: one retry", "GET /version", "a:yx b:y", "a", "", "b"},
    {"no resource, sent", "POST /apis/authorization.k8s.io", "a:ys b:y", "a", "", "503"},
    {"one said so, the other one failed after that", GET, "a:n! b:nx", "", "h", "503+"},
    /* refusals of one that starts or stops */
    {"another one, once", GET, "a:y* b:y", "a", "", "b"},
    {"another one that can serve", GET, "a:y* b:n c:y9", "a", "", "c"},
    {"not a third one", GET, "a:y* b:y* c:y", "a", "", "pass"},
    {"a write, of which nothing was done", POST, "a:y* b:y", "a", "", "b"},
    {"a write without its body", POST, "a:y* b:y", "a", "r", "pass"},
    {"exec, of which nothing was done", EXEC, "a:y* b:y", "a", "u", "b"},
    {"no other holder: its own answer", GET, "a:y* b:n", "a", "", "pass"},
    {"the only one: its own answer", GET, "a:y*", "a", "", "pass"},
    {"the other one fails after that", GET, "a:y* b:yx", "a", "h", "503+"},
    {"the other one may have done it", POST, "a:y* b:ys", "a", "h", "503"},
    {"the other one refused after a failure", GET, "a:ys b:y*", "a", "", "pass"},
    {"a type that the other one does not know", GET, "a:y* b:n!", "a", "", "503+"},
    {"no resource, refused", "GET /version", "a:y* b:y", "a", "", "b"},
    /* hops */
    {"the marker", GET, "a:y b:y", "a", "m", "503"},
    {"the marker, and nobody serves it", GET, "a:n", "", "m", "503"},
};

static enum ek_route_mark held_of(const char *peers, const char *options)
{
    if (strchr(options, 'h'))
        return EK_ROUTE_UNTRIED;
    return strchr(peers, '!')   ? EK_ROUTE_UNKNOWN_TYPE
           : strchr(peers, '*') ? EK_ROUTE_REFUSED
                                : EK_ROUTE_UNTRIED;
}

static void expect(const char *name, const struct ek_route_decision *d, const struct table *t,
                   const char *expected)
{
    char text[16];

    if (d->kind == EK_ROUTE_FORWARD)
        snprintf(text, sizeof text, "%s", t->peers[d->peer].name);
    else if (d->kind == EK_ROUTE_PASS_ON)
        snprintf(text, sizeof text, "pass");
    else
        snprintf(text, sizeof text, "%d%s", d->answer.code, d->answer.retry_after_s ? "+" : "");
    ck_assert_msg(!strcmp(text, expected), "%s: %s instead of %s", name, text, expected);
}

START_TEST(decisions)
{
    struct table t;
    struct ek_route_memory memory;
    EK_AUTO(ek_proxy_request) request;
    struct ek_proxy_answer refusal;
    char method[16];
    struct ek_route_decision d;
    const char *o = rows[_i].options;

    read_peers(rows[_i].peers, &t);
    read_memory(rows[_i].kept, &memory);
    snprintf(method, sizeof method, "%.*s", (int)strcspn(rows[_i].request, " "), rows[_i].request);
    ck_assert(ek_proxy_request_read(method, strchr(rows[_i].request, ' ') + 1, &request, &refusal));
    ek_route_decide(&(struct ek_route_input){.request = &request,
                                             .peers = t.peers,
                                             .n_peers = t.n,
                                             .memory = &memory,
                                             .held = held_of(rows[_i].peers, o),
                                             .marked = strchr(o, 'm') != NULL,
                                             .can_resend = !strchr(o, 'r'),
                                             .upgrade = strchr(o, 'u') != NULL,
                                             .turn = (size_t)strtoul(o, NULL, 10)},
                    &d);
    expect(rows[_i].name, &d, &t, rows[_i].expected);
    ek_route_memory_done(&memory);
}
END_TEST

/* ---- Memory ---- */

static const struct {
    const char *peers, *kept;
    size_t used;
    const char *expected;
} memories[] = {
    {"a:y b:y", "", 1, "b"},
    {"a:y b:y", "b", 1, "b"},
    {"a:y b:y", "b", 0, "b a"},
    {"a:y b:y", "a b", 1, "a b"},
    {"a:y- b:y", "a", 1, "b"}, /* it may come back, behind */
    {"b:y", "a", 0, "b"},      /* gone */
    {"a:yx b:y", "a", 1, "b"}, /* failed just now */
    {"a:ys b:y", "a", 1, "b"},
    {"a:y* b:y", "a", 1, "b"},
    {"a:y! b:y", "a", 1, "a b"}, /* it answers for other types */
    {"a:y b:y c:y d:y e:y", "a b c d", 4, "a b c e"},
};

START_TEST(remember)
{
    struct table t;
    struct ek_route_memory memory;
    char text[64] = "";

    read_peers(memories[_i].peers, &t);
    read_memory(memories[_i].kept, &memory);
    ek_route_remember(&memory, t.peers, t.n, memories[_i].used);
    for (size_t i = 0; i < EK_ROUTE_KEPT_MAX && memory.names[i]; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 memory.names[i]);
    ck_assert_str_eq(text, memories[_i].expected);
    ek_route_memory_done(&memory);
    ck_assert_ptr_null(memory.names[0]);
}
END_TEST

/* ---- Answers 404 ---- */

#define STATUS(rest) "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{}," rest "}"
#define JSON         "application/json"
#define PODS         "/api/v1/namespaces/d/pods/p"

static const struct {
    const char *name, *target, *type, *body;
    bool unknown;
} answers[] = {
    {"no such group version", PODS, "text/plain; charset=utf-8", "404 page not found\n", true},
    {"the text alone", PODS, "text/plain", "404 page not found", true},
    {"other text", PODS, "text/plain", "not found", false},
    {"text that begins so", PODS, "text/plain", "404 page not found here", false},
    {"the text in another type", PODS, "text/html", "404 page not found", false},
    {"no such resource", PODS, JSON, STATUS("\"reason\":\"NotFound\",\"details\":{},\"code\":404"),
     true},
    {"no details", PODS, "application/json; charset=utf-8", STATUS("\"reason\":\"NotFound\""),
     true},
    {"an empty kind", PODS, JSON, STATUS("\"reason\":\"NotFound\",\"details\":{\"kind\":\"\"}"),
     true},
    {"no such object", PODS, JSON,
     STATUS("\"reason\":\"NotFound\",\"details\":{\"name\":\"p\",\"kind\":\"pods\"}"), false},
    {"another reason", PODS, JSON, STATUS("\"reason\":\"Gone\",\"details\":{}"), false},
    {"no Status", PODS, JSON, "{\"kind\":\"Pod\",\"reason\":\"NotFound\"}", false},
    {"broken JSON", PODS, JSON, "{\"kind\":\"Status\",\"reason\":\"NotFound\"", false},
    {"no JSON type", PODS, "application/jsonp", STATUS("\"reason\":\"NotFound\""), false},
    {"an empty body", PODS, JSON, "", false},
    {"a request for no resource", "/foo", "text/plain", "404 page not found\n", false},
    {"discovery of a group", "/apis/nope", "text/plain", "404 page not found\n", false},
    {"an application behind a pod", "/api/v1/namespaces/d/pods/p/proxy/x", "text/plain",
     "404 page not found\n", false},
    {"an application behind a node", "/api/v1/proxy/nodes/n", "text/plain", "404 page not found\n",
     false},
};

static bool judge(const char *target, const char *type, struct ek_str body)
{
    EK_AUTO(ek_proxy_request) request;
    struct ek_proxy_answer refusal;

    ck_assert(ek_proxy_request_read("GET", target, &request, &refusal));
    return ek_route_is_unknown_type(&request, type, body);
}

START_TEST(unknown_type)
{
    ck_assert_msg(judge(answers[_i].target, answers[_i].type, ek_str_from(answers[_i].body)) ==
                      answers[_i].unknown,
                  "%s", answers[_i].name);
}
END_TEST

/* runtime.Unknown of a Status: typeMeta {apiVersion v1, kind Status}, raw. */
#define ENVELOPE(raw_len) "k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12" raw_len
#define FAILURE                                                                                    \
    "\x12\x07"                                                                                     \
    "Failure"                             /* status 2 */
#define NOT_FOUND      "\x22\x08NotFound" /* reason 4 */
#define CODE           "\x30\x94\x03"     /* code 6: 404 */
#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *name, *body;
    size_t len;
    bool unknown;
} binaries[] = {
    {"no details", BYTES(ENVELOPE("\x16") FAILURE NOT_FOUND CODE), true},
    {"empty details", BYTES(ENVELOPE("\x18") FAILURE NOT_FOUND "\x2a\x00" CODE), true},
    {"details without a kind", BYTES(ENVELOPE("\x1b") FAILURE NOT_FOUND "\x2a\x03\x0a\x01p" CODE),
     true},
    {"an object", BYTES(ENVELOPE("\x21") FAILURE NOT_FOUND "\x2a\x09\x0a\x01p\x1a\x04pods" CODE),
     false},
    {"another reason", BYTES(ENVELOPE("\x12") FAILURE "\x22\x04Gone" CODE), false},
    {"no Status", BYTES("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x0a" NOT_FOUND), false},
    {"no magic", BYTES("k8t\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x0a" NOT_FOUND), false},
    {"a length beyond the end", BYTES(ENVELOPE("\x7f") NOT_FOUND), false},
    {"an endless number", BYTES("k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false},
    {"a group, which there is not", BYTES("k8s\0\x0b"), false},
    {"only the magic", BYTES("k8s\0"), false},
    {"fixed numbers are skipped",
     BYTES("k8s\0\x09"
           "12345678"
           "\x0d"
           "1234"
           "\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x0a" NOT_FOUND),
     true},
};

START_TEST(protobuf)
{
    ck_assert_msg(judge(PODS, "application/vnd.kubernetes.protobuf",
                        (struct ek_str){binaries[_i].body, binaries[_i].len}) ==
                      binaries[_i].unknown,
                  "%s", binaries[_i].name);
}
END_TEST

START_TEST(long_body)
{
    EK_AUTOFREE char *body = ek_xalloc(EK_ROUTE_HELD_MAX + 1);

    memset(body, '\n', EK_ROUTE_HELD_MAX + 1);
    memcpy(body, "404 page not found", 18);
    ck_assert(judge(PODS, "text/plain", (struct ek_str){body, EK_ROUTE_HELD_MAX}));
    ck_assert(!judge(PODS, "text/plain", (struct ek_str){body, EK_ROUTE_HELD_MAX + 1}));
}
END_TEST

/* ---- Refusals ---- */

#define STOPS "\"message\":\"apiserver is shutting down\",\"reason\":\"ServiceUnavailable\""
#define STARTS                                                                                     \
    "\"message\":\"the request has been made before all known HTTP paths have been installed, "    \
    "please try again\""
#define LATER "The apiserver is shutting down, please try again later.\n"

static const struct {
    const char *name, *target;
    int status;
    const char *type, *body;
    bool refusal;
} refusals[] = {
    {"it stops", PODS, 503, JSON, STATUS(STOPS) "\n", true},
    {"it starts", PODS, 503, JSON, STATUS(STARTS), true},
    {"it is not ready", PODS, 503, JSON, STATUS("\"message\":\"apiserver not ready\""), true},
    {"it stops, by another status", PODS, 429, "text/plain; charset=utf-8", LATER, true},
    {"for no resource", "/version", 503, JSON, STATUS(STOPS), true},
    {"another message", PODS, 503, JSON, STATUS("\"message\":\"apiserver is shut\""), false},
    {"a message that begins so", PODS, 503, JSON,
     STATUS("\"message\":\"apiserver not ready: webhook failed after the write\""), false},
    {"no message", PODS, 503, JSON, STATUS("\"reason\":\"ServiceUnavailable\""), false},
    {"no Status", PODS, 503, JSON, "{\"kind\":\"Pod\"," STOPS "}", false},
    {"another status", PODS, 500, JSON, STATUS(STOPS), false},
    {"a status of flow control", PODS, 429, JSON, STATUS(STOPS), false},
    {"text of flow control", PODS, 429, "text/plain", "Too many requests, please try again later.",
     false},
    {"text of the other status", PODS, 503, "text/plain", LATER, false},
    {"an application behind a pod", PODS "/proxy/x", 503, JSON, STATUS(STOPS), false},
    {"broken JSON", PODS, 503, JSON, "{\"kind\":\"Status\"," STOPS, false},
};

static bool refuses(const char *target, int status, const char *type, struct ek_str body)
{
    EK_AUTO(ek_proxy_request) request;
    struct ek_proxy_answer refusal;

    ck_assert(ek_proxy_request_read("GET", target, &request, &refusal));
    return ek_route_is_refusal(&request, status, type, body);
}

START_TEST(refusal)
{
    ck_assert_msg(refuses(refusals[_i].target, refusals[_i].status, refusals[_i].type,
                          ek_str_from(refusals[_i].body)) == refusals[_i].refusal,
                  "%s", refusals[_i].name);
}
END_TEST

START_TEST(refusal_in_protobuf)
{
    static const char stops[] = ENVELOPE("\x25") FAILURE "\x1a\x1a"
                                                         "apiserver is shutting down";
    static const char *const type = "application/vnd.kubernetes.protobuf";

    ck_assert(refuses(PODS, 503, type, (struct ek_str){stops, sizeof stops - 1}));
    ck_assert(!refuses(PODS, 503, type, (struct ek_str){stops, sizeof stops - 2}));
    ck_assert(!refuses(PODS, 503, JSON, (struct ek_str){stops, sizeof stops - 1}));
}
END_TEST

/* ---- What holds for any peers, and for any end of each attempt ---- */

#define RUNS 200000

/* xorshift64 (Marsaglia, 2003); the same numbers in each run. */
static unsigned below(uint64_t *seed, unsigned n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (unsigned)(*seed >> 33) % n;
}

static void any_peers(uint64_t *seed, struct table *t)
{
    t->n = below(seed, 6);
    for (size_t i = 0; i < t->n; i++) {
        snprintf(t->names[i], sizeof t->names[i], "%c", (char)('a' + (int)i));
        t->peers[i] = (struct ek_route_peer){.name = t->names[i],
                                             .routable = below(seed, 4) > 0,
                                             .serves = (enum ek_route_serves)below(seed, 3),
                                             .in_flight = below(seed, 3)};
    }
}

static size_t count_marks(const struct table *t, enum ek_route_mark mark)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->peers[i].mark == mark;
    return n;
}

/* A peer may serve it that has not said that it does not. */
static bool may_exist(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->peers[i].serves != EK_ROUTE_NO && t->peers[i].mark != EK_ROUTE_UNKNOWN_TYPE)
            return true;
    return false;
}

/* A peer could be asked and has not been. */
static bool anyone_left(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->peers[i].routable && t->peers[i].mark == EK_ROUTE_UNTRIED)
            return true;
    return false;
}

static bool is_kept(const struct ek_route_memory *memory, const char *name)
{
    for (size_t i = 0; i < EK_ROUTE_KEPT_MAX && memory->names[i]; i++)
        if (!strcmp(memory->names[i], name))
            return true;
    return false;
}

static void check_forward(const struct table *t, const struct ek_route_input *in, size_t peer)
{
    const struct ek_route_peer *to = &t->peers[peer];
    size_t sent = count_marks(t, EK_ROUTE_SENT);
    size_t failed = sent + count_marks(t, EK_ROUTE_NOT_SENT) + count_marks(t, EK_ROUTE_REFUSED);

    ck_assert(to->routable && to->mark == EK_ROUTE_UNTRIED && failed <= 1);
    ck_assert(in->can_resend || (!failed && !count_marks(t, EK_ROUTE_UNKNOWN_TYPE)));
    ck_assert(!sent || (in->request->reads && !in->request->runs && !in->upgrade));
    for (size_t i = 0; i < t->n; i++) {
        const struct ek_route_peer *other = &t->peers[i];
        if (i == peer || !other->routable || other->mark != EK_ROUTE_UNTRIED)
            continue;
        /* One that serves it goes before one that is not known, and that before one that does not;
         * one that is kept before others, and the least loaded of these. */
        ck_assert(to->serves == EK_ROUTE_YES || other->serves != EK_ROUTE_YES);
        ck_assert(to->serves != EK_ROUTE_NO || other->serves == EK_ROUTE_NO);
        if (other->serves == to->serves && !is_kept(in->memory, to->name))
            ck_assert(!is_kept(in->memory, other->name) && to->in_flight <= other->in_flight);
    }
}

static void check_end(const struct table *t, const struct ek_route_input *in,
                      const struct ek_route_decision *d)
{
    if (d->kind == EK_ROUTE_PASS_ON) {
        ck_assert_int_ne(in->held, EK_ROUTE_UNTRIED);
        /* A 404 goes to the client only once everybody who can be asked has said so. */
        if (in->held == EK_ROUTE_UNKNOWN_TYPE)
            ck_assert(!may_exist(t) && !anyone_left(t));
        return;
    }
    ck_assert_int_eq(d->answer.code, 503);
    /* A client repeats a write, too, when it is told to. */
    if (count_marks(t, EK_ROUTE_SENT) && !in->request->reads)
        ck_assert_int_eq(d->answer.retry_after_s, 0);
}

START_TEST(properties)
{
    static const char *const requests[][2] = {
        {"GET", "/api/v1/pods"},
        {"POST", "/api/v1/namespaces/d/pods"},
        {"GET", "/api/v1/namespaces/d/pods/p/exec?command=ls"},
        {"DELETE", "/api/v1/namespaces/d/pods/p"}};
    uint64_t seed = 88172645463325252U;

    for (int run = 0; run < RUNS; run++) {
        unsigned r = below(&seed, EK_ARRAY_SIZE(requests)), steps = 0;
        struct ek_route_memory memory = {0};
        struct table t;
        EK_AUTO(ek_proxy_request) request;
        struct ek_proxy_answer refused;
        struct ek_route_decision d;

        any_peers(&seed, &t);
        ck_assert(ek_proxy_request_read(requests[r][0], requests[r][1], &request, &refused));
        for (size_t i = 0; i < below(&seed, 3) && t.n > 0; i++)
            ek_route_remember(&memory, t.peers, t.n, below(&seed, (unsigned)t.n));
        struct ek_route_input in = {.request = &request,
                                    .peers = t.peers,
                                    .n_peers = t.n,
                                    .memory = &memory,
                                    .can_resend = true,
                                    .upgrade = r == 2,
                                    .turn = below(&seed, 100)};
        for (;; steps++) {
            ck_assert_uint_le(steps, t.n);
            ek_route_decide(&in, &d);
            if (d.kind != EK_ROUTE_FORWARD)
                break;
            check_forward(&t, &in, d.peer);
            ek_route_remember(&memory, t.peers, t.n, d.peer);
            t.peers[d.peer].mark = (enum ek_route_mark)below(&seed, EK_ROUTE_REFUSED + 1);
            in.held = t.peers[d.peer].mark >= EK_ROUTE_UNKNOWN_TYPE ? t.peers[d.peer].mark
                                                                    : EK_ROUTE_UNTRIED;
            in.can_resend = in.can_resend && below(&seed, 3) > 0;
            if (t.peers[d.peer].mark == EK_ROUTE_UNTRIED) /* it was answered */
                break;
        }
        if (d.kind != EK_ROUTE_FORWARD)
            check_end(&t, &in, &d);
        ek_route_memory_done(&memory);
    }
}
END_TEST

/* Connections with the same number of requests each, one after the other: the first request of each
 * goes to the API servers in turn. */
START_TEST(connections_take_turns)
{
    EK_AUTO(ek_proxy_request) request;
    struct ek_proxy_answer refused;
    struct ek_route_decision d;
    struct table t;

    read_peers("a:y b:y c:y", &t);
    ck_assert(ek_proxy_request_read("GET", "/api/v1/pods", &request, &refused));
    for (unsigned per = 1; per <= 6; per++) {
        size_t requests[3] = {0}, turn = 0;
        for (int connection = 0; connection < 12; connection++) {
            struct ek_route_memory memory = {0};
            for (unsigned i = 0; i < per; i++) {
                ek_route_decide(&(struct ek_route_input){.request = &request,
                                                         .peers = t.peers,
                                                         .n_peers = t.n,
                                                         .memory = &memory,
                                                         .can_resend = true,
                                                         .turn = turn},
                                &d);
                turn += d.turned;
                ek_route_remember(&memory, t.peers, t.n, d.peer);
                requests[d.peer]++;
            }
            ek_route_memory_done(&memory);
        }
        for (size_t i = 0; i < 3; i++)
            ck_assert_uint_eq(requests[i], 4 * per);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("route");

    tcase_add_loop_test(tcase, decisions, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, remember, 0, EK_ARRAY_SIZE(memories));
    tcase_add_loop_test(tcase, unknown_type, 0, EK_ARRAY_SIZE(answers));
    tcase_add_loop_test(tcase, protobuf, 0, EK_ARRAY_SIZE(binaries));
    tcase_add_test(tcase, long_body);
    tcase_add_loop_test(tcase, refusal, 0, EK_ARRAY_SIZE(refusals));
    tcase_add_test(tcase, refusal_in_protobuf);
    tcase_add_test(tcase, properties);
    tcase_add_test(tcase, connections_take_turns);
    return ek_test_run("proxy_route", tcase);
}
