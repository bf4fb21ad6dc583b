/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery, gates and readiness of a server under rehearsal. */
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/line.h"
#include "api/obj.h"
#include "api/promtext.h"
#include "controller/rehearse/survey.h"

#define GATES_METRIC "kubernetes_feature_enabled"

/* ---- Discovery ---- */

static void read_list(struct ek_rehearse_survey *s, const char *path)
{
    struct ek_err err = {0};
    yyjson_doc *doc =
        ek_rehearse_ask_one(s->ask, s->client, &(struct ek_request){.path = path}, &err);

    if (!doc || !ek_rehearse_view_add(s->view, yyjson_doc_get_root(doc)))
        ek_rehearse_report_add(s->report, s->step, EK_REHEARSE_UNKNOWN, "not-discovered", path,
                               doc ? "the answer is no list of resources" : err.message);
    yyjson_doc_free(doc);
}

static void read_groups(struct ek_rehearse_survey *s)
{
    struct ek_err err = {0};
    yyjson_doc *doc =
        ek_rehearse_ask_one(s->ask, s->client, &(struct ek_request){.path = "/apis"}, &err);
    yyjson_val *group, *version;
    size_t i, n, k, m;

    if (!doc)
        ek_rehearse_report_add(s->report, s->step, EK_REHEARSE_UNKNOWN, "not-discovered", "/apis",
                               err.message);
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "groups"), i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(group, "versions"), k, m, version)
        {
            const char *gv = ek_json_text(version, "groupVersion");
            EK_AUTO(ek_buf) path;
            ek_buf_init(&path, EK_BUF_SMALL_MAX);
            ek_buf_puts(&path, "/apis/");
            for (const char *p = gv; *p; p++) /* "group/version" of a server that is not trusted */
                ek_buf_printf(&path, "%c", *p > ' ' && *p < 127 && !strchr("?#%", *p) ? *p : '_');
            if (!path.failed && ek_map_get(s->remote, ek_buf_str(&path) + 1))
                ek_rehearse_report_add(s->report, s->step, EK_REHEARSE_UNKNOWN, "aggregated", gv,
                                       "another API server serves this version: not shown");
            else if (*gv && !path.failed)
                read_list(s, ek_buf_str(&path));
        }
    }
    yyjson_doc_free(doc);
}

/* apiserver/pkg/endpoints/discovery/storageversionhash.go:StorageVersionHash */
static bool hash_is(const struct ek_rehearse_type *type, const char *version)
{
    EK_AUTOFREE char *text = ek_xasprintf("%s/%s/%s", type->group, version, type->kind);
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char base64[EK_BASE64_LEN(8) + 1];

    SHA256((const unsigned char *)text, strlen(text), digest);
    ek_base64_write(digest, 8, base64);
    base64[sizeof base64 - 1] = '\0';
    return !strcmp(base64, type->hash);
}

static const char *stored_as(const struct ek_rehearse_view *view,
                             const struct ek_rehearse_type *type)
{
    static const char *const versions[] = {"v1",       "v2",       "v1beta1", "v1beta2",
                                           "v1beta3",  "v2beta1",  "v2beta2", "v1alpha1",
                                           "v1alpha2", "v1alpha3", "v2alpha1"};
    const char *found = hash_is(type, type->version) ? type->version : NULL;

    for (size_t i = 0; i < EK_ARRAY_SIZE(versions) && !found; i++)
        if (hash_is(type, versions[i]))
            found = versions[i];
    if (!found)
        return "";
    return ek_arena_printf(view->arena, "%s%s%s", type->group, *type->group ? "/" : "", found);
}

/* ---- Gates ---- */

static void on_sample(void *ctx, const struct ek_prom_sample *sample)
{
    struct ek_rehearse_view *view = ctx;

    ek_rehearse_view_gate(view, ek_prom_label(sample, "name"), sample->value != 0);
}

struct page {
    struct ek_rehearse_survey *survey;
    bool done;
    struct ek_arena *arena;
    const char *text; /* of checks that fail */
};

static void on_metrics(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    static const char *const wanted[] = {GATES_METRIC, NULL};
    struct page *page = ctx;
    EK_AUTO(ek_promtext) reader;

    page->done = true;
    ek_promtext_init(&reader, wanted, on_sample, page->survey->view);
    if (!err) {
        ek_promtext_feed(&reader, response->body.p, response->body.len);
        ek_promtext_finish(&reader);
    }
}

static void wait_page(struct page *page, const char *path, ek_response_fn fn)
{
    struct ek_rehearse_survey *s = page->survey;

    ek_rehearse_ask_send(s->ask, s->client, &(struct ek_request){.path = path, .accept = "*/*"}, fn,
                         page);
    while (!page->done)
        ek_rehearse_ask_turn(s->ask);
}

void ek_rehearse_survey_types(struct ek_rehearse_survey *survey)
{
    read_list(survey, "/api/v1");
    read_groups(survey);
    if (survey->view->beyond) {
        char message[64];
        snprintf(message, sizeof message, "%zu resources are beyond the limit of %d",
                 survey->view->beyond, EK_REHEARSE_TYPES_MAX);
        ek_rehearse_report_add(survey->report, survey->step, EK_REHEARSE_UNKNOWN, "not-discovered",
                               "/apis", message);
    }
    ek_rehearse_view_sort(survey->view);
}

void ek_rehearse_survey_view(struct ek_rehearse_survey *survey)
{
    struct page page = {.survey = survey};

    ek_rehearse_survey_types(survey);
    wait_page(&page, "/metrics", on_metrics);
    ek_rehearse_view_sort(survey->view);
    for (size_t i = 0; i < survey->view->n_types; i++)
        if (*survey->view->types[i].hash)
            survey->view->types[i].stored = stored_as(survey->view, &survey->view->types[i]);
}

/* ---- Readiness ---- */

/* "[-]poststarthook/rbac failed: reason withheld" of each check that fails. */
static void on_readyz(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct page *page = ctx;
    const char *p = response->body.p, *end = p + response->body.len;
    EK_AUTO(ek_buf) out;

    (void)err;
    page->done = true;
    ek_buf_init(&out, EK_REHEARSE_MESSAGE_MAX);
    while (p && p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((eol ? eol : end) - p);
        if (len > 3 && !memcmp(p, "[-]", 3)) {
            const char *blank = memchr(p, ' ', len);
            char line[256];
            ek_line_copy(p + 3, (size_t)((blank ? blank : p + len) - p) - 3, line, sizeof line);
            ek_buf_printf(&out, "%s%s", out.len ? ", " : "", line);
        }
        p += len + 1;
    }
    page->text = ek_arena_strdup(page->arena, ek_buf_str(&out));
}

const char *ek_rehearse_survey_unready(struct ek_rehearse_survey *survey, struct ek_arena *arena)
{
    struct page page = {.survey = survey, .arena = arena, .text = ""};

    wait_page(&page, "/readyz?verbose", on_readyz);
    return page.text;
}
