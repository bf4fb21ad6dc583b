/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/uses-internal.h"
#include "reconcilers/skew/text.h"

#define ARENA_MAX   ((size_t)64 << 20)
#define SCRATCH_MAX ((size_t)1 << 20)
#define USER_MAX    253
#define AGENT_MAX   128

enum stage { STARTED, ENDED, STAGE_MAX };

static const char *const verbs[] = {"get",    "list",  "watch",  "create",
                                    "update", "patch", "delete", "deletecollection"};

/* A client of an API version, or the clients for which there was no room. */
struct client {
    const char *user, *agent;
    uint64_t n[STAGE_MAX];
    unsigned verbs; /* 1 << index */
    int64_t last_ms;
};

struct ek_plan_audit_kind {
    const struct ek_api_lifecycle *life;
    const char *resource;
    bool goes; /* else it becomes deprecated */
    struct client *clients;
    size_t n;
    struct client others;
    uint64_t n_others; /* Events of others */
};

/* ---- Kinds ---- */

static bool counts(const struct ek_plan_target *target, const struct ek_api_lifecycle *life,
                   bool *ret_goes)
{
    enum ek_api_state to = ek_api_state_at(life, target->to);
    enum ek_api_state from =
        target->from.known ? ek_api_state_at(life, target->from) : EK_API_SERVED;

    *ret_goes = to == EK_API_REMOVED || to == EK_API_ABSENT;
    if (to == EK_API_ABSENT) /* the way back */
        return target->from.known && (from == EK_API_SERVED || from == EK_API_DEPRECATED);
    return (to == EK_API_REMOVED || to == EK_API_DEPRECATED) && from != to;
}

/* The plural of a kind that no server has any more, as resources of Kubernetes are named. */
static const char *guess_plural(const char *kind, struct ek_arena *arena)
{
    size_t len = strlen(kind);
    char *text = ek_arena_printf(arena, "%sies", kind);

    for (char *p = text; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 'a' - 'A') : *p;
    if (len && text[len - 1] == 'y')
        memcpy(text + len - 1, "ies", 4);
    else if (len && text[len - 1] == 's')
        memcpy(text + len, "es", 3);
    else
        memcpy(text + len, "s", 2);
    return text;
}

void ek_plan_audit_init(struct ek_plan_audit *audit, const struct ek_plan_target *target)
{
    const struct ek_plan_data *data = target->data;

    *audit = (struct ek_plan_audit){.target = *target,
                                    .arena = ek_arena_new(ARENA_MAX),
                                    .first_ms = EK_TIME_UNSET,
                                    .last_ms = EK_TIME_UNSET};
    ek_buf_init(&audit->line, EK_PLAN_AUDIT_LINE_MAX);
    audit->kinds = ek_arena_alloc(audit->arena, (data->n_kinds + 1) * sizeof *audit->kinds);
    for (size_t i = 0; i < data->n_kinds; i++) {
        const struct ek_api_lifecycle *life = &data->kinds[i];
        bool goes;
        if (!counts(target, life, &goes))
            continue;
        const char *plural = ek_plan_uses_plural__(target, life);
        audit->kinds[audit->n_kinds++] = (struct ek_plan_audit_kind){
            .life = life,
            .resource = plural ? plural : guess_plural(life->kind, audit->arena),
            .goes = goes,
            .others = {.last_ms = EK_TIME_UNSET}};
    }
}

void ek_plan_audit_done(struct ek_plan_audit *audit)
{
    ek_buf_done(&audit->line);
    ek_arena_free(audit->arena);
}

static struct ek_plan_audit_kind *find_kind(struct ek_plan_audit *audit, yyjson_val *reference)
{
    const char *group = ek_json_text(reference, "apiGroup");
    const char *version = ek_json_text(reference, "apiVersion");
    const char *resource = ek_json_text(reference, "resource");

    for (size_t i = 0; i < audit->n_kinds; i++) {
        const struct ek_plan_audit_kind *kind = &audit->kinds[i];
        if (!strcmp(kind->life->group, group) && !strcmp(kind->life->version, version) &&
            !strcmp(kind->resource, resource))
            return &audit->kinds[i];
    }
    return NULL;
}

/* ---- Clients ---- */

/* "admin", or "admin as system:serviceaccount:shop:web" for impersonation. */
static const char *user_of(yyjson_val *event, struct ek_arena *arena)
{
    const char *user = ek_json_text(ek_json_get(event, "user", NULL), "username");
    const char *as = ek_json_text(ek_json_get(event, "impersonatedUser", NULL), "username");

    user = ek_skew_clean_max(arena, *user ? user : "a user without a name", USER_MAX);
    return *as ? ek_arena_printf(arena, "%s as %s", user, ek_skew_clean_max(arena, as, USER_MAX))
               : user;
}

/* The client of the event; the others of the kind without room. */
static struct client *need(struct ek_plan_audit *audit, struct ek_plan_audit_kind *kind,
                           const char *user, const char *agent)
{
    for (size_t i = 0; i < kind->n; i++)
        if (!strcmp(kind->clients[i].user, user) && !strcmp(kind->clients[i].agent, agent))
            return &kind->clients[i];
    if (!kind->clients)
        kind->clients =
            ek_arena_try(audit->arena, EK_PLAN_AUDIT_CLIENTS_MAX * sizeof *kind->clients);
    if (!kind->clients || kind->n == EK_PLAN_AUDIT_CLIENTS_MAX ||
        ek_arena_exhausted(audit->arena)) {
        kind->n_others++;
        return &kind->others;
    }
    kind->clients[kind->n] = (struct client){.user = ek_arena_strdup(audit->arena, user),
                                             .agent = ek_arena_strdup(audit->arena, agent),
                                             .last_ms = EK_TIME_UNSET};
    return &kind->clients[kind->n++];
}

/* A list or a watch of a resource that is served is never answered with 404: the client tries a
 * version that the server does not serve, and the target changes nothing for the client. */
static bool was_served(yyjson_val *event)
{
    yyjson_val *code = yyjson_obj_get(ek_json_get(event, "responseStatus", NULL), "code");
    const char *verb = ek_json_text(event, "verb");

    return yyjson_get_sint(code) != 404 ||
           (strcmp(verb, "list") != 0 && strcmp(verb, "watch") != 0);
}

static void count_call(struct ek_plan_audit *audit, struct ek_plan_audit_kind *kind,
                       yyjson_val *event, int64_t at_ms)
{
    struct ek_arena *scratch = ek_arena_new(SCRATCH_MAX);
    const char *verb = ek_json_text(event, "verb");
    const char *agent = ek_skew_clean_max(scratch, ek_json_text(event, "userAgent"), AGENT_MAX);
    struct client *client = need(audit, kind, user_of(event, scratch), agent);

    client->n[strcmp(ek_json_text(event, "stage"), "ResponseStarted") ? ENDED : STARTED]++;
    for (unsigned i = 0; i < EK_ARRAY_SIZE(verbs); i++)
        if (!strcmp(verbs[i], verb))
            client->verbs |= 1u << i;
    if (at_ms > client->last_ms) /* unset is the lowest number */
        client->last_ms = at_ms;
    ek_arena_free(scratch);
}

/* ---- Lines ---- */

static bool take_event(struct ek_plan_audit *audit, yyjson_val *event)
{
    yyjson_val *reference = ek_json_get(event, "objectRef", NULL);
    int64_t at_ms = ek_time_parse(ek_json_text(event, "stageTimestamp"));

    if (!*ek_json_text(event, "auditID") || !*ek_json_text(event, "stage"))
        return false;
    if (at_ms == EK_TIME_UNSET)
        at_ms = ek_time_parse(ek_json_text(event, "requestReceivedTimestamp"));
    if (at_ms != EK_TIME_UNSET && (audit->first_ms == EK_TIME_UNSET || at_ms < audit->first_ms))
        audit->first_ms = at_ms;
    if (at_ms > audit->last_ms)
        audit->last_ms = at_ms;
    audit->n_events++;
    if (!strcmp(ek_json_text(event, "stage"), "RequestReceived")) /* the response is not known */
        return true;
    audit->n_answers++;
    struct ek_plan_audit_kind *kind = reference ? find_kind(audit, reference) : NULL;
    if (kind && was_served(event))
        count_call(audit, kind, event, at_ms);
    return true;
}

/* An Event, or a list of these. The items of a list have no type of their own. */
static bool take_root(struct ek_plan_audit *audit, yyjson_val *root)
{
    const char *kind = ek_json_text(root, "kind");
    yyjson_val *items = yyjson_obj_get(root, "items"), *item;
    size_t i, n;
    bool good = true;

    if (strcmp(ek_json_text(root, "apiVersion"), "audit.k8s.io/v1") != 0)
        return false;
    if (!strcmp(kind, "Event"))
        return take_event(audit, root);
    if (strcmp(kind, "EventList") != 0 || !yyjson_is_arr(items))
        return false;
    yyjson_arr_foreach(items, i, n, item)
    {
        good = take_event(audit, item) && good;
    }
    return good;
}

static bool is_blank(const struct ek_buf *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (!strchr(" \t\r", line->data[i]) || !line->data[i])
            return false;
    return true;
}

static void end_line(struct ek_plan_audit *audit)
{
    struct ek_buf *line = &audit->line;

    audit->number++;
    if (audit->skips || !is_blank(line)) {
        yyjson_doc *doc = audit->skips ? NULL : ek_json_parse(line->data, line->len, NULL);
        audit->n_lines++;
        if (!doc || !take_root(audit, yyjson_doc_get_root(doc))) {
            audit->n_unread++;
            if (!audit->unread_in) {
                audit->unread_in = audit->name;
                audit->unread_at = audit->number;
            }
        }
        yyjson_doc_free(doc);
    }
    audit->skips = false;
    ek_buf_reset(line);
}

static void take_part(struct ek_plan_audit *audit, const char *part, size_t len)
{
    if (audit->skips || !len)
        return;
    if (len <= EK_PLAN_AUDIT_LINE_MAX - audit->line.len && !ek_buf_append(&audit->line, part, len))
        return;
    audit->skips = true;
    ek_buf_reset(&audit->line);
}

void ek_plan_audit_begin(struct ek_plan_audit *audit, const char *name)
{
    audit->name = ek_arena_strdup(audit->arena, name);
    audit->number = 0;
}

void ek_plan_audit_octets(struct ek_plan_audit *audit, const char *octets, size_t len)
{
    for (const char *end; len && (end = memchr(octets, '\n', len)); octets = end + 1) {
        take_part(audit, octets, (size_t)(end - octets));
        end_line(audit);
        len -= (size_t)(end - octets) + 1;
    }
    take_part(audit, octets, len);
}

void ek_plan_audit_end(struct ek_plan_audit *audit)
{
    if (audit->skips || audit->line.len)
        end_line(audit);
}

/* ---- Findings ---- */

static uint64_t calls_of(const struct client *client)
{
    uint64_t max = 0;

    for (size_t i = 0; i < STAGE_MAX; i++)
        max = client->n[i] > max ? client->n[i] : max;
    return max;
}

/* The most frequent one first, then by name: the order does not depend on the order of the log. */
static int by_calls(const void *a, const void *b)
{
    const struct client *x = a, *y = b;
    uint64_t n = calls_of(x), m = calls_of(y);
    int order = strcmp(x->user, y->user);

    if (n != m)
        return n < m ? 1 : -1;
    return order ? order : strcmp(x->agent, y->agent);
}

static const char *verbs_of(const struct client *client, struct ek_arena *arena)
{
    const char *text = "";

    for (unsigned i = 0; i < EK_ARRAY_SIZE(verbs); i++)
        if (client->verbs >> i & 1u)
            text = ek_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", verbs[i]);
    return text;
}

static const char *instead(const struct ek_plan_audit *audit, const struct ek_api_lifecycle *life,
                           struct ek_arena *arena)
{
    const struct ek_api_lifecycle *other =
        ek_api_replacement(audit->target.data, life, audit->target.to);

    if (other)
        return ek_arena_printf(arena, "have the client use %s%s%s", other->group,
                               *other->group ? "/" : "", other->version);
    return life->instead ? life->instead : "have the client do without the resource";
}

/* True for what the target does not have yet. */
static bool is_back(const struct ek_plan_audit *audit, const struct ek_api_lifecycle *life)
{
    return ek_api_state_at(life, audit->target.to) == EK_API_ABSENT;
}

static void say_client(const struct ek_plan_audit *audit, const struct ek_plan_audit_kind *kind,
                       const char *who, const struct client *client, struct ek_plan_report *report)
{
    struct ek_arena *arena = report->arena;
    const struct ek_api_lifecycle *life = kind->life;
    uint64_t n = calls_of(client);
    const char *which = verbs_of(client, arena);
    char at[EK_TIME_SIZE] = "a time unknown", since[EK_MINOR_SIZE];

    if (client->last_ms != EK_TIME_UNSET)
        ek_time_format(client->last_ms, at);
    bool back = is_back(audit, life);
    ek_minor_format(back ? life->introduced : kind->goes ? life->removed : life->deprecated, since);
    ek_plan_report_add(
        report,
        &(struct ek_plan_finding){
            .severity = kind->goes ? EK_PLAN_ERROR : EK_PLAN_WARNING,
            .rule = "api-called",
            .source = "audit log",
            .object = ek_arena_printf(arena, "%s%s%s %s", life->group, *life->group ? "/" : "",
                                      life->version, kind->resource),
            .message = ek_arena_printf(
                arena,
                "%s called the API version, which is %s in %s, %" PRIu64 " time%s%s%s%s, "
                "the last at %s",
                who,
                back         ? "new"
                : kind->goes ? "removed"
                             : "deprecated",
                since, n, n == 1 ? "" : "s", *which ? " (" : "", which, *which ? ")" : "", at),
            .remedy = back ? "have the client use a version that the target serves"
                           : instead(audit, life, arena),
        });
}

static void say_kind(const struct ek_plan_audit *audit, const struct ek_plan_audit_kind *kind,
                     struct ek_plan_report *report)
{
    struct client sorted[EK_PLAN_AUDIT_CLIENTS_MAX];
    struct ek_arena *arena = report->arena;

    if (kind->n) {
        memcpy(sorted, kind->clients, kind->n * sizeof *sorted);
        qsort(sorted, kind->n, sizeof *sorted, by_calls);
    }
    for (size_t i = 0; i < kind->n; i++)
        say_client(audit, kind,
                   *sorted[i].agent
                       ? ek_arena_printf(arena, "%s with %s", sorted[i].user, sorted[i].agent)
                       : sorted[i].user,
                   &sorted[i], report);
    if (kind->n_others)
        say_client(audit, kind, "further clients, which are not listed,", &kind->others, report);
}

void ek_plan_audit_report(const struct ek_plan_audit *audit, struct ek_plan_report *report)
{
    struct ek_arena *arena = report->arena;

    for (size_t i = 0; i < audit->n_kinds; i++)
        say_kind(audit, &audit->kinds[i], report);
    if (!audit->n_unread && audit->n_answers)
        return;
    ek_plan_report_add(
        report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_UNKNOWN,
            .rule = "audit-unread",
            .source = audit->unread_in ? audit->unread_in : "audit log",
            .line = audit->unread_at,
            .message =
                audit->n_unread
                    ? ek_arena_printf(arena,
                                      "%" PRIu64 " of %" PRIu64 " lines of the audit logs are no "
                                      "Event of audit.k8s.io/v1, or longer than %zu MiB",
                                      audit->n_unread, audit->n_lines, EK_PLAN_AUDIT_LINE_MAX >> 20)
                    : "the audit logs have no Event of a response",
            .remedy = "use the file of --audit-log-path with --audit-log-format=json",
        });
}
