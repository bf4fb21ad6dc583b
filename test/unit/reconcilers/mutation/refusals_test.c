/* SPDX-License-Identifier: Apache-2.0 */
/* Which API servers refuse a policy as a new one. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/refusals.h"
#include "test/support/suite.h"

#define SERVERS_MAX 4

/* Servers as NAME:BINARY[/EMULATION[/COMPAT]], minor versions, a letter each for NAME. "~" before
 * the name: the server is not live; BINARY "?": it was never probed. */
static const struct {
    const char *name, *servers, *expression;
    const char *minors, *refused; /* "a:35 b:34", "b" */
    int needs;
} rows[] = {
    {"no server", "", "Object{}", "", "", 0},
    {"what all know", "a:36", "Object{}", "a:35", "", 0},
    {"older servers have the version before theirs", "a:26 b:31", "Object{}", "a:25 b:30", "", 0},
    {"emulation counts", "a:36/34", "Object{}", "a:33", "", 0},
    {"the reported version counts", "a:36/36/33", "Object{}", "a:33", "", 0},
    {"too old to be known", "a:22", "Object{}", "", "", 0},
    {"newer than all that is known", "a:40", "Object{}", "a:36", "", 0},
    {"not live", "~a:30 b:36", "Object{}", "b:35", "", 0},
    {"never probed", "a:? b:36", "Object{}", "b:35", "", 0},
    {"one of two refuses", "a:35 b:34",
     "Object{metadata: Object.metadata{name: [3, 1].sort()[0] == 1 ? 'a' : 'b'}}", "a:34 b:33", "b",
     34},
    {"both refuse", "a:34/34/33 b:33",
     "Object{metadata: Object.metadata{name: [3, 1].sort()[0] == 1 ? 'a' : 'b'}}", "a:33 b:32",
     "a b", 34},
};

struct world {
    struct ek_probe *probes[SERVERS_MAX];
    struct ek_peer peers[SERVERS_MAX];
    char names[SERVERS_MAX][2];
    size_t n;
};

/* "36" or "/36"; unknown at the end of a server. */
static struct ek_minor take_minor(const char **p)
{
    char *end;

    if (!**p || **p == ' ')
        return EK_MINOR_UNKNOWN;
    unsigned long minor = strtoul(*p + (**p == '/'), &end, 10);
    *p = end;
    return EK_MINOR(1, minor);
}

static void make_servers(struct world *w, const char *text)
{
    for (const char *p = text; *p; p += *p == ' ') {
        bool live = *p != '~';
        p += !live;
        size_t i = w->n++;
        w->names[i][0] = *p;
        p += 2;
        w->peers[i] = (struct ek_peer){.name = w->names[i], .live = live};
        if (*p != '?') {
            w->peers[i].probe = w->probes[i] = ek_probe_new();
            w->probes[i]->binary = take_minor(&p);
            w->probes[i]->emulation = take_minor(&p);
            w->probes[i]->min_compat = take_minor(&p);
        }
        p += strcspn(p, " ");
    }
}

static struct ek_obj *make_policy(const char *expression)
{
    struct ek_obj *obj = NULL;
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"MutatingAdmissionPolicy\","
        "\"metadata\":{\"name\":\"p\"},\"spec\":{\"reinvocationPolicy\":\"Never\","
        "\"matchConstraints\":{\"resourceRules\":[{\"operations\":[\"CREATE\"],\"apiGroups\":[\"\"]"
        ","
        "\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]}]},\"mutations\":[{\"patchType\":"
        "\"ApplyConfiguration\",\"applyConfiguration\":{\"expression\":\"%s\"}}]}}",
        expression);

    ck_assert(!ek_obj_parse(text, strlen(text), &obj, NULL));
    return obj;
}

static void check_servers(size_t i, const struct ek_refusal_servers *servers,
                          const struct ek_policy_refusal *refusal)
{
    char minors[64] = "", refused[64] = "";

    for (size_t k = 0; k < servers->n; k++) {
        const struct ek_refusal_server *s = &servers->list[k];
        snprintf(minors + strlen(minors), sizeof minors - strlen(minors), "%s%s:%d", k ? " " : "",
                 s->name, s->minor);
        if (ek_policy_is_refused(refusal, s))
            snprintf(refused + strlen(refused), sizeof refused - strlen(refused), "%s%s",
                     *refused ? " " : "", s->name);
    }
    ck_assert_msg(!strcmp(minors, rows[i].minors), "%s: %s", rows[i].name, minors);
    ck_assert_msg(!strcmp(refused, rows[i].refused), "%s: refused by %s", rows[i].name, refused);
    ck_assert_msg(refusal->needs == rows[i].needs, "%s: needs 1.%d", rows[i].name, refusal->needs);
    ck_assert_msg(!rows[i].needs == !refusal->problem, "%s: %s", rows[i].name,
                  refusal->problem ? refusal->problem : "no problem");
}

START_TEST(refusals)
{
    struct world w = {.n = 0};
    struct ek_refusal_servers servers, again;
    struct ek_policy_refusal refusal = {0};
    struct ek_obj *obj = make_policy(rows[_i].expression);

    make_servers(&w, rows[_i].servers);
    struct ek_peer_table *table = ek_peer_table_new(w.peers, w.n, true, true);
    ek_refusal_servers_read(table, &servers);
    ek_refusal_servers_read(table, &again);
    ck_assert(ek_refusal_servers_are_same(&servers, &again));
    if (again.n) {
        again.list[0].minor++;
        ck_assert(!ek_refusal_servers_are_same(&servers, &again));
    }
    ek_policy_refusal_check(obj, &servers, &refusal);
    check_servers((size_t)_i, &servers, &refusal);
    /* What is known is not compiled again. */
    const char *problem = refusal.problem;
    ek_policy_refusal_check(obj, &servers, &refusal);
    ck_assert_ptr_eq(problem, refusal.problem);
    ek_policy_refusal_done(&refusal);
    ek_refusal_servers_done(&servers);
    ek_refusal_servers_done(&again);
    ek_peer_table_free(table);
    for (size_t i = 0; i < w.n; i++)
        if (w.probes[i])
            ek_probe_unref(w.probes[i]);
    ek_obj_unref(obj);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rows");

    tcase_add_loop_test(tcase, refusals, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("policy_refusals", tcase);
}
