/* SPDX-License-Identifier: Apache-2.0 */
/* Admission webhooks: which ones a write concerns, their reviews, the effect of their answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/patch.h"
#include "test/apiserver/server-internal.h"

#define TIMEOUT_DEFAULT 10
#define TIMEOUT_MAX     30

/* A write as the webhooks of one phase see it. */
struct scene {
    struct ek_ask *call;
    struct ek_write *write;
    bool mutating;
    const char *operation, *space; /* space: of the object, "" for none */
    char *object, *old_object;     /* as JSON; NULL where there is none */
};

static const char *text_or(yyjson_val *value, const char *fallback)
{
    return yyjson_is_str(value) ? yyjson_get_str(value) : fallback;
}

/* --- does it concern the webhook --- */

static bool has_text(yyjson_val *list, const char *text)
{
    size_t index, max;
    yyjson_val *item;

    yyjson_arr_foreach(list, index, max, item)
    {
        if (yyjson_equals_str(item, "*") || yyjson_equals_str(item, text))
            return true;
    }
    return false;
}

/* A rule names a resource, or one and a subresource; a star stands for any, but without a second
 * part there is no subresource in it. */
static bool has_resource(yyjson_val *list, const char *plural, const char *subresource)
{
    size_t index, max;
    yyjson_val *item;

    yyjson_arr_foreach(list, index, max, item)
    {
        const char *rule = text_or(item, "");
        size_t len = strcspn(rule, "/");
        const char *sub = rule[len] ? rule + len + 1 : "";
        bool named = (len == 1 && *rule == '*') ||
                     (len == strlen(plural) && strncmp(rule, plural, len) == 0);
        if (named && (strcmp(sub, "*") == 0 || strcmp(sub, subresource) == 0))
            return true;
    }
    return false;
}

static bool rules_match(const struct scene *scene, yyjson_val *rules)
{
    const struct ek_kind *kind = scene->call->kind;
    const char *is = kind->flags & EK_KIND_NAMESPACED ? "Namespaced" : "Cluster";
    size_t index, max;
    yyjson_val *rule;

    yyjson_arr_foreach(rules, index, max, rule)
    {
        const char *scope = text_or(yyjson_obj_get(rule, "scope"), "*");
        if (has_text(yyjson_obj_get(rule, "operations"), scene->operation) &&
            has_text(yyjson_obj_get(rule, "apiGroups"), kind->group) &&
            has_text(yyjson_obj_get(rule, "apiVersions"), kind->version) &&
            has_resource(yyjson_obj_get(rule, "resources"), kind->plural,
                         scene->call->subresource) &&
            (strcmp(scope, "*") == 0 || strcmp(scope, is) == 0))
            return true;
    }
    return false;
}

/* Whether one of two objects (JSON, may be NULL) has labels that an optional selector selects. A
 * selector that cannot be read selects all: better one question too many. */
static bool labels_match(yyjson_val *label_selector, const char *a, const char *b)
{
    EK_AUTOPTR(ek_selector, ek_selector_free) *selector = NULL;
    const char *texts[] = {a, b};
    bool matches = false;

    if (!label_selector || ek_selector_from_json(label_selector, &selector, NULL) < 0)
        return true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(texts) && !matches; i++) {
        yyjson_doc *doc = texts[i] ? yyjson_read(texts[i], strlen(texts[i]), 0) : NULL;
        matches = doc && ek_selector_matches(selector, ek_json_get(yyjson_doc_get_root(doc),
                                                                   "metadata", "labels", NULL));
        yyjson_doc_free(doc);
    }
    return matches;
}

static bool namespace_matches(const struct scene *scene, yyjson_val *selector)
{
    const struct ek_ask *call = scene->call;
    const struct ek_kind *spaces = ek_kinds_find(&call->server->kinds, "", "v1", "namespaces");

    if (call->kind == spaces)
        return labels_match(selector, scene->object, scene->object ? NULL : scene->old_object);
    if (!(call->kind->flags & EK_KIND_NAMESPACED))
        return true;
    const struct ek_mvcc_value *space =
        ek_mvcc_get(call->server->store, spaces->storage, scene->space);
    return labels_match(selector, space ? space->json : NULL, NULL);
}

static bool concerns(const struct scene *scene, yyjson_val *hook)
{
    return rules_match(scene, yyjson_obj_get(hook, "rules")) &&
           namespace_matches(scene, yyjson_obj_get(hook, "namespaceSelector")) &&
           labels_match(yyjson_obj_get(hook, "objectSelector"), scene->object, scene->old_object);
}

/* --- the question --- */

/* The object as clients of its version see it, owned. */
static char *show(const struct scene *scene, yyjson_mut_val *root)
{
    struct ek_write *write = scene->write;
    const struct ek_render render = {.kind = scene->call->kind, .now_ms = scene->call->now_ms};
    struct ek_mvcc_value *value =
        ek_write_encode(write->doc, root, write->stored ? write->stored->rv : 0);
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_REPLY_MAX);
    ek_render_object(&render, value, 0, &out);
    ek_mvcc_value_unref(value);
    return ek_buf_steal(&out);
}

static void put_options(const struct scene *scene, struct ek_buf *out)
{
    const char *manager = ek_ask_param(scene->call, "fieldManager");

    ek_buf_printf(out, "{\"kind\":\"%c%sOptions\",\"apiVersion\":\"meta.k8s.io/v1\"",
                  *scene->operation,
                  *scene->operation == 'C'   ? "reate"
                  : *scene->operation == 'U' ? "pdate"
                                             : "elete");
    if (scene->write->dry_run)
        ek_buf_puts(out, ",\"dryRun\":[\"All\"]");
    if (*manager && *scene->operation != 'D') {
        ek_buf_puts(out, ",\"fieldManager\":");
        ek_json_quote(out, manager);
    }
    ek_buf_puts(out, "}");
}

/* The members of an AdmissionRequest but for its uid, owned. */
static char *review_of(const struct scene *scene)
{
    const struct ek_ask *call = scene->call;
    const struct ek_kind *kind = call->kind;
    yyjson_mut_val *root = scene->write->root ? scene->write->root : scene->write->before;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_REPLY_MAX);
    for (int i = 0; i < 2; i++)
        ek_buf_printf(&out,
                      "\"%s\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"},"
                      "\"%s\":{\"group\":\"%s\",\"version\":\"%s\",\"resource\":\"%s\"},",
                      i ? "requestKind" : "kind", kind->group, kind->version, kind->kind,
                      i ? "requestResource" : "resource", kind->group, kind->version, kind->plural);
    if (*call->subresource)
        ek_buf_printf(&out, "\"subResource\":\"%s\",\"requestSubResource\":\"%s\",",
                      call->subresource, call->subresource);
    ek_buf_puts(&out, "\"name\":");
    ek_json_quote(&out, ek_meta_str(root, "name"));
    ek_buf_puts(&out, ",\"namespace\":");
    ek_json_quote(&out, scene->space);
    ek_buf_printf(&out, ",\"operation\":\"%s\",\"userInfo\":", scene->operation);
    ek_auth_put_user(&out, ek_ask_user(call),
                     call->token ? call->token->groups : "system:unauthenticated");
    ek_buf_printf(&out, ",\"object\":%s,\"oldObject\":%s,\"dryRun\":%s,\"options\":",
                  scene->object ? scene->object : "null",
                  scene->old_object ? scene->old_object : "null",
                  scene->write->dry_run ? "true" : "false");
    put_options(scene, &out);
    return ek_buf_steal(&out);
}

static bool may_be_called(const char *url)
{
    static const char *const begins[] = {"https://", "http://127.", "http://localhost",
                                         "http://[::1]"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(begins); i++) {
        if (strncmp(url, begins[i], strlen(begins[i])) == 0)
            return true;
    }
    return false;
}

/* A step for a webhook, owned; one that cannot be called has its error. */
static struct ek_admission_step *new_step(const struct scene *scene, yyjson_val *hook)
{
    struct ek_admission_step *step = ek_xalloc(sizeof(*step));
    yyjson_val *config = yyjson_obj_get(hook, "clientConfig");
    const char *url = text_or(yyjson_obj_get(config, "url"), NULL);
    const char *ca = text_or(yyjson_obj_get(config, "caBundle"), "");
    int64_t seconds = yyjson_get_sint(yyjson_obj_get(hook, "timeoutSeconds"));
    size_t len;

    if (seconds < 1 || seconds > TIMEOUT_MAX)
        seconds = TIMEOUT_DEFAULT;
    step->name = ek_xstrdup(text_or(yyjson_obj_get(hook, "name"), ""));
    step->review = review_of(scene);
    step->timeout_ms = seconds * 1000;
    step->url = ek_xasprintf("%s%stimeout=%llds", url ? url : "",
                             url && strchr(url, '?') ? "&" : "?", (long long)seconds);
    if (!url)
        step->error = ek_xstrdup("there is no network of services here, only url is called");
    else if (!may_be_called(url))
        step->error = ek_xstrdup("url must begin with https://, or be on loopback");
    else if (*ca && ek_base64_decode(ca, &step->ca, &len) < 0)
        step->error = ek_xstrdup("caBundle is not base64");
    return step;
}

/* --- the answer --- */

static void warn(struct ek_ask *call, yyjson_val *warnings)
{
    size_t index, max;
    yyjson_val *item;

    yyjson_arr_foreach(warnings, index, max, item)
    {
        char text[257];
        EK_AUTO(ek_buf) quoted;
        snprintf(text, sizeof(text), "%s", text_or(item, ""));
        ek_buf_init(&quoted, 4096);
        ek_json_quote(&quoted, text);
        if (*text && quoted.len < 500)
            ek_reply_header(call, "Warning", "299 - %s", ek_buf_str(&quoted));
    }
}

static void deny(const struct scene *scene, const char *name, yyjson_val *status)
{
    const char *message = text_or(yyjson_obj_get(status, "message"), "");
    const char *reason = text_or(yyjson_obj_get(status, "reason"), "");
    int code = (int)yyjson_get_sint(yyjson_obj_get(status, "code"));
    const char *why = *message ? message : reason;
    struct ek_write *write = scene->write;

    if (code < 400 || code > 599)
        code = 403;
    bool plain =
        strspn(reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == strlen(reason);
    ek_reply_failure(scene->call, code, *reason && plain ? reason : "Forbidden",
                     ek_meta_str(write->root ? write->root : write->before, "name"),
                     "admission webhook \"%s\" denied the request%s%s", name,
                     *why ? ": " : " without explanation", why);
}

static void internal_error(struct ek_ask *call, const char *text)
{
    EK_AUTO(ek_buf) details;

    ek_buf_init(&details, 65536);
    ek_buf_puts(&details, "{\"causes\":[{\"message\":");
    ek_json_quote(&details, text);
    ek_buf_puts(&details, "}]}");
    ek_reply_status(call, 500, "InternalError", ek_buf_str(&details), "Internal error occurred: %s",
                    text);
}

/* A webhook that gave no proper answer: true when its policy says to go on. */
static bool pass_over(const struct scene *scene, yyjson_val *hook, const char *name,
                      const char *why)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 8192);
    if (yyjson_equals_str(yyjson_obj_get(hook, "failurePolicy"), "Ignore"))
        return true;
    ek_buf_printf(&text, "failed calling webhook \"%s\": %s", name, why);
    internal_error(scene->call, ek_buf_str(&text));
    return false;
}

/* Writes into why what is wrong with a review; "" when nothing is. */
static void verify(const struct scene *scene, const struct ek_admission_step *step,
                   yyjson_val *review, char *why, size_t size)
{
    const char *version = text_or(yyjson_obj_get(review, "apiVersion"), "");
    const char *kind = text_or(yyjson_obj_get(review, "kind"), "");
    yyjson_val *response = yyjson_obj_get(review, "response");
    const char *uid = text_or(yyjson_obj_get(response, "uid"), "");
    const char *type = text_or(yyjson_obj_get(response, "patchType"), NULL);
    bool patched = *text_or(yyjson_obj_get(response, "patch"), "") != '\0';

    *why = '\0';
    if (strcmp(version, "admission.k8s.io/v1") != 0 || strcmp(kind, "AdmissionReview") != 0)
        snprintf(why, size,
                 "received invalid webhook response: expected webhook response of "
                 "admission.k8s.io/v1, Kind=AdmissionReview, got %.64s, Kind=%.64s",
                 version, kind);
    else if (!yyjson_is_obj(response))
        snprintf(why, size, "received invalid webhook response: webhook response was absent");
    else if (strcmp(uid, step->uid) != 0)
        snprintf(why, size,
                 "received invalid webhook response: expected response.uid=\"%s\", got \"%.64s\"",
                 step->uid, uid);
    else if (scene->mutating && patched && !type)
        snprintf(why, size,
                 "received invalid webhook response: webhook returned response.patch but not "
                 "response.patchType");
    else if (scene->mutating && patched && strcmp(type, "JSONPatch") != 0)
        snprintf(why, size,
                 "received invalid webhook response: webhook returned invalid response.patchType "
                 "of \"%.64s\"",
                 type);
}

/* Takes the patched object back into the form of the storage; who it is does not change. */
static void adopt(struct scene *scene, yyjson_mut_val *patched)
{
    static const char *const fixed[] = {"name", "namespace", "uid"};
    struct ek_write *write = scene->write;
    yyjson_mut_val *before = yyjson_mut_obj_get(write->root, "metadata");
    yyjson_mut_val *metadata = yyjson_mut_obj_get(patched, "metadata");

    yyjson_mut_obj_remove_key(patched, "kind");
    yyjson_mut_obj_remove_key(patched, "apiVersion");
    if (!yyjson_mut_is_obj(metadata)) {
        yyjson_mut_obj_remove_key(patched, "metadata");
        metadata = yyjson_mut_obj_add_obj(write->doc, patched, "metadata");
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(fixed); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(before, fixed[i]);
        yyjson_mut_obj_remove_key(metadata, fixed[i]);
        if (value)
            yyjson_mut_obj_add_val(write->doc, metadata, fixed[i],
                                   yyjson_mut_val_mut_copy(write->doc, value));
    }
    if (scene->call->kind->flags & EK_KIND_EVENTS_V1)
        ek_event_to_storage(write->doc, patched);
    write->root = patched;
    ek_free(scene->object);
    scene->object = show(scene, write->root);
}

/* Carries out a patch (base64); false when answered: it does not apply. */
static bool apply_patch(struct scene *scene, const char *text)
{
    yyjson_mut_doc *doc = scene->write->doc;
    struct ek_err err = {0};
    EK_AUTOFREE char *json = NULL;
    yyjson_mut_val *patched = NULL;
    size_t len = 0;

    if (ek_base64_decode(text, &json, &len) < 0)
        ek_err_set(&err, EK_E_PARSE, "response.patch is not base64");
    yyjson_doc *patch = json ? ek_json_parse(json, len, &err) : NULL;
    yyjson_doc *shown = yyjson_read(scene->object, strlen(scene->object), 0);
    if (patch)
        patched = ek_patch_json(doc, yyjson_val_mut_copy(doc, yyjson_doc_get_root(shown)),
                                yyjson_val_mut_copy(doc, yyjson_doc_get_root(patch)), &err);
    yyjson_doc_free(patch);
    yyjson_doc_free(shown);
    if (!yyjson_mut_is_obj(patched)) {
        internal_error(scene->call, patched ? "the patch leaves no object" : err.message);
        return false;
    }
    adopt(scene, patched);
    return true;
}

static bool judge(struct scene *scene, yyjson_val *hook, const struct ek_admission_step *step)
{
    struct ek_err err = {0};
    char why[1024] = "";
    yyjson_doc *doc = step->error ? NULL : ek_json_parse(step->answer, step->answer_len, &err);
    yyjson_val *review = yyjson_doc_get_root(doc);
    yyjson_val *response = yyjson_obj_get(review, "response");
    const char *patch = text_or(yyjson_obj_get(response, "patch"), "");
    bool goes_on = true;

    if (doc)
        verify(scene, step, review, why, sizeof(why));
    else
        snprintf(why, sizeof(why), "failed to call webhook: %.900s",
                 step->error ? step->error : err.message);
    if (*why) {
        goes_on = pass_over(scene, hook, step->name, why);
    } else {
        warn(scene->call, yyjson_obj_get(response, "warnings"));
        if (!yyjson_get_bool(yyjson_obj_get(response, "allowed"))) {
            deny(scene, step->name, yyjson_obj_get(response, "status"));
            goes_on = false;
        } else if (scene->mutating && scene->object && *patch) {
            goes_on = apply_patch(scene, patch);
        }
    }
    yyjson_doc_free(doc);
    return goes_on;
}

/* --- all of them --- */

static bool consult(struct scene *scene, yyjson_val *hook)
{
    struct ek_err err = {0};

    if (!concerns(scene, hook))
        return true;
    EK_AUTOFREE char *review = review_of(scene);
    int matches = ek_match_conditions(yyjson_obj_get(hook, "matchConditions"), review, &err);
    if (matches < 0)
        return pass_over(scene, hook, text_or(yyjson_obj_get(hook, "name"), ""), err.message);
    if (matches == 0)
        return true;
    struct ek_admission_step *step = new_step(scene, hook);
    const struct ek_admission_step *said = ek_admission_ask(scene->call->request->admission, &step);
    bool goes_on = said && judge(scene, hook, said);
    ek_admission_step_free(step);
    return goes_on;
}

/* In the order of the configurations' names, which is that of the storage. */
static bool consult_all(struct scene *scene, const struct ek_kind *configs)
{
    struct ek_mvcc *store = scene->call->server->store;
    struct ek_mvcc_iter iter;
    struct ek_mvcc_value *value;
    const char *key;
    bool goes_on = true;

    ek_mvcc_seek(store, configs->storage, "", ek_mvcc_rv(store), &iter);
    while (goes_on && (value = ek_mvcc_next(&iter, &key)) != NULL) {
        yyjson_doc *doc = yyjson_read(value->json, value->len, 0);
        size_t index, max;
        yyjson_val *hook;
        yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "webhooks"), index, max, hook)
        {
            goes_on = goes_on && consult(scene, hook);
        }
        yyjson_doc_free(doc);
    }
    return goes_on;
}

bool ek_admit(struct ek_ask *call, struct ek_write *write, bool mutating)
{
    static const char group[] = "admissionregistration.k8s.io";
    const struct ek_kind *configs = ek_kinds_find(&call->server->kinds, group, "v1",
                                                  mutating ? "mutatingwebhookconfigurations"
                                                           : "validatingwebhookconfigurations");
    struct scene scene = {.call = call, .write = write, .mutating = mutating};

    /* Configurations are no webhook's business: a wrong one could not be put right. */
    if (!call->request->admission || ek_mvcc_count(call->server->store, configs->storage) == 0 ||
        (strcmp(call->kind->group, group) == 0 && strstr(call->kind->plural, "webhook")))
        return true;
    scene.operation = !write->root ? "DELETE" : write->before ? "UPDATE" : "CREATE";
    scene.space = ek_meta_str(write->root ? write->root : write->before, "namespace");
    scene.object = write->root ? show(&scene, write->root) : NULL;
    scene.old_object = write->before ? show(&scene, write->before) : NULL;
    bool admitted = consult_all(&scene, configs);
    ek_free(scene.object);
    ek_free(scene.old_object);
    return admitted;
}
