/* SPDX-License-Identifier: Apache-2.0 */
/* What blocks each step of a plan, and what is to be done before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "controller/commands/plan-internal.h"

/* Texts of one step; the findings have all. */
#define TEXTS_MAX 16

#define STEP "step "

static struct ek_minor version(yyjson_mut_val *step, const char *name)
{
    const char *text = yyjson_mut_get_str(yyjson_mut_obj_get(step, name));

    return ek_minor_parse(text ? text : "");
}

/* True when an API server is at the release after the step, and was not before. A binary that does
 * not emulate brings the release as well. */
static bool reaches(yyjson_mut_val *step, struct ek_minor release)
{
    const char *component = yyjson_mut_get_str(yyjson_mut_obj_get(step, "component"));
    const char *change = yyjson_mut_get_str(yyjson_mut_obj_get(step, "change"));
    struct ek_minor to = version(step, "to");
    bool emulation = !strcmp(change, ek_upgrade_step_name(EK_UPGRADE_EMULATION));
    bool binary = !strcmp(change, ek_upgrade_step_name(EK_UPGRADE_BINARY)) &&
                  ek_minor_cmp(to, EK_STEPS_OLDEST_WAY_BACK) <= 0;

    return !strncmp(component, "kube-apiserver", strlen("kube-apiserver")) &&
           (emulation || binary) && ek_minor_cmp(release, to) <= 0 &&
           ek_minor_cmp(release, version(step, "from")) > 0;
}

/* The step that a finding is about; NULL without. */
static yyjson_mut_val *step_of(const struct ek_plan_finding *f, yyjson_mut_val *steps)
{
    yyjson_mut_val *step;
    size_t i, n;

    if (!strncmp(f->object, STEP, strlen(STEP))) {
        unsigned long number = strtoul(f->object + strlen(STEP), NULL, 10);
        return number ? yyjson_mut_arr_get(steps, number - 1) : NULL;
    }
    if (!f->since.known || strstr(f->rule, "-rollback"))
        return NULL;
    yyjson_mut_arr_foreach(steps, i, n, step)
    {
        if (reaches(step, f->since))
            return step;
    }
    return NULL;
}

static yyjson_mut_val *list_of(yyjson_mut_doc *doc, yyjson_mut_val *step, const char *name)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(step, name);

    return list ? list : yyjson_mut_obj_add_arr(doc, step, name);
}

static void count(yyjson_mut_doc *doc, yyjson_mut_val *step, const char *name)
{
    yyjson_mut_val *n = yyjson_mut_obj_get(step, name);

    if (n)
        yyjson_mut_set_uint(n, yyjson_mut_get_uint(n) + 1);
    else
        yyjson_mut_obj_add_uint(doc, step, name, 1);
}

/* Each text once. */
static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *text)
{
    yyjson_mut_val *one;
    size_t i, n;

    if (!*text || yyjson_mut_arr_size(list) == TEXTS_MAX)
        return;
    yyjson_mut_arr_foreach(list, i, n, one)
    {
        if (yyjson_mut_equals_str(one, text))
            return;
    }
    yyjson_mut_arr_add_strcpy(doc, list, text);
}

void ek_plan_add_blocks(const struct ek_plan_report *report, yyjson_mut_doc *doc,
                        yyjson_mut_val *steps)
{
    for (size_t i = 0; i < report->n && steps; i++) {
        const struct ek_plan_finding *f = &report->list[i];
        bool error = f->severity == EK_PLAN_ERROR;
        yyjson_mut_val *step = NULL;
        if (error || f->severity == EK_PLAN_UNKNOWN)
            step = step_of(f, steps);
        if (!step)
            continue;
        count(doc, step, error ? "errors" : "unknown");
        if (error)
            add_text(doc, list_of(doc, step, "blocks"), f->message);
        add_text(doc, list_of(doc, step, "first"), f->remedy);
    }
}

const char *ek_plan_blocks_of(yyjson_val *step, char *buf, size_t size)
{
    unsigned errors = (unsigned)yyjson_get_uint(yyjson_obj_get(step, "errors"));
    unsigned unknown = (unsigned)yyjson_get_uint(yyjson_obj_get(step, "unknown"));

    *buf = '\0';
    if (errors && unknown)
        snprintf(buf, size, "%u error%s, %u unknown", errors, errors == 1 ? "" : "s", unknown);
    else if (errors)
        snprintf(buf, size, "%u error%s", errors, errors == 1 ? "" : "s");
    else if (unknown)
        snprintf(buf, size, "%u unknown", unknown);
    return buf;
}

const char *ek_plan_first_of(yyjson_val *step, char *buf, size_t size)
{
    yyjson_val *list = yyjson_obj_get(step, "first");
    unsigned n = (unsigned)yyjson_arr_size(list);

    *buf = '\0';
    if (n > 1)
        snprintf(buf, size, "%s (and %u more)", yyjson_get_str(yyjson_arr_get_first(list)), n - 1);
    else if (n)
        snprintf(buf, size, "%s", yyjson_get_str(yyjson_arr_get_first(list)));
    return buf;
}
