/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/review.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/counted.h"
#include "api/obj.h"
#include "controller/fieldgates/review_set.h"
#include "reconcilers/fieldgates/registration.h"

#define HASH_MAX       64
#define SUPPRESSED_MAX ((size_t)1024) /* octets of the audit annotation */

struct ek_gates_review {
    struct ek_gates_review_config config;
    pthread_mutex_t lock;
    struct ek_gates_review_set *set; /* under lock; NULL before the first */
};

/* ---- The set ---- */

static int64_t system_ms(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

struct ek_gates_review *ek_gates_review_new(const struct ek_gates_review_config *config)
{
    struct ek_gates_review *review = ek_xalloc(sizeof *review);

    review->config = *config;
    if (!config->now_ms)
        review->config.now_ms = system_ms;
    pthread_mutex_init(&review->lock, NULL);
    return review;
}

static struct ek_gates_review_set *swap(struct ek_gates_review *review,
                                        struct ek_gates_review_set *set)
{
    pthread_mutex_lock(&review->lock);
    struct ek_gates_review_set *old = review->set;
    review->set = set;
    pthread_mutex_unlock(&review->lock);
    return old;
}

/* Only this thread writes review->set, so that it may read it without the lock. */
void ek_gates_review_publish(struct ek_gates_review *review, const struct ek_gates_reviewed *kinds,
                             size_t n)
{
    struct ek_gates_review_set *set =
        ek_gates_review_set_new(kinds, n, review->set, review->config.now_ms());

    ek_gates_review_set_unref(swap(review, set));
}

static struct ek_gates_review_set *take_set(struct ek_gates_review *review)
{
    pthread_mutex_lock(&review->lock);
    struct ek_gates_review_set *set = ek_gates_review_set_ref(review->set);
    pthread_mutex_unlock(&review->lock);
    return set;
}

void ek_gates_review_free(struct ek_gates_review *review)
{
    if (!review)
        return;
    ek_gates_review_set_unref(swap(review, NULL));
    pthread_mutex_destroy(&review->lock);
    ek_free(review);
}

/* ---- Writes of gated resources ---- */

/* Fills err (the message comes after code) and gives the status to refuse with. */
#define REFUSE(err, status, code, ...) (ek_err_set(err, code, __VA_ARGS__), (status))

/* The request must be for the very resource that the path names. */
static bool is_about(const struct ek_admission_request *request, const char *crd)
{
    size_t plural = strlen(request->resource.resource);

    return !strncmp(crd, request->resource.resource, plural) && crd[plural] == '.' &&
           !strcmp(crd + plural + 1, request->resource.group);
}

/* Whether the gates are for the version of the request: the stored one; and one whose subresources
 * the stored one lacks, through which they deny every update. */
static bool is_for_version(const struct ek_gates_review_kind *kind,
                           const struct ek_admission_request *request)
{
    if (!*kind->version || !strcmp(kind->version, request->resource.version))
        return true;
    for (size_t i = 0; i < kind->shape.n_lacks; i++) {
        const struct ek_gates_lack *lack = &kind->shape.lacks[i];
        if (((lack->status && !strcmp(request->subresource, "status")) ||
             (lack->scale && !strcmp(request->subresource, "scale"))) &&
            !strcmp(lack->version, request->resource.version))
            return true;
    }
    return false;
}

/* 0 with *ret_kind (NULL: gated no more), or what to refuse with. */
static int find_kind(const struct ek_gates_review *review, struct ek_gates_review_set *set,
                     const char *crd, const struct ek_admission_request *request,
                     const struct ek_gates_review_kind **ret_kind, struct ek_err *err)
{
    if (!is_about(request, crd))
        return REFUSE(err, 404, EK_E_INVAL, "asked about %s.%s at the path of %.253s",
                      request->resource.resource, request->resource.group, crd);
    const struct ek_gates_review_kind *kind =
        ek_gates_review_set_find(set, crd, review->config.now_ms());
    if (!kind)
        return REFUSE(err, 503, EK_E_SERVER, "the field gates of %.253s are not known here yet",
                      crd);
    if (kind->gates && !is_for_version(kind, request))
        return REFUSE(err, 503, EK_E_SERVER,
                      "the field gates of %.253s are for version %s, not %.63s", crd, kind->version,
                      request->resource.version);
    *ret_kind = kind->gates ? kind : NULL;
    return 0;
}

/* True for a review of the webhook that must not be ignored: the webhook for deprecated fields
 * comes after it, and finds nothing more to suppress of those gates. */
static bool is_asked_again(const struct ek_gates_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_hits; i++)
        if (!outcome->hits[i].deprecated && !outcome->hits[i].gate->ignore_failures)
            return true;
    return false;
}

static void count(const struct ek_gates_review *review, const struct ek_gates *gates,
                  const struct ek_admission_request *request,
                  const struct ek_gates_outcome *outcome)
{
    bool again = is_asked_again(outcome);

    if (request->dry_run || request->unproven || !review->config.hit)
        return;
    for (size_t i = 0; i < outcome->n_hits; i++)
        if (!again || !outcome->hits[i].deprecated)
            review->config.hit(review->config.ctx, gates->name, outcome->hits[i].gate->name,
                               request->operation, outcome->hits[i].deprecated);
}

static const char *suppressed_paths(const struct ek_gates_outcome *outcome, struct ek_arena *arena)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, SUPPRESSED_MAX);
    for (size_t i = 0; i < outcome->n_hits && !out.failed; i++)
        if (!outcome->hits[i].deprecated)
            ek_buf_printf(&out, "%s%s", out.len ? " " : "", outcome->hits[i].path->text);
    return out.len ? ek_arena_printf(arena, "%s%s", ek_buf_str(&out), out.failed ? " ..." : "")
                   : NULL;
}

static void annotate(const struct ek_gates *gates, const struct ek_gates_outcome *outcome,
                     struct ek_arena *arena, struct ek_admission_response *response)
{
    const char **pairs = ek_arena_alloc(arena, 4 * sizeof *pairs);
    const char *paths = suppressed_paths(outcome, arena);

    pairs[0] = "generation";
    pairs[1] = ek_arena_printf(arena, "%lld", (long long)gates->generation);
    pairs[2] = "suppressed";
    pairs[3] = paths;
    response->audit_annotations = pairs;
    response->n_audit_annotations = paths ? 2 : 1;
}

/* What outcome says, kept beyond the life of the gates. */
static void answer(const struct ek_gates_outcome *outcome, struct ek_arena *arena,
                   struct ek_admission_response *response)
{
    const char **warnings = ek_arena_alloc(arena, outcome->n_warnings * sizeof *warnings);

    for (size_t i = 0; i < outcome->n_warnings; i++)
        warnings[i] = ek_arena_strdup(arena, outcome->warnings[i]);
    response->allowed = outcome->allowed;
    response->code = outcome->code;
    response->reason = outcome->reason;
    response->message = outcome->message;
    response->patch = outcome->patch;
    response->warnings = warnings;
    response->n_warnings = outcome->n_warnings;
}

/* A write that could not be judged is denied, also where the registration ignores failures: a
 * closed gate lets nothing through for want of time or room. The arena may be used up. */
static void deny_undecided(struct ek_admission_response *response, int rc, struct ek_err *err)
{
    *response = (struct ek_admission_response){
        .code = 500,
        .reason = "InternalError",
        .message = rc == EK_E_CANCELED ? "the field gates of the object cannot be judged in time"
                   : rc == EK_E_LIMIT  ? "the field gates of the object cannot be judged within "
                                         "the limit on memory"
                                       : "no memory to judge the field gates of the object"};
    if (!err->code)
        ek_err_set(err, rc, "%s", response->message);
}

/* doc NULL: verifies. */
static int judge(struct ek_gates_review *review, const char *crd,
                 const struct ek_admission_request *request, struct ek_arena *arena,
                 struct ek_work *work, struct ek_admission_response *response, yyjson_mut_doc *doc,
                 struct ek_err *err)
{
    struct ek_gates_review_set *set = take_set(review);
    const struct ek_gates_review_kind *kind = NULL;
    struct ek_gates_outcome outcome = {.allowed = true};
    int rc = 0, status = find_kind(review, set, crd, request, &kind, err);

    if (status == 0 && kind)
        rc = doc ? ek_gates_decide(kind->gates, &kind->shape, request, arena, work, doc, &outcome,
                                   err)
                 : ek_gates_verify(kind->gates, &kind->shape, request, arena, work, &outcome, err);
    if (status == 0 && rc == 0) {
        answer(&outcome, arena, response);
        if (kind) {
            annotate(kind->gates, &outcome, arena, response);
            count(review, kind->gates, request, &outcome);
        }
    }
    if (status == 0 && rc == 0 && ek_arena_exhausted(arena))
        rc = EK_E_LIMIT;
    if (rc)
        deny_undecided(response, rc, err);
    ek_gates_review_set_unref(set);
    return status;
}

static int review_write(void *ctx, const char *name, const struct ek_admission_request *request,
                        struct ek_arena *arena, struct ek_work *work,
                        struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                        struct ek_err *err)
{
    const yyjson_alc alc = ek_json_alc_in(arena);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);

    if (!doc)
        return REFUSE(err, 500, EK_E_NOMEM, "out of memory");
    int status = judge(ctx, name, request, arena, work, response, doc, err);
    if (status || !response->patch) {
        yyjson_mut_doc_free(doc);
        return status;
    }
    yyjson_mut_doc_set_root(doc, response->patch);
    *ret_patch = doc;
    return 0;
}

static int review_final(void *ctx, const char *name, const struct ek_admission_request *request,
                        struct ek_arena *arena, struct ek_work *work,
                        struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                        struct ek_err *err)
{
    (void)ret_patch;
    return judge(ctx, name, request, arena, work, response, NULL, err);
}

/* ---- The canary ---- */

static bool is_hash(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]))
        n++;
    return n > 0 && n <= HASH_MAX && s[n] == '\0';
}

/* A replica that could not answer reviews yet does not answer this one either. */
static int review_canary(void *ctx, const char *name, const struct ek_admission_request *request,
                         struct ek_arena *arena, struct ek_work *work,
                         struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                         struct ek_err *err)
{
    struct ek_gates_review_set *set = take_set(ctx);

    (void)request;
    (void)work;
    (void)ret_patch;
    if (!set)
        return REFUSE(err, 503, EK_E_SERVER, "field gates are not known here yet");
    ek_gates_review_set_unref(set);
    if (!is_hash(name))
        return REFUSE(err, 404, EK_E_INVAL, "a canary has the hash of a registration in its path");
    response->allowed = false;
    response->code = 403;
    response->reason = "Forbidden";
    response->message = ek_arena_printf(arena, EK_GATES_CANARY_TEXT "%s", name);
    return 0;
}

/* ---- Definitions ---- */

/* True when there is a new or changed spec. What is there already may predate validation. */
static bool is_new_spec(const struct ek_admission_request *request)
{
    bool update = !strcmp(request->operation, "UPDATE");

    if ((!update && strcmp(request->operation, "CREATE") != 0) || *request->subresource)
        return false;
    return !update || !ek_json_equal(yyjson_obj_get(request->object, "spec"),
                                     yyjson_obj_get(request->old_object, "spec"));
}

static const char *problems_text(const struct ek_gates *gates, const char *name,
                                 struct ek_arena *arena)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < gates->n_problems && !out.failed; i++)
        ek_buf_printf(&out, "%s%s", i ? ", " : "", gates->problems[i]);
    return ek_arena_printf(arena, "CustomFeatureGates.evenkeel.dev \"%s\" is invalid: %s%s%s%s",
                           name, gates->n_problems > 1 ? "[" : "", ek_buf_str(&out),
                           out.failed ? ", ..." : "", gates->n_problems > 1 ? "]" : "");
}

/* Warnings about an accepted write. */
static void warn(const struct ek_gates *gates, struct ek_arena *arena,
                 struct ek_admission_response *response)
{
    const char **warnings = ek_arena_alloc(arena, (EK_GATES_WARNINGS_MAX + 1) * sizeof *warnings);
    size_t n = 0, more = 0;

    for (size_t i = 0; i < gates->n_gates; i++) {
        if (!gates->gates[i].ignored_enabled)
            continue;
        if (n < EK_GATES_WARNINGS_MAX)
            warnings[n++] = ek_arena_printf(arena,
                                            "spec.featureGates[%zu].enabled: false is ignored, "
                                            "because stable gates are always on",
                                            i);
        else
            more++;
    }
    if (more)
        warnings[n++] = ek_arena_printf(arena, "and %zu more gates ignore enabled: false", more);
    response->warnings = warnings;
    response->n_warnings = n;
}

static int review_definition(void *ctx, const char *name,
                             const struct ek_admission_request *request, struct ek_arena *arena,
                             struct ek_work *work, struct ek_admission_response *response,
                             yyjson_mut_doc **ret_patch, struct ek_err *err)
{
    (void)ctx;
    (void)work;
    (void)ret_patch;
    if (*name || strcmp(request->resource.resource, "customfeaturegates") != 0)
        return REFUSE(err, 404, EK_E_INVAL, "only CustomFeatureGates are reviewed here");
    response->allowed = true;
    if (!is_new_spec(request))
        return 0;
    const struct ek_gates *gates = ek_gates_new(request->object, NULL, 0);
    if (gates->n_problems) {
        const char *object = ek_json_str(request->object, "metadata", "name", NULL);
        response->allowed = false;
        response->code = 422;
        response->reason = "Invalid";
        response->message = problems_text(gates, object ? object : request->name, arena);
    } else {
        warn(gates, arena, response);
    }
    ek_gates_unref(gates);
    return 0;
}

void ek_gates_review_handlers(struct ek_gates_review *review,
                              struct ek_webhook_handler ret[EK_GATES_REVIEW_HANDLERS])
{
    ret[0] = (struct ek_webhook_handler){EK_GATES_PATH, review_write, review};
    ret[1] = (struct ek_webhook_handler){EK_GATES_VERIFY_PATH, review_final, review};
    ret[2] = (struct ek_webhook_handler){EK_GATES_CANARY_PATH, review_canary, review};
    ret[3] = (struct ek_webhook_handler){EK_GATES_DEFINITION_PATH, review_definition, review};
}
