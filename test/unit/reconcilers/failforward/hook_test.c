/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/hook.h"

#include "api/base/mem.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define CALLED                                                                                     \
    "error updating service: m: Internal error occurred: failed calling webhook "                  \
    "\"h.example.org\": failed to call webhook: connection refused"

static const struct {
    const char *name, *scene, *message;
    const char *configuration; /* NULL: none is found */
} rows[] = {
    {"the one that was called", "hook a other v1; hook b h.example.org v2", CALLED, "b"},
    {"none of OLM", "hook a g.example.org v1", CALLED, NULL},
    {"no configuration", "", CALLED, NULL},
    {"two with this name", "hook a h.example.org v1; hook b h.example.org v2", CALLED, NULL},
    {"without an owner", "hook a h.example.org -", CALLED, NULL},
    {"another failure", "hook a h.example.org v1", "connection refused", NULL},
    {"no message", "hook a h.example.org v1", NULL, NULL},
    {"an empty name", "hook a h.example.org v1", "failed calling webhook \"\": x", NULL},
    {"a name that does not end", "hook a h.example.org v1",
     "failed calling webhook \"h.example.org", NULL},
    {"a part of the name", "hook a h.example.org v1", "failed calling webhook \"h.example\": x",
     NULL},
};

START_TEST(finds)
{
    struct ek_ff_scene scene;
    struct ek_ff_hook hook;

    ek_ff_scene_init(&scene, rows[_i].scene);
    ek_ff_find_hook(&scene.world.hooks, rows[_i].message, &hook);
    ck_assert_msg(!hook.kind == !rows[_i].configuration, "%s", rows[_i].name);
    if (hook.kind) {
        ck_assert_str_eq(hook.kind, "ValidatingWebhookConfiguration");
        ck_assert_str_eq(hook.name, rows[_i].configuration);
        ck_assert_str_eq(hook.csv, "v2");
        ck_assert_str_eq(hook.namespace, "ns");
    }
    ek_ff_scene_done(&scene);
}
END_TEST

START_TEST(remedy)
{
    const struct ek_ff_hook hook = {"MutatingWebhookConfiguration", "b", "ns", "v2"};
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1024);
    ek_ff_hook_remedy(&hook, &text);
    ck_assert_ptr_nonnull(
        strstr(ek_buf_str(&text), "may be that of the MutatingWebhookConfiguration b,"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "Look whether another configuration has"));
    ck_assert_ptr_null(strstr(ek_buf_str(&text), "Delete the"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&text), "v2 in the namespace ns"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, finds, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, remedy);
    return ek_test_run("hook", tc);
}
