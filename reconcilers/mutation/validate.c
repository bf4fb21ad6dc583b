/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/validate.h"

#include <stdio.h>
#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/cel/text/runes.h"
#include "api/obj.h"
#include "reconcilers/mutation/conditions.h"
#include "reconcilers/mutation/views.h"

/* Code points of the Warning headers of a response, and of one when they are cut. */
#define WARNINGS_MAX 4096
#define WARNING_MAX  256

#define MESSAGE_MAX     5120                /* octets of a messageExpression's result */
#define ANNOTATION_MAX  ((size_t)10 * 1024) /* octets of one value of an audit annotation */
#define FAILURE_KEY     "validation.policy.admission.k8s.io/validation_failure"
#define INVOCATION_COST 16 /* steps of work besides evaluations */

/* A value of an audit annotation. */
struct annotation_value {
    const char *text;
    struct annotation_value *next;
};

/* An audit annotation while its values are collected. */
struct annotation {
    const char *key;
    struct annotation_value *first, **end;
    size_t len; /* of all values, joined */
};

struct validating {
    struct ek_run run;
    struct ek_validating_step *steps;
    size_t n_steps, cap_steps;
    const char **warnings;
    size_t n_warnings, cap_warnings;
    struct annotation *annotations;
    size_t n_annotations, cap_annotations;
    struct ek_map seen; /* warnings, and annotations as "key\nvalue": each counts once */
    struct ek_map keys; /* of annotations: the index in the list, from 1 */
};

/* What one validation, or a policy as a whole, comes to. */
struct decision {
    bool fails, error; /* error: failurePolicy decides */
    const char *message, *reason;
};

/* ---- Texts ---- */

static const char *trimmed(struct ek_run *run, const char *s, size_t len)
{
    size_t start = 0, end = len, size;

    if (!len)
        return "";
    while (start < end && ek_cel_rune_is_space(ek_cel_rune_at(s + start, &size)))
        start += size;
    while (end > start) {
        size_t at = end - 1;
        while (at > start && ((unsigned char)s[at] & 0xc0) == 0x80)
            at--;
        if (!ek_cel_rune_is_space(ek_cel_rune_at(s + at, &size)))
            break;
        end = at;
    }
    return ek_arena_strndup(run->arena, s + start, end - start);
}

/* The resource and the name of a refusal (apiserver/pkg/admission/errors.go: NewForbidden). */
static const char *forbidden(struct ek_run *run, const char *message)
{
    const struct ek_gvr *r = &run->request->resource;
    const char *name = run->request->name;

    if (!*name)
        name = ek_json_str(run->request->object, "metadata", "name", NULL);
    if (!name || !*name)
        name = ek_json_str(run->request->object, "metadata", "generateName", NULL);
    return ek_arena_printf(run->arena, "%s%s%s \"%s\" is forbidden: %s", r->resource,
                           *r->group ? "." : "", r->group, name && *name ? name : "Unknown",
                           message);
}

static int code_of(const char *reason)
{
    return !strcmp(reason, "Forbidden")               ? 403
           : !strcmp(reason, "RequestEntityTooLarge") ? 413
                                                      : 422;
}

/* ---- What a decision comes to ---- */

/* True the first time. */
static bool is_new(struct validating *v, const char *text)
{
    return !ek_map_put(&v->seen, text, (void *)(uintptr_t)text);
}

static void warn(struct validating *v, const char *text)
{
    const char **list =
        ek_run_grow(&v->run, v->warnings, v->n_warnings, &v->cap_warnings, sizeof(char *));

    if (!list)
        return;
    v->warnings = list;
    if (is_new(v, text))
        list[v->n_warnings++] = text;
}

/* What a Warning header can have: valid UTF-8 without control characters
 * (apimachinery/pkg/util/net/http.go: NewWarningHeader). Counts the code points. */
static bool fits_header(const char *text, size_t *ret_runes)
{
    struct ek_str s = ek_str_from(text);

    for (*ret_runes = 0; s.len; ++*ret_runes) {
        unsigned rune = 0;
        size_t len = ek_utf8_decode(s, &rune);
        if (!len || rune < 0x20 || (rune >= 0x7f && rune < 0xa0))
            return false;
        s.p += len;
        s.len -= len;
    }
    return *ret_runes > 0;
}

/* Leaves what an API server sends: up to 4096 code points of texts; when they are more, texts of up
 * to 256 code points, until 4096 are reached (apiserver/pkg/endpoints/filters/warning.go:
 * recorder.AddWarning). */
static void cut_warnings(struct validating *v)
{
    size_t written = 0, n = 0, again = 0, runes;

    for (size_t i = 0; i < v->n_warnings && !again; i++)
        if (fits_header(v->warnings[i], &runes)) {
            written += runes;
            again = written > WARNINGS_MAX ? i + 1 : 0; /* these are written again, cut */
        }
    written = 0;
    for (size_t i = 0; i < v->n_warnings; i++) {
        const char *text = v->warnings[i];
        if (!fits_header(text, &runes) || (again && i >= again && written >= WARNINGS_MAX))
            continue;
        if (again && runes > WARNING_MAX) {
            size_t len = ek_cel_rune_offset(text, strlen(text), WARNING_MAX);
            text = ek_arena_strndup(v->run.arena, text, len);
            runes = WARNING_MAX;
        }
        written += runes;
        v->warnings[n++] = text;
    }
    v->n_warnings = n;
}

/* The annotation of a key; NULL without memory. */
static struct annotation *annotation_of(struct validating *v, const char *key)
{
    uintptr_t at = (uintptr_t)ek_map_get(&v->keys, key);

    if (at)
        return &v->annotations[at - 1];
    struct annotation *list =
        ek_run_grow(&v->run, v->annotations, v->n_annotations, &v->cap_annotations, sizeof *list);
    if (!list)
        return NULL;
    v->annotations = list;
    list[v->n_annotations++] = (struct annotation){.key = key};
    ek_map_put(&v->keys, key, (void *)(uintptr_t)v->n_annotations);
    return &list[v->n_annotations - 1];
}

/* Adds a value to the annotation of that key. */
static void annotate(struct validating *v, const char *key, const char *text)
{
    struct annotation_value *value = ek_arena_alloc(v->run.arena, sizeof *value);

    if (!is_new(v, ek_arena_printf(v->run.arena, "%s\n%s", key, text)))
        return;
    struct annotation *annotation = annotation_of(v, key);
    if (!annotation)
        return;
    *value = (struct annotation_value){.text = text};
    /* The list may have moved since the last value. */
    if (annotation->first)
        *annotation->end = value;
    else
        annotation->first = value;
    annotation->end = &value->next;
    annotation->len += strlen(text) + 2;
}

/* The annotations with their values joined, as the audit event has them
 * (apiserver/pkg/admission/plugin/policy/validating/dispatcher.go: auditAnnotationCollector). */
static struct ek_audit_entry *join_annotations(struct validating *v)
{
    struct ek_audit_entry *list =
        ek_arena_alloc(v->run.arena, (v->n_annotations + 1) * sizeof *list);

    for (size_t i = 0; i < v->n_annotations; i++) {
        const struct annotation *annotation = &v->annotations[i];
        char *text = ek_arena_alloc(v->run.arena, annotation->len + 1), *p = text;
        if (ek_arena_exhausted(v->run.arena))
            break;
        for (const struct annotation_value *value = annotation->first; value; value = value->next) {
            size_t len = strlen(value->text);
            if (p > text)
                p = (char *)memcpy(p, ", ", 2) + 2;
            p = (char *)memcpy(p, value->text, len) + len;
        }
        *p = '\0';
        list[i] = (struct ek_audit_entry){annotation->key, text};
    }
    return list;
}

/* A failure for the audit event; of several the first stays. */
static void annotate_failure(struct validating *v, const struct ek_binding *binding, size_t index,
                             const char *message)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *list = yyjson_mut_arr(doc), *item = yyjson_mut_arr_add_obj(doc, list), *actions;

    if (ek_map_get(&v->keys, FAILURE_KEY)) {
        yyjson_mut_doc_free(doc);
        return;
    }
    yyjson_mut_obj_add_str(doc, item, "message", message);
    yyjson_mut_obj_add_str(doc, item, "policy", binding->policy_name);
    yyjson_mut_obj_add_str(doc, item, "binding", binding->name);
    yyjson_mut_obj_add_uint(doc, item, "expressionIndex", index);
    actions = yyjson_mut_obj_add_arr(doc, item, "validationActions");
    for (size_t i = 0; i < binding->n_actions; i++)
        yyjson_mut_arr_add_str(doc, actions, binding->actions[i]);
    char *json = yyjson_mut_val_write_opts(list, 0, &ek_json_xalc, NULL, NULL);
    EK_AUTO(ek_buf) text;
    ek_buf_init(&text, (size_t)64 << 20);
    ek_go_json(json ? json : "", &text);
    annotate(v, FAILURE_KEY, ek_arena_strdup(v->run.arena, ek_buf_str(&text)));
    ek_free(json);
    yyjson_mut_doc_free(doc);
}

static void add_step(struct validating *v, const struct ek_invocation *invocation,
                     enum ek_validating_result result, const char *message)
{
    struct ek_validating_step *list =
        ek_run_grow(&v->run, v->steps, v->n_steps, &v->cap_steps, sizeof *list);

    if (!list)
        return;
    v->steps = list;
    list[v->n_steps++] = (struct ek_validating_step){invocation->bound, invocation->key, result,
                                                     message, invocation->view != NULL};
}

static void deny(struct validating *v, const struct ek_bound *bound, const char *reason,
                 const char *message)
{
    struct ek_run *run = &v->run;
    struct ek_denial *list =
        ek_run_grow(run, run->denials, run->n_denials, &run->cap_denials, sizeof *list);

    if (!list)
        return;
    run->denials = list;
    list[run->n_denials++] = (struct ek_denial){
        ek_arena_printf(run->arena,
                        "ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s",
                        bound->policy->name, bound->binding->name, message),
        *reason ? reason : "Invalid"};
}

static void act(struct validating *v, const struct ek_invocation *invocation, size_t index,
                const struct decision *d)
{
    const struct ek_bound *bound = invocation->bound;
    const struct ek_binding *binding = bound->binding;
    enum ek_validating_result worst = EK_VALIDATING_AUDITED;

    if (d->error && bound->policy->ignore_failures) {
        add_step(v, invocation, EK_VALIDATING_IGNORED, d->message);
        return;
    }
    for (size_t i = 0; i < binding->n_actions; i++) {
        if (!strcmp(binding->actions[i], "Deny")) {
            deny(v, bound, d->reason, d->message);
            worst = EK_VALIDATING_DENIED;
        } else if (!strcmp(binding->actions[i], "Audit")) {
            annotate_failure(v, binding, index, d->message);
        } else if (!strcmp(binding->actions[i], "Warn")) {
            warn(v, ek_arena_printf(v->run.arena,
                                    "Validation failed for ValidatingAdmissionPolicy '%s' with "
                                    "binding '%s': %s",
                                    bound->policy->name, binding->name, d->message));
            if (worst != EK_VALIDATING_DENIED)
                worst = EK_VALIDATING_WARNED;
        }
    }
    add_step(v, invocation, worst, d->message);
}

/* ---- Expressions ---- */

/* Whether the run ends here. */
static bool is_over(struct ek_run *run)
{
    if (ek_work_is_over(run->options->work))
        run->error = EK_E_CANCELED;
    if (ek_arena_exhausted(run->arena))
        run->error = EK_E_LIMIT;
    return run->error || run->pending || run->status.code;
}

static void evaluate(struct ek_scope *scope, const struct ek_expression *e, uint64_t *budget,
                     struct ek_evaluation *ret)
{
    ek_scope_evaluate(scope, e, budget, ret);
    if (ret->error && !e->program)
        ret->error = ek_arena_printf(scope->run->arena, "compilation error: %s", ret->error);
}

static struct decision failure(const char *message)
{
    return (struct decision){.fails = true, .error = true, .message = message, .reason = ""};
}

/* The text of a validation that is false: of its messageExpression, else its message. */
static const char *message_of(struct ek_run *run, const struct ek_policy_validation *validation,
                              const struct ek_evaluation *message)
{
    const struct ek_cel_val *value = &message->value;

    if (!message->error && value->kind == EK_CEL_STRING) {
        const char *text = trimmed(run, value->s, value->n);
        if (*text && strlen(text) <= MESSAGE_MAX && !strchr(text, '\n'))
            return text;
    }
    if (*validation->message)
        return validation->message;
    return ek_arena_printf(
        run->arena, "failed expression: %s",
        trimmed(run, validation->expression.text, strlen(validation->expression.text)));
}

/* All messages, before it is known which are wanted: they share what the validations have left of
 * the budget. Returns why no more were evaluated, or NULL. */
static const char *evaluate_messages(struct ek_run *run, const struct ek_invocation *invocation,
                                     yyjson_val *object, yyjson_val *namespace_object,
                                     uint64_t *budget, struct ek_evaluation *messages)
{
    const struct ek_policy *policy = invocation->bound->policy;
    struct ek_scope scope;

    ek_scope_init(&scope, run, invocation, object, namespace_object);
    for (size_t i = 0; i < policy->n_validations && !is_over(run); i++) {
        messages[i] = (struct ek_evaluation){.value = ek_cel_null()};
        if (!*policy->validations[i].message_expression.text)
            continue;
        evaluate(&scope, &policy->validations[i].message_expression, budget, &messages[i]);
        if (messages[i].ends)
            return messages[i].error;
    }
    return NULL;
}

static void decide(struct ek_run *run, const struct ek_policy_validation *validation,
                   const struct ek_evaluation *result, const struct ek_evaluation *message,
                   const char *no_messages, struct decision *ret)
{
    *ret = (struct decision){.message = NULL};
    if (result->error)
        *ret = failure(result->error);
    else if (no_messages)
        *ret = failure(ek_arena_printf(run->arena, "failed messageExpression: %s", no_messages));
    else if (result->value.kind != EK_CEL_BOOL || !result->value.b)
        *ret = (struct decision){.fails = true,
                                 .message = message_of(run, validation, message),
                                 .reason = validation->reason};
}

/* Returns why the policy as a whole fails, or NULL with the decisions filled. */
static const char *decide_all(struct ek_run *run, const struct ek_invocation *invocation,
                              yyjson_val *object, yyjson_val *namespace_object,
                              struct decision *decisions)
{
    const struct ek_policy *policy = invocation->bound->policy;
    size_t n = policy->n_validations;
    struct ek_evaluation *results = ek_arena_alloc(run->arena, (2 * n + 1) * sizeof *results);
    uint64_t budget = EK_CEL_MUTATION_BUDGET;
    struct ek_scope scope;

    ek_scope_init(&scope, run, invocation, object, namespace_object);
    for (size_t i = 0; i < n && !is_over(run); i++) {
        evaluate(&scope, &policy->validations[i].expression, &budget, &results[i]);
        if (results[i].ends)
            return results[i].error;
    }
    const char *no_messages =
        evaluate_messages(run, invocation, object, namespace_object, &budget, results + n);
    for (size_t i = 0; i < n && !is_over(run); i++)
        decide(run, &policy->validations[i], &results[i], &results[n + i], no_messages,
               &decisions[i]);
    return NULL;
}

/* ---- Audit annotations ---- */

/* The same for annotations, which have a budget of their own. */
static const char *evaluate_annotations(struct ek_run *run, const struct ek_invocation *invocation,
                                        yyjson_val *object, yyjson_val *namespace_object,
                                        struct ek_evaluation *values)
{
    const struct ek_policy *policy = invocation->bound->policy;
    uint64_t budget = EK_CEL_MUTATION_BUDGET;
    struct ek_scope scope;

    ek_scope_init(&scope, run, invocation, object, namespace_object);
    for (size_t i = 0; i < policy->n_annotations && !is_over(run); i++) {
        evaluate(&scope, &policy->annotations[i].value, &budget, &values[i]);
        if (values[i].ends)
            return values[i].error;
    }
    return NULL;
}

/* A value as the audit event shows it: white space around it is dropped, the first 10 KiB count,
 * and each octet of a code point that was cut is a replacement character, as in Go's encoding/json.
 */
static const char *annotation_text(struct ek_run *run, const struct ek_cel_val *value)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const char *text = trimmed(run, value->s, value->n);
    size_t len = strlen(text), whole;

    if (len <= ANNOTATION_MAX)
        return text;
    len = ANNOTATION_MAX;
    whole = ek_utf8_cut(ek_str_from(text), len);
    char *out = ek_arena_alloc(run->arena, whole + (len - whole) * (sizeof replacement - 1) + 1);
    memcpy(out, text, whole);
    for (char *p = out + whole; whole < len; whole++, p += sizeof replacement - 1)
        memcpy(p, replacement, sizeof replacement - 1);
    return out;
}

/* Publishes the values; an error denies whatever the validationActions are. Returns whether there
 * was one. */
static bool publish(struct validating *v, const struct ek_invocation *invocation,
                    const struct ek_evaluation *values)
{
    const struct ek_policy *policy = invocation->bound->policy;
    bool failed = false;

    for (size_t i = 0; i < policy->n_annotations; i++) {
        const struct ek_evaluation *e = &values[i];
        if (e->error && policy->ignore_failures) {
            add_step(v, invocation, EK_VALIDATING_IGNORED, e->error);
        } else if (e->error) {
            deny(v, invocation->bound, "", e->error);
            add_step(v, invocation, EK_VALIDATING_DENIED, e->error);
        } else if (e->value.kind == EK_CEL_STRING) {
            const char *text = annotation_text(&v->run, &e->value);
            if (*text)
                annotate(v,
                         ek_arena_printf(v->run.arena, "%s/%s", policy->name,
                                         policy->annotations[i].key),
                         text);
        }
        failed = failed || e->error;
    }
    return failed;
}

/* ---- Invocations ---- */

static void judge(struct validating *v, const struct ek_invocation *invocation, yyjson_val *object)
{
    struct ek_run *run = &v->run;
    const struct ek_policy *policy = invocation->bound->policy;
    bool is_namespace = !*run->request->kind.group && !strcmp(run->request->kind.kind, "Namespace");
    yyjson_val *namespace_object = is_namespace ? NULL : run->namespace_object;
    struct decision *decisions =
        ek_arena_alloc(run->arena, (policy->n_validations + 1) * sizeof *decisions);
    struct ek_evaluation *values =
        ek_arena_alloc(run->arena, (policy->n_annotations + 1) * sizeof *values);
    bool failed = false;

    const char *error = decide_all(run, invocation, object, namespace_object, decisions);
    if (!error && !is_over(run))
        error = evaluate_annotations(run, invocation, object, namespace_object, values);
    if (is_over(run))
        return;
    if (error) {
        const struct decision whole = failure(error);
        act(v, invocation, 0, &whole);
        return;
    }
    for (size_t i = 0; i < policy->n_validations; i++)
        if (decisions[i].fails) {
            act(v, invocation, i, &decisions[i]);
            failed = true;
        }
    failed = publish(v, invocation, values) || failed;
    if (!failed)
        add_step(v, invocation, EK_VALIDATING_PASSED, NULL);
}

static void invoke(struct validating *v, const struct ek_invocation *invocation, yyjson_val *object)
{
    struct ek_run *run = &v->run;
    struct ek_step step = {0};

    if (!ek_work_do(run->options->work, INVOCATION_COST))
        return;
    enum ek_conditions conditions = ek_judge_conditions(run, invocation, object, &step);
    if (is_over(run))
        return;
    if (conditions == EK_CONDITIONS_FALSE) {
        add_step(v, invocation, EK_VALIDATING_SKIPPED, NULL);
    } else if (conditions == EK_CONDITIONS_FAILED) {
        const struct decision whole = failure(step.message);
        act(v, invocation, 0, &whole);
    } else {
        judge(v, invocation, object);
    }
}

/* A namespaced object without its Namespace is the error of the API server. */
static bool lacks_namespace(struct ek_run *run)
{
    if (!ek_run_lacks_namespace(run))
        return false;
    if (run->namespace_failure.code) {
        run->status = run->namespace_failure;
        run->status.http_status = 500;
        snprintf(run->status.reason, sizeof run->status.reason, "InternalError");
        return true;
    }
    ek_err_set(&run->status, EK_E_NOENT, "namespaces \"%s\" not found", run->request->namespace);
    run->status.http_status = 404;
    snprintf(run->status.reason, sizeof run->status.reason, "NotFound");
    return true;
}

/* One bound policy: its own errors of configuration come before what its invocations say. */
static void run_bound(struct validating *v, const struct ek_bound *bound)
{
    struct ek_run *run = &v->run;
    const struct ek_policy_set one = {bound, 1};
    struct ek_invocation *invocations;
    struct ek_working working;
    struct ek_views views;

    run->set = &one;
    size_t n = ek_run_invocations(run, run->request, &invocations);
    if (!is_over(run) && n && !lacks_namespace(run)) {
        ek_working_init(&working, run->request->object);
        run->error = ek_views_init(&views, run, &working, invocations, n);
        for (size_t i = 0; i < n && !is_over(run); i++)
            invoke(v, &invocations[i],
                   ek_working_object(ek_views_working(&views, &invocations[i], false)));
        ek_views_finish(&views, run);
        ek_working_done(&working);
    }
    run->set = NULL;
}

static void answer(struct validating *v, struct ek_validating_outcome *ret)
{
    struct ek_run *run = &v->run;

    cut_warnings(v);
    *ret = (struct ek_validating_outcome){.pending = run->pending,
                                          .allowed = !run->status.code && !run->n_denials,
                                          .warnings = v->warnings,
                                          .n_warnings = v->n_warnings,
                                          .annotations = join_annotations(v),
                                          .n_annotations = v->n_annotations,
                                          .steps = v->steps,
                                          .n_steps = v->n_steps};
    if (run->status.code) {
        ret->code = run->status.http_status;
        ret->reason = ek_arena_strdup(run->arena, run->status.reason);
        ret->message = ek_arena_strdup(run->arena, run->status.message);
    } else if (run->n_denials) {
        ret->reason = run->denials[0].reason;
        ret->code = code_of(ret->reason);
        ret->message = forbidden(run, run->denials[0].message);
    }
}

int ek_validating_run(const struct ek_policy_set *set, const struct ek_admission_request *request,
                      const struct ek_mutation_world *world,
                      const struct ek_engine_options *options, struct ek_arena *arena,
                      struct ek_validating_outcome *ret)
{
    struct validating v = {
        .run = {.request = request, .world = world, .options = options, .arena = arena}};

    *ret = (struct ek_validating_outcome){.allowed = true};
    if (ek_run_is_reserved(request))
        return 0;
    ek_run_find_namespace(&v.run);
    for (size_t i = 0; i < set->n && !is_over(&v.run); i++)
        if (set->bound[i].policy->validating)
            run_bound(&v, &set->bound[i]);
    if (!is_over(&v.run) || !v.run.error)
        answer(&v, ret);
    is_over(&v.run); /* the answer takes memory, too */
    ek_map_done(&v.seen);
    ek_map_done(&v.keys);
    return v.run.error;
}
