/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/skew_plans.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "api/cond.h"
#include "reconcilers/peers/view_build.h"
#include "reconcilers/skew/plan.h"
#include "test/support/groups_fixture.h"

void ek_test_plans_init(struct ek_test_plans *p)
{
    *p = (struct ek_test_plans){.now_ms = EK_TEST_NOW};
}

void ek_test_plans_done(struct ek_test_plans *p)
{
    ek_skew_plan_done(&p->plan);
    ek_obj_unref(p->object);
    if (p->steps > 0)
        ek_test_facts_done(&p->facts);
}

/* The ControlPlane with a spec and the status of before or, if there is one, status. */
static struct ek_obj *make_object(const struct ek_test_plans *p, const char *spec,
                                  yyjson_mut_val *status)
{
    struct ek_buf json;
    struct ek_obj *object = NULL;
    struct ek_err err = {0};
    ek_buf_init(&json, 8 << 20);
    ek_buf_printf(&json,
                  "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"ControlPlane\","
                  "\"metadata\":{\"name\":\"cluster\",\"generation\":1},\"spec\":%s",
                  spec ? spec : "{}");
    yyjson_val *old = ek_test_plans_status(p);
    char *text = status ? yyjson_mut_val_write(status, 0, NULL)
                 : old  ? yyjson_val_write(old, 0, NULL)
                        : NULL;
    if (text)
        ek_buf_printf(&json, ",\"status\":%s", text);
    free(text);
    ek_buf_puts(&json, "}");
    ck_assert_msg(ek_obj_parse(ek_buf_str(&json), json.len, &object, &err) == 0, "%s", err.message);
    ek_buf_done(&json);
    return object;
}

void ek_test_plans_step(struct ek_test_plans *p, const char *facts, const char *spec)
{
    struct ek_skew_spec parsed;
    struct ek_obj *before = make_object(p, spec, NULL);
    struct ek_skew_view view = {.now_ms = p->now_ms,
                                .control_plane = before,
                                .nodes = {.available = true, .why = ""},
                                .probing_done = !p->probing,
                                .documents = p->documents};
    ek_skew_plan_done(&p->plan);
    if (p->steps++ > 0)
        ek_test_facts_done(&p->facts);
    ek_test_facts_init(&p->facts, facts);
    p->plan = (struct ek_skew_plan){0};
    ek_skew_spec_parse(before, p->facts.arena, &parsed);
    ek_skew_plan_from_facts__(&view, &p->facts.facts, &parsed, p->facts.arena, &p->plan);
    ck_assert(!ek_arena_exhausted(p->facts.arena));
    /* The plan must not need the object any more. */
    struct ek_obj *after = make_object(p, spec, p->plan.status_changed ? p->plan.status : NULL);
    ek_obj_unref(before);
    ek_obj_unref(p->object);
    p->object = after;
}

struct ek_view *ek_test_documents(const char *words)
{
    static const char json[] = "{\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{"
                               "\"version\":\"v1\",\"resources\":[]}]}]}";
    struct ek_api_groups *groups = ek_test_groups(json);
    struct ek_view_input_peer peers[8] = {0};
    struct ek_view_input input = {.peers = peers};
    char text[128];

    snprintf(text, sizeof text, "%s", words);
    for (char *rest = text, *word; (word = strsep(&rest, " ")) != NULL;) {
        char mark = *word ? word[4] : '\0';
        if (!*word)
            continue;
        word[4] = '\0';
        peers[input.n++] =
            (struct ek_view_input_peer){.peer = {.name = word,
                                                 .server_id = "",
                                                 .address = "10.0.0.1:6443",
                                                 .routable = mark == '\0',
                                                 .why_not = mark == '\0'  ? ""
                                                            : mark == '-' ? "NotReady"
                                                                          : "Unreachable",
                                                 .down = mark == '!',
                                                 .fetched_ms = EK_TIME_UNSET},
                                        .core = mark == '\0' || mark == '-' ? groups : NULL,
                                        .groups = mark == '\0' || mark == '-' ? groups : NULL};
    }
    struct ek_view *view = ek_view_build(&input);
    ek_api_groups_unref(groups);
    return view;
}

yyjson_val *ek_test_plans_status(const struct ek_test_plans *p)
{
    return p->object ? ek_json_get(ek_obj_root(p->object), "status", NULL) : NULL;
}

static yyjson_val *find(struct ek_test_plans *p, const char *type)
{
    return ek_cond_find(ek_json_get(ek_test_plans_status(p), "conditions", NULL), type);
}

const char *ek_test_plans_condition(struct ek_test_plans *p, const char *type)
{
    yyjson_val *cond = find(p, type);
    return cond ? ek_arena_printf(p->facts.arena, "%s %s", ek_json_str(cond, "status", NULL),
                                  ek_json_str(cond, "reason", NULL))
                : "";
}

const char *ek_test_plans_message(struct ek_test_plans *p, const char *type)
{
    const char *message = ek_json_str(find(p, type), "message", NULL);
    return message ? message : "";
}

const char *ek_test_plans_events(struct ek_test_plans *p)
{
    const char *text = "";
    for (size_t i = 0; i < p->plan.n_events; i++)
        text = ek_arena_printf(p->facts.arena, "%s%s%s%s", text, i ? " " : "",
                               p->plan.events[i].warning ? "!" : "", p->plan.events[i].reason);
    return text;
}
