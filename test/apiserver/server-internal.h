/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the test API server share. A request is carried through them in a struct
 * ek_ask; the handler fills its response and returns. */
#ifndef TEST_APISERVER_SERVER_INTERNAL_H
#define TEST_APISERVER_SERVER_INTERNAL_H

#include <yyjson.h>

#include "api/selector.h"
#include "test/apiserver/admission.h"
#include "test/apiserver/apiserver.h"
#include "test/apiserver/kinds.h"
#include "test/apiserver/managed.h"
#include "test/apiserver/mvcc.h"

#define EK_TOKENS_MAX 256
#define EK_PEERS_MAX  16
#define EK_BODY_MAX   ((size_t)3 * 1024 * 1024)
#define EK_REPLY_MAX  ((size_t)1024 * 1024 * 1024)

struct ek_test_token {
    char *token, *user, *groups, *rules;
    int64_t expires_ms; /* 0: never */
};

struct ek_apiserver_peer {
    struct ek_apiserver *server;
    char *name, *address;
    uint16_t port;
    char *binary, *resources_off, *resources_on, *gates;
    struct ek_minor emulation, min_compat;
    bool hides_emulation, running;
    char *lease_name;
    int64_t renew_ms; /* when the identity Lease is due */
    /* Discovery documents are kept until the kinds change. */
    unsigned long discovery_changes;
    char *discovery[2]; /* /api and /apis, without the apiVersion */
    char *discovery_tag[2];
};

/* Where a page of a list ended, and how much was left: so the next page need not count. */
struct ek_page_end {
    int storage;
    uint64_t rv;
    char key[600], prefix[300];
    int64_t remaining;
};

#define EK_PAGE_ENDS 16

struct ek_apiserver {
    struct ek_mvcc *store;
    struct ek_kinds kinds;
    uint64_t random;
    bool rbac;
    struct ek_apiserver_peer *peers[EK_PEERS_MAX];
    size_t n_peers;
    struct ek_test_token tokens[EK_TOKENS_MAX];
    size_t n_tokens;
    void (*on_change)(void *ctx);
    void *on_change_ctx;
    unsigned next_cluster_ip;
    struct ek_page_end pages[EK_PAGE_ENDS]; /* the last ones, in a ring */
    unsigned next_page;
};

/* Query parameters and path of one request, decoded; borrowed from the call's arena buffer. */
struct ek_ask {
    struct ek_apiserver *server;
    struct ek_apiserver_peer *peer;
    const struct ek_apiserver_request *request;
    struct ek_apiserver_response *response;
    int64_t now_ms;
    char *texts; /* owned: decoded path and query */
    char *parts[16];
    size_t n_parts;
    struct ek_param {
        char *name, *value;
    } params[64];
    size_t n_params;
    const struct ek_test_token *token; /* NULL: anonymous */
    const struct ek_kind *kind;
    const char *name_space, *name, *subresource; /* "" where absent */
    const char *verb;
    yyjson_doc *body; /* owned, parsed body */
};

/* The value of a query parameter, "" when absent. */
const char *ek_ask_param(const struct ek_ask *call, const char *name);
bool ek_ask_flag(const struct ek_ask *call, const char *name);

/* --- status.c: metav1.Status answers --- */

/* Answers with a failure. details (may be NULL) is JSON put in as it is. */
void ek_reply_status(struct ek_ask *call, int code, const char *reason, const char *details,
                     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* As ek_reply_status with details of the call's kind and a name. */
void ek_reply_failure(struct ek_ask *call, int code, const char *reason, const char *name,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* 422 for the call's kind, with one cause. */
void ek_reply_invalid(struct ek_ask *call, const char *name, const char *cause, const char *field,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void ek_reply_not_found(struct ek_ask *call, const char *name);
void ek_reply_conflict(struct ek_ask *call, const char *name, const char *why);
void ek_reply_text(struct ek_ask *call, int code, const char *text);
void ek_reply_type(struct ek_ask *call, int code, const char *content_type);
void ek_reply_header(struct ek_ask *call, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends s as a JSON string with its quotes. */
void ek_json_quote(struct ek_buf *out, const char *s);

/* --- render.c: how objects are shown --- */

enum ek_form { EK_FORM_OBJECT, EK_FORM_TABLE, EK_FORM_PARTIAL };

struct ek_render {
    const struct ek_kind *kind;
    enum ek_form form;
    bool include_object; /* of a Table's rows: whole */
    bool include_none;
    int64_t now_ms;
};

/* Chooses the form by the Accept header; answers 406 and returns false when nothing fits. */
bool ek_render_negotiate(struct ek_ask *call, struct ek_render *ret_render);
/* Appends one object. rv (0: its own) replaces its resourceVersion. */
void ek_render_object(const struct ek_render *render, const struct ek_mvcc_value *value,
                      uint64_t rv, struct ek_buf *out);
/* The pieces of a list: begin, items with their position, end. */
void ek_render_list_begin(const struct ek_render *render, struct ek_buf *out, uint64_t rv,
                          const char *token, int64_t remaining);
void ek_render_list_item(const struct ek_render *render, const struct ek_mvcc_value *value,
                         size_t position, struct ek_buf *out);
void ek_render_list_end(struct ek_buf *out);
/* Gives the members of an Event the names of the core form, in which it is stored. */
void ek_event_to_storage(yyjson_mut_doc *doc, yyjson_mut_val *root);
/* The empty object of a bookmark. */
void ek_render_bookmark(const struct ek_render *render, uint64_t rv, bool initial_end,
                        struct ek_buf *out);

/* --- table.c --- */
void ek_cells_columns(const struct ek_render *render, struct ek_buf *out);
void ek_cells_row(const struct ek_render *render, yyjson_val *object, struct ek_buf *out);

/* --- select.c: which objects a list or watch is about --- */

#define EK_FIELD_TERMS_MAX 8

struct ek_filter {
    char *prefix;               /* "ns/", or "" for all */
    struct ek_selector *labels; /* NULL: all */
    struct ek_field_term {
        char *path, *value;
        bool differs;
    } fields[EK_FIELD_TERMS_MAX];
    size_t n_fields;
};

/* Reads the selectors of a call; false when it has been answered with an error. */
bool ek_filter_read(struct ek_ask *call, struct ek_filter *ret_filter);
void ek_filter_done(struct ek_filter *filter);
bool ek_filter_is_open(const struct ek_filter *filter);
bool ek_filter_matches(const struct ek_filter *filter, const char *key,
                       struct ek_mvcc_value *value);

/* --- read.c, watch.c, write.c, patch_call.c, delete.c --- */
void ek_ask_get(struct ek_ask *call);
void ek_ask_list(struct ek_ask *call);
void ek_ask_watch(struct ek_ask *call);
void ek_ask_create(struct ek_ask *call);
void ek_ask_update(struct ek_ask *call);
void ek_ask_patch(struct ek_ask *call);
void ek_ask_delete(struct ek_ask *call);
void ek_ask_delete_collection(struct ek_ask *call);

/* Reads a resourceVersion parameter; false when it has been answered with an error. */
bool ek_ask_rv(struct ek_ask *call, uint64_t *ret_rv, bool *ret_set);
void ek_reply_future_rv(struct ek_ask *call, uint64_t rv);
/* Answers 422 and returns false when the list options contradict each other. */
bool ek_ask_options(struct ek_ask *call, bool watch);

/* The storage key of the call's object, into buf. */
#define EK_KEY_SIZE 600
const char *ek_ask_key(const struct ek_ask *call, const char *name, char buf[EK_KEY_SIZE]);

/* --- write.c: what all writes share --- */

/* An object on its way into the storage. */
struct ek_write {
    const struct ek_kind *kind;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;         /* the new object, with kind and apiVersion or without */
    yyjson_mut_val *before;       /* the stored one as a value of doc, NULL for a create */
    struct ek_mvcc_value *stored; /* borrowed, NULL for a create */
    bool dry_run;
};

/* Parses a stored value into doc. */
yyjson_mut_val *ek_stored_root(yyjson_mut_doc *doc, const struct ek_mvcc_value *value);
/* Finishes a create or an update: defaults, checks, generation, managed fields (unless applied),
 * stores and answers with code. */
void ek_write_finish(struct ek_ask *call, struct ek_write *write, bool applied, int code);
/* Checks and finishes an update whose new object is root. */
void ek_write_update(struct ek_ask *call, struct ek_write *write, bool applied);
/* Serialises root with its metadata in order; owned value with one reference. */
struct ek_mvcc_value *ek_write_encode(yyjson_mut_doc *doc, yyjson_mut_val *root, uint64_t rv);
/* Whether the match conditions of a webhook (NULL: none) hold for a review, the members of an
 * AdmissionRequest: 1, 0, or an error, err saying which fails. */
int ek_match_conditions(yyjson_val *conditions, const char *review, struct ek_err *err);
/* Fills the metadata that a new object gets from the server. */
bool ek_write_prepare_create(struct ek_ask *call, struct ek_write *write);
/* Parses the body (JSON or YAML) as an object of the call's kind; NULL when answered. */
yyjson_mut_val *ek_ask_body(struct ek_ask *call, yyjson_mut_doc *doc);
const char *ek_ask_manager(const struct ek_ask *call, char buf[129]);
const char *ek_meta_str(yyjson_mut_val *root, const char *name);
/* Side effects of a stored or deleted object (definitions, namespaces). value NULL: deleted. */
void ek_write_effects(struct ek_apiserver *server, const struct ek_kind *kind,
                      const struct ek_mvcc_value *value, const struct ek_mvcc_value *old,
                      int64_t now_ms);
/* Removes the object for good. */
void ek_delete_now(struct ek_apiserver *server, const struct ek_kind *kind, const char *key,
                   int64_t now_ms);
uint64_t ek_server_random(struct ek_apiserver *server);
void ek_server_uid(struct ek_apiserver *server, char buf[37]);

/* --- admission.c, webhook.c: what webhooks say to a write --- */

/* One question to a webhook; texts are owned. */
struct ek_admission_step {
    char *name, *url, *ca;
    int64_t timeout_ms;
    char *review; /* members of the request, but for its uid */
    char uid[37];
    char *body; /* what is sent */
    char *answer, *error;
    size_t answer_len;
};

/* Brackets a round of a request (again: not its first one); enter returns the request's time. */
int64_t ek_admission_enter(struct ek_admission *admission, struct ek_apiserver *server,
                           int64_t now_ms);
void ek_admission_leave(struct ek_admission *admission, struct ek_apiserver *server, bool again);
bool ek_admission_has_begun(const struct ek_admission *admission);

/* The step that was taken already and got an answer or an error, or NULL: then it is due, and the
 * request has to stop. Takes *step when it is new. */
const struct ek_admission_step *ek_admission_ask(struct ek_admission *admission,
                                                 struct ek_admission_step **step);
void ek_admission_step_free(struct ek_admission_step *step);

/* Asks the webhooks of one phase about a write (root NULL: a delete); mutating ones change its
 * root. False when the call was answered, or has to wait for a webhook. */
bool ek_admit(struct ek_ask *call, struct ek_write *write, bool mutating);

/* --- validate.c: custom resources against their schema --- */

/* Sets defaults and drops unknown fields of value; *unknown collects their paths (";"). */
void ek_schema_default(yyjson_mut_doc *doc, yyjson_mut_val *value, yyjson_val *schema);
void ek_schema_prune(yyjson_mut_val *value, yyjson_val *schema, bool root, struct ek_buf *path,
                     struct ek_buf *unknown);
/* Appends the causes of what breaks the schema, as JSON objects separated by commas, and the
 * aggregated message; returns their number. */
size_t ek_schema_check(yyjson_mut_val *value, yyjson_val *schema, struct ek_buf *causes,
                       struct ek_buf *message);

/* --- auth.c --- */

/* Finds who calls; false when answered with 401. */
bool ek_auth_identify(struct ek_ask *call);
bool ek_auth_allows(struct ek_apiserver *server, const struct ek_test_token *token,
                    const char *verb, const char *group, const char *resource,
                    const char *name_space, const char *name, const char *path);
/* Answers with 403 and returns false when the call is not allowed. */
bool ek_auth_check(struct ek_ask *call);
const char *ek_ask_user(const struct ek_ask *call);
/* Appends a UserInfo; groups are separated by blanks. */
void ek_auth_put_user(struct ek_buf *out, const char *user, const char *groups);
void ek_ask_review(struct ek_ask *call);
void ek_ask_token(struct ek_ask *call);

/* --- discovery.c, openapi.c, endpoints.c: what a peer says about itself --- */
bool ek_peer_serves(const struct ek_apiserver_peer *peer, const struct ek_kind *kind);
bool ek_ask_discovery(struct ek_ask *call);
bool ek_ask_openapi(struct ek_ask *call);
bool ek_ask_well_known(struct ek_ask *call);
void ek_peer_free(struct ek_apiserver_peer *peer);
void ek_peer_forget_documents(struct ek_apiserver_peer *peer);

#endif
