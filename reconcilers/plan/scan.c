/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/scan.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/skew/text.h"

#define ARENA_MAX      ((size_t)8 << 20) /* of a reading and of its result, each */
#define PAGE_ARENA_MAX ((size_t)8 << 20) /* of the findings of one page */
#define TEXT_MAX       512
#define LISTS_MAX      64
#define VERSIONS_MAX   3

#define ADMISSION "admissionregistration.k8s.io"

/* Objects that name API versions; the versions of the resource, the preferred one first. */
static const struct {
    const char *group, *resource, *kind, *versions[VERSIONS_MAX];
} references[] = {
    {ADMISSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", {"v1"}},
    {ADMISSION, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", {"v1"}},
    {ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", {"v1", "v1beta1"}},
    {ADMISSION,
     "validatingadmissionpolicybindings",
     "ValidatingAdmissionPolicyBinding",
     {"v1", "v1beta1"}},
    {ADMISSION,
     "mutatingadmissionpolicies",
     "MutatingAdmissionPolicy",
     {"v1", "v1beta1", "v1alpha1"}},
    {ADMISSION,
     "mutatingadmissionpolicybindings",
     "MutatingAdmissionPolicyBinding",
     {"v1", "v1beta1", "v1alpha1"}},
    {"apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", {"v1"}},
    {"evenkeel.dev", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", {"v1alpha1"}},
    {"evenkeel.dev",
     "mutatingadmissionpolicybindings",
     "MutatingAdmissionPolicyBinding",
     {"v1alpha1"}},
};

/* A resource to read. */
struct list {
    struct ek_plan_use_list use;        /* its version is that of the requests */
    const char *versions[VERSIONS_MAX]; /* that are tried in turn, where one is not served */
    size_t n_versions, version;
    bool counts; /* its objects record uses */
    bool checks; /* its objects name API versions, and are read whole */
    bool failed;
};

struct ek_plan_scan {
    struct ek_plan_target target;
    const struct ek_plan_seen *before; /* NULL: none for these versions */
    struct ek_plan_uses uses;
    struct ek_arena *arena; /* of the lists, and of what was found */
    struct list lists[LISTS_MAX];
    size_t n, at; /* lists, and the one that is read */
    char *next;   /* continue token; NULL: the first page */
    unsigned limit, n_pages;
    bool resumed; /* the list expired, and no page has come since */
    uint64_t n_objects;
    struct ek_plan_finding found[EK_PLAN_SEVERITY_MAX][EK_PLAN_SCAN_FINDINGS_MAX];
    size_t n_found[EK_PLAN_SEVERITY_MAX], n_more;
    const char *unread[LISTS_MAX];
    size_t n_unread;
    bool is_partial;
};

/* ---- Lists ---- */

/* True when a request in the version is no use of what goes. */
static bool may_request(const struct ek_plan_target *target, const char *group, const char *version,
                        const char *kind)
{
    const struct ek_api_lifecycle *life = ek_plan_find_kind(target->data, group, version, kind);
    enum ek_api_state from = life ? ek_api_state_at(life, target->from) : EK_API_SERVED;

    return (from == EK_API_SERVED || from == EK_API_DEPRECATED) &&
           (!life || ek_api_state_at(life, target->to) != EK_API_REMOVED);
}

static struct list *find_list(struct ek_plan_scan *scan, const char *group, const char *resource)
{
    for (size_t i = 0; i < scan->n; i++)
        if (!strcmp(scan->lists[i].use.group, group) &&
            !strcmp(scan->lists[i].use.resource, resource))
            return &scan->lists[i];
    if (scan->n == LISTS_MAX)
        return NULL;
    return &scan->lists[scan->n++];
}

/* Of the lists of uses, those of what goes and those whose objects name others. The owners of
 * further objects are for `evenkeel plan`: they would take the right to read every Pod. */
static void add_uses(struct ek_plan_scan *scan)
{
    struct ek_plan_use_list *lists;
    size_t n = ek_plan_uses_lists(&scan->target, scan->arena, &lists);

    for (size_t i = 0; i < n; i++) {
        struct list *list = lists[i].goes || lists[i].what != EK_PLAN_USE_METADATA
                                ? find_list(scan, lists[i].group, lists[i].resource)
                                : NULL;
        if (!list)
            continue;
        list->use = lists[i];
        list->versions[0] = lists[i].version;
        list->n_versions = 1;
        list->counts = true;
    }
}

static void say_unread(struct ek_plan_scan *scan, const struct ek_plan_use_list *list,
                       const char *why)
{
    struct ek_arena *arena = scan->arena;

    scan->unread[scan->n_unread++] = ek_arena_printf(arena, "%s.%s: %s", list->resource,
                                                     list->group, ek_skew_steady(arena, why));
}

static void add_references(struct ek_plan_scan *scan)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(references); i++) {
        const char *group = references[i].group, *kind = references[i].kind;
        struct list *list = find_list(scan, group, references[i].resource);
        if (!list)
            continue;
        list->checks = true;
        if (list->counts) /* in the version that stays */
            continue;
        for (size_t k = 0; k < VERSIONS_MAX && references[i].versions[k]; k++)
            if (may_request(&scan->target, group, references[i].versions[k], kind))
                list->versions[list->n_versions++] = references[i].versions[k];
        list->use = (struct ek_plan_use_list){.group = group,
                                              .version = list->versions[0],
                                              .resource = references[i].resource,
                                              .kind = kind};
        if (!list->n_versions)
            say_unread(scan, &list->use, "no version stays from the first step to the target");
    }
}

/* ---- The course ---- */

/* Goes on with the list at the place, or with the first one behind that can be read. */
static void go_to(struct ek_plan_scan *scan, size_t at)
{
    while (at < scan->n && scan->lists[at].version == scan->lists[at].n_versions)
        at++;
    scan->at = at;
    ek_free(scan->next);
    scan->next = NULL;
    scan->limit = EK_PLAN_SCAN_PAGE;
    scan->n_pages = 0;
    scan->resumed = false;
    if (at < scan->n)
        scan->lists[at].use.version = scan->lists[at].versions[scan->lists[at].version];
}

struct ek_plan_scan *ek_plan_scan_new(const struct ek_plan_target *target,
                                      const struct ek_plan_seen *before)
{
    struct ek_plan_scan *scan = ek_xalloc(sizeof *scan);

    scan->target = *target;
    if (before && !ek_minor_cmp(before->from, target->from) &&
        !ek_minor_cmp(before->to, target->to))
        scan->before = before;
    scan->arena = ek_arena_new(ARENA_MAX);
    ek_plan_uses_init(&scan->uses, target);
    add_uses(scan);
    add_references(scan);
    go_to(scan, 0);
    return scan;
}

void ek_plan_scan_free(struct ek_plan_scan *scan)
{
    if (!scan)
        return;
    ek_plan_uses_done(&scan->uses);
    ek_arena_free(scan->arena);
    ek_free(scan->next);
    ek_free(scan);
}

bool ek_plan_scan_next(const struct ek_plan_scan *scan, struct ek_plan_scan_request *ret_request)
{
    const struct list *list = &scan->lists[scan->at];

    if (scan->at == scan->n)
        return false;
    *ret_request = (struct ek_plan_scan_request){
        .group = list->use.group,
        .version = list->use.version,
        .resource = list->use.resource,
        .next = scan->next ? scan->next : "",
        .limit = scan->limit,
        .metadata = list->use.what == EK_PLAN_USE_METADATA && !list->checks};
    return true;
}

/* ---- Objects ---- */

/* Keeps the first findings of each severity: an error must not be lost behind warnings. */
static void keep(struct ek_plan_scan *scan, const struct ek_plan_finding *f)
{
    struct ek_arena *arena = scan->arena;

    if (scan->n_found[f->severity] == EK_PLAN_SCAN_FINDINGS_MAX || ek_arena_exhausted(arena)) {
        scan->n_more++;
        return;
    }
    scan->found[f->severity][scan->n_found[f->severity]++] = (struct ek_plan_finding){
        .severity = f->severity,
        .rule = f->rule,
        .source = "cluster",
        .object = ek_arena_strdup(arena, ek_skew_clean_max(arena, f->object, TEXT_MAX)),
        .field = ek_arena_strdup(arena, ek_skew_clean_max(arena, f->field, TEXT_MAX)),
        .message = ek_arena_strdup(arena, ek_skew_clean_max(arena, f->message, TEXT_MAX)),
        .remedy = ek_arena_strdup(arena, ek_skew_clean_max(arena, f->remedy, TEXT_MAX))};
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

/* Items of a list have neither apiVersion nor kind. */
static void check_item(struct ek_plan_scan *scan, const struct list *list, yyjson_val *item,
                       struct ek_plan_report *report)
{
    struct ek_work none = {.is_over = always}; /* for expressions */
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, item);
    char api_version[128];

    snprintf(api_version, sizeof api_version, "%s/%s", list->use.group, list->use.version);
    if (yyjson_mut_is_obj(root)) {
        yyjson_mut_obj_put(root, yyjson_mut_str(doc, "apiVersion"),
                           yyjson_mut_str(doc, api_version));
        yyjson_mut_obj_put(root, yyjson_mut_str(doc, "kind"), yyjson_mut_str(doc, list->use.kind));
    }
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *object = yyjson_mut_doc_imut_copy(doc, NULL);
    const struct ek_plan_object whole = {.value = yyjson_doc_get_root(object),
                                         .source = "cluster",
                                         .is_served = true,
                                         .work = &none};
    ek_plan_check_object(&scan->target, &whole, report);
    yyjson_doc_free(object);
    yyjson_mut_doc_free(doc);
}

static void take_items(struct ek_plan_scan *scan, const struct list *list, yyjson_val *items)
{
    struct ek_plan_report report = {.arena = ek_arena_new(PAGE_ARENA_MAX)};
    size_t i, n, more = 0;
    yyjson_val *item;

    yyjson_arr_foreach(items, i, n, item)
    {
        scan->n_objects++;
        if (list->counts)
            ek_plan_uses_item(&scan->uses, &list->use, item);
        if (!list->checks)
            continue;
        if (ek_arena_exhausted(report.arena))
            more++; /* an object that is not checked counts as a finding */
        else
            check_item(scan, list, item, &report);
    }
    scan->n_more += more + ek_arena_exhausted(report.arena);
    for (i = 0; i < report.n; i++)
        keep(scan, &report.list[i]);
    ek_arena_free(report.arena);
}

/* ---- Answers ---- */

static void leave(struct ek_plan_scan *scan, const char *why)
{
    say_unread(scan, &scan->lists[scan->at].use, why);
    scan->lists[scan->at].failed = true;
    go_to(scan, scan->at + 1);
}

/* The continue token of a list or of a Status; "" for none. */
static const char *token_of(yyjson_val *root)
{
    const char *token = ek_json_str(root, "metadata", "continue", NULL);

    return token ? token : "";
}

static void follow(struct ek_plan_scan *scan, const char *token)
{
    char *next = ek_xstrdup(token);

    ek_free(scan->next);
    scan->next = next;
}

static void fail(struct ek_plan_scan *scan, const struct ek_plan_scan_page *page)
{
    struct list *list = &scan->lists[scan->at];
    const char *token = token_of(page->status);

    if (page->err->code == EK_E_LIMIT && scan->limit > 1) {
        scan->limit /= 2;
    } else if (page->err->code == EK_E_GONE && scan->next && *token && !scan->resumed) {
        scan->resumed = true;
        follow(scan, token);
    } else if (page->err->code == EK_E_NOENT && !scan->next) {
        list->version++;
        go_to(scan, scan->at);
    } else {
        scan->is_partial |= page->err->code != EK_E_FORBIDDEN && page->err->code != EK_E_LIMIT;
        leave(scan, page->err->message);
    }
}

void ek_plan_scan_heard(struct ek_plan_scan *scan, const struct ek_plan_scan_page *page)
{
    yyjson_val *items = yyjson_obj_get(page->list, "items");
    const char *next = token_of(page->list);

    if (scan->at == scan->n)
        return;
    if (!page->list) {
        fail(scan, page);
        return;
    }
    if (!yyjson_is_arr(items) && !yyjson_is_null(items)) {
        leave(scan, "the response is no list");
        return;
    }
    take_items(scan, &scan->lists[scan->at], items);
    scan->resumed = false;
    if (!*next)
        go_to(scan, scan->at + 1);
    else if (++scan->n_pages == EK_PLAN_SCAN_PAGES_MAX)
        leave(scan, "there are too many objects");
    else
        follow(scan, next);
}

/* ---- The result ---- */

/* True for an object of the list, "group/version Kind name". */
static bool is_of_list(const char *object, const struct ek_plan_use_list *list)
{
    size_t group = strlen(list->group), kind = strlen(list->kind);
    const char *blank = strchr(object, ' ');

    return blank && !strncmp(object, list->group, group) && object[group] == '/' &&
           !strncmp(blank + 1, list->kind, kind) && blank[1 + kind] == ' ';
}

static bool is_of_failed(const struct ek_plan_scan *scan, const char *object)
{
    for (size_t i = 0; i < scan->n; i++)
        if (scan->lists[i].failed && is_of_list(object, &scan->lists[i].use))
            return true;
    return false;
}

/* True when one of the first n findings is about the same place. */
static bool is_known(const struct ek_plan_report *report, size_t n, const struct ek_plan_finding *f)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(report->list[i].rule, f->rule) && !strcmp(report->list[i].object, f->object) &&
            !strcmp(report->list[i].field, f->field))
            return true;
    return false;
}

/* Adds the findings that the reading before had of lists that failed now: what blocks a plan is not
 * gone because nobody may read it. */
static void add_before(const struct ek_plan_scan *scan, struct ek_plan_seen *seen)
{
    size_t n = seen->report.n, n_kept = 0;

    for (size_t i = 0; scan->before && i < scan->before->report.n; i++) {
        const struct ek_plan_finding *f = &scan->before->report.list[i];
        if (!is_of_failed(scan, f->object) || is_known(&seen->report, n, f))
            continue;
        if (n_kept++ < (size_t)EK_PLAN_SCAN_FINDINGS_MAX * EK_PLAN_SEVERITY_MAX)
            ek_plan_report_add(&seen->report, f);
        else
            seen->n_more++;
    }
}

struct ek_plan_seen *ek_plan_scan_result(const struct ek_plan_scan *scan, int64_t at_ms)
{
    struct ek_plan_seen *seen = ek_xalloc(sizeof *seen);
    struct ek_arena *arena = ek_arena_new(ARENA_MAX * 2);

    *seen = (struct ek_plan_seen){.from = scan->target.from,
                                  .to = scan->target.to,
                                  .at_ms = at_ms,
                                  .n_objects = scan->n_objects,
                                  .report = {.arena = arena},
                                  .n_more = scan->n_more,
                                  .n_unread = scan->n_unread,
                                  .is_partial = scan->is_partial};
    for (size_t s = 0; s < EK_PLAN_SEVERITY_MAX; s++)
        for (size_t i = 0; i < scan->n_found[s]; i++)
            ek_plan_report_add(&seen->report, &scan->found[s][i]);
    ek_plan_uses_report(&scan->uses, &seen->report);
    add_before(scan, seen);
    seen->unread = ek_arena_alloc(arena, (scan->n_unread + 1) * sizeof *seen->unread);
    for (size_t i = 0; i < scan->n_unread; i++)
        seen->unread[i] = ek_arena_strdup(arena, scan->unread[i]);
    return seen;
}

void ek_plan_seen_free(struct ek_plan_seen *seen)
{
    if (!seen)
        return;
    ek_arena_free(seen->report.arena);
    ek_free(seen);
}
