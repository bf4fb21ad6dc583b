/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/authorizer.h"
#include "test/support/suite.h"

#define PLENTY ((size_t)1 << 20)

/* A host that writes down each check. "get" and "list" are allowed, "err" fails, all else is
 * denied. */
struct host {
    struct ek_buf asked;
};

static void put(struct ek_buf *out, const char *name, struct ek_str s)
{
    if (s.len)
        ek_buf_printf(out, " %s=%.*s", name, (int)s.len, s.p);
}

static void put_selectors(struct ek_buf *out, const struct ek_cel_authz_attributes *a)
{
    put(out, "fields", a->field_selector);
    for (size_t i = 0; i < a->n_fields; i++)
        ek_buf_printf(out, " [%.*s%s%.*s]", (int)a->fields[i].key.len, a->fields[i].key.p,
                      a->fields[i].unequal ? "!=" : "=", (int)a->fields[i].value.len,
                      a->fields[i].value.p);
    if (a->field_selector_error)
        ek_buf_printf(out, " {%s}", a->field_selector_error);
    put(out, "labels", a->label_selector);
    if (a->label_selector_error)
        ek_buf_puts(out, " {bad labels}");
}

static bool is(struct ek_str s, const char *text)
{
    return ek_str_eq(s, ek_str_from(text));
}

static void check(void *arg, const struct ek_cel_authz_attributes *a,
                  struct ek_cel_authz_decision *ret)
{
    struct ek_buf *out = &((struct host *)arg)->asked;

    ek_buf_puts(out, out->len ? "; " : "");
    ek_buf_puts(out, a->is_resource ? "resource" : "path");
    put(out, "verb", a->verb);
    put(out, "path", a->path);
    put(out, "group", a->group);
    put(out, "resource", a->resource);
    put(out, "subresource", a->subresource);
    put(out, "namespace", a->namespace_);
    put(out, "name", a->name);
    put(out, "account-namespace", a->account_namespace);
    put(out, "account", a->account_name);
    put_selectors(out, a);
    ret->allowed = is(a->verb, "get") || is(a->verb, "list");
    ret->reason = ret->allowed ? EK_STR("by rule") : EK_STR("by no rule");
    if (is(a->verb, "err"))
        ret->error = EK_STR("webhook down");
}

static const struct {
    const char *name, *expr, *want, *asked;
} rows[] = {
    {"path", "authorizer.path('/healthz').check('get').allowed()", "true cost 350003",
     "path verb=get path=/healthz"},
    {"empty path", "authorizer.path('')", "eval: path must not be empty", ""},
    {"blank path", "authorizer.path(' \\u3000\\n')", "eval: path must not be empty", ""},
    {"resource", "authorizer.group('').resource('pods').check('get').allowed()", "true cost 350004",
     "resource verb=get resource=pods"},
    {"blank resource", "authorizer.group('').resource('\\t')", "eval: resource must not be empty",
     ""},
    {"everything",
     "authorizer.group('apps').resource('deployments').subresource('scale').namespace('prod')"
     ".name('web').check('update').allowed()",
     "false cost 350007",
     "resource verb=update group=apps resource=deployments subresource=scale namespace=prod "
     "name=web"},
    {"last one counts",
     "authorizer.group('').resource('pods').name('a').name('b').namespace('c').namespace('')"
     ".check('get').allowed()",
     "true cost 350008", "resource verb=get resource=pods name=b"},
    {"builders never change",
     "[authorizer.group('').resource('pods')].map(r, [r.name('a'), r].map(q, "
     "q.check('get').allowed()))",
     "[[true, true]] cost 700068",
     "resource verb=get resource=pods name=a; resource verb=get "
     "resource=pods"},
    {"reason", "authorizer.path('/x').check('post').reason()", "\"by no rule\" cost 350003",
     "path verb=post path=/x"},
    {"no error", "authorizer.path('/x').check('get').error()", "\"\" cost 350003",
     "path verb=get path=/x"},
    {"not errored", "authorizer.path('/x').check('get').errored()", "false cost 350003",
     "path verb=get path=/x"},
    {"error", "authorizer.path('/x').check('err').error()", "\"webhook down\" cost 350003",
     "path verb=err path=/x"},
    {"errored", "authorizer.path('/x').check('err').errored()", "true cost 350003",
     "path verb=err path=/x"},
    {"service account",
     "authorizer.serviceAccount('prod', 'ci.bot').group('').resource('pods').check('get')"
     ".allowed()",
     "true cost 350005", "resource verb=get resource=pods account-namespace=prod account=ci.bot"},
    {"service account of a service account",
     "authorizer.serviceAccount('a', 'b').serviceAccount('c', 'd').path('/x').check('get')"
     ".allowed()",
     "true cost 350005", "path verb=get path=/x account-namespace=c account=d"},
    {"bad service account", "authorizer.serviceAccount('prod', 'CI')",
     "eval: Invalid service account name", ""},
    {"bad namespace of a service account", "authorizer.serviceAccount('a.b', 'ci')",
     "eval: Invalid service account namespace", ""},
    {"both bad", "authorizer.serviceAccount('', '')", "eval: Invalid service account name", ""},
    {"request", "authorizer.requestResource.check('list').allowed()", "true cost 350002",
     "resource verb=list group=apps resource=deployments namespace=prod name=web"},
    {"request, changed",
     "authorizer.requestResource.name('').subresource('status')"
     ".check('list').allowed()",
     "true cost 350004",
     "resource verb=list group=apps resource=deployments subresource=status namespace=prod"},
    {"field selector",
     "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=n1,a!=b,c==d')"
     ".check('list').allowed()",
     "true cost 350667",
     "resource verb=list resource=pods fields=spec.nodeName=n1,a!=b,c==d [a!=b] [c=d] "
     "[spec.nodeName=n1]"},
    {"escapes in a field selector",
     "authorizer.group('').resource('pods').fieldSelector('a=x\\\\,y\\\\=z\\\\\\\\,,')"
     ".check('list').allowed()",
     "true cost 350366", "resource verb=list resource=pods fields=a=x\\,y\\=z\\\\,, [a=x,y=z\\]"},
    {"empty field selector",
     "authorizer.group('').resource('pods').fieldSelector('').check('list').allowed()",
     "true cost 350014", "resource verb=list resource=pods"},
    {"field selector without an operator",
     "authorizer.group('').resource('pods').fieldSelector('a=b,c').check('list').allowed()",
     "true cost 350165",
     "resource verb=list resource=pods fields=a=b,c {invalid selector: \"a=b,c\"; can't "
     "understand \"c\"}"},
    {"field selector with a bad escape",
     "authorizer.group('').resource('pods').fieldSelector('a=\\\\b').check('list').allowed()",
     "true cost 350115",
     "resource verb=list resource=pods fields=a=\\b {invalid field selector: invalid escape "
     "sequence in value \"\\\\b\"}"},
    {"field selector that ends in a backslash",
     "authorizer.group('').resource('pods').fieldSelector('a=\\\\').check('list').allowed()",
     "true cost 350115",
     "resource verb=list resource=pods fields=a=\\ {invalid field selector: invalid escape "
     "sequence in value \"\\\\\"}"},
    {"field selector with two values",
     "authorizer.group('').resource('pods').fieldSelector('a=b=c').check('list').allowed()",
     "true cost 350165",
     "resource verb=list resource=pods fields=a=b=c {invalid field selector: unescaped character "
     "in value \"b=c\"}"},
    {"label selector",
     "authorizer.group('').resource('pods').labelSelector('tier in (web,db)').check('list')"
     ".allowed()",
     "true cost 350416", "resource verb=list resource=pods labels=tier in (web,db)"},
    {"bad label selector",
     "authorizer.group('').resource('pods').labelSelector('((').check('list').allowed()",
     "true cost 350065", "resource verb=list resource=pods labels=(( {bad labels}"},
    {"NUL in a label selector",
     "authorizer.group('').resource('pods').labelSelector('a\\u0000').check('list').allowed()",
     "true cost 350065", "resource verb=list resource=pods labels=a {bad labels}"},
    {"two checks",
     "authorizer.path('/a').check('x').allowed() || authorizer.path('/b')"
     ".check('get').allowed()",
     "true cost 700006", "path verb=x path=/a; path verb=get path=/b"},
    {"three checks", "['/a', '/b', '/c'].all(p, authorizer.path(p).check('get').allowed())",
     "eval: operation cancelled: actual cost limit exceeded",
     "path verb=get path=/a; path verb=get path=/b; path verb=get path=/c"},
    {"equal to nothing", "authorizer == authorizer", "eval: no such overload", ""},
    {"unequal to all", "authorizer != authorizer && !(authorizer in [authorizer])", "true cost 17",
     ""},
    {"group is no question", "authorizer.group('').check('get')",
     "compile: found no matching overload for 'check'", ""},
    {"group is no question at run time", "dyn(authorizer.group('')).check('get')",
     "eval: no such overload: check(kubernetes.authorization.GroupCheck, string)", ""},
    {"types", "type(authorizer) == type(authorizer.serviceAccount('a', 'b'))", "true cost 6", ""},
    {"printed", "[dyn(authorizer), dyn(authorizer.path('/x'))]",
     "[kubernetes.authorization.Authorizer, kubernetes.authorization.PathCheck] cost 15", ""},
};

static void declare(struct ek_cel_env *env, const char *name, const char *type)
{
    struct ek_err err = {0};

    ck_assert_msg(ek_cel_env_declare(env, name, type, &err) >= 0, "%s", err.message);
}

static struct ek_cel_env *environment(void)
{
    struct ek_cel_env *env = ek_cel_env_new(&(struct ek_cel_env_options){0}, NULL);

    ck_assert_ptr_nonnull(env);
    declare(env, "authorizer", "kubernetes.authorization.Authorizer");
    declare(env, "authorizer.requestResource", "kubernetes.authorization.ResourceCheck");
    return env;
}

static void run(const char *expr, struct ek_arena *arena, struct host *host, struct ek_buf *out)
{
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_env *env = environment();
    struct ek_cel_program *program = ek_cel_compile(env, expr, strlen(expr), NULL, &issues);
    const struct ek_cel_authorizer authorizer = {.check = check, .arg = host};
    const struct ek_cel_authz_attributes request = {.group = EK_STR("apps"),
                                                    .resource = EK_STR("deployments"),
                                                    .namespace_ = EK_STR("prod"),
                                                    .name = EK_STR("web"),
                                                    .verb = EK_STR("not copied")};
    struct ek_cel_val vars[2] = {ek_cel_authorizer_val(&authorizer, arena),
                                 ek_cel_authorizer_request_val(&authorizer, &request, arena)};
    struct ek_cel_result result;

    if (!program) {
        ek_buf_printf(out, "compile: %s", issues.len ? issues.list[0].message : "");
    } else if (!ek_cel_eval(program, vars, arena,
                            &(struct ek_cel_limits){.cost = EK_CEL_PER_CALL_LIMIT}, &result)) {
        ek_buf_printf(out, "eval: %s", result.value.fault->message);
    } else {
        ek_cel_format(&result.value, out);
        ek_buf_printf(out, " cost %" PRIu64, result.cost);
    }
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
}

START_TEST(answers)
{
    struct ek_arena *arena = ek_arena_new(PLENTY);
    struct host host;
    struct ek_buf got;

    ek_buf_init(&host.asked, PLENTY);
    ek_buf_init(&got, PLENTY);
    run(rows[_i].expr, arena, &host, &got);
    ck_assert_msg(strncmp(ek_buf_str(&got), rows[_i].want, strlen(rows[_i].want)) == 0,
                  "%s: %s, not %s", rows[_i].name, ek_buf_str(&got), rows[_i].want);
    ck_assert_msg(strncmp(ek_buf_str(&host.asked), rows[_i].asked, strlen(rows[_i].asked)) == 0 &&
                      (*rows[_i].asked || !host.asked.len),
                  "%s: asked %s, not %s", rows[_i].name, ek_buf_str(&host.asked), rows[_i].asked);
    ek_buf_done(&got);
    ek_buf_done(&host.asked);
    ek_arena_free(arena);
}
END_TEST

/* With less memory than it takes, a check ends for want of it, whatever it was about to do. */
START_TEST(starved)
{
    const char *expr = "authorizer.serviceAccount('a', 'b').group('apps').resource('deployments')"
                       ".fieldSelector('a=b,c').labelSelector('((').check('err').error()";
    bool enough = false;

    for (size_t size = 1024; !enough; size += 48) {
        struct ek_arena *arena = ek_arena_new(size);
        struct host host;
        struct ek_buf got;
        ek_buf_init(&host.asked, PLENTY);
        ek_buf_init(&got, PLENTY);
        run(expr, arena, &host, &got);
        enough = !strncmp(ek_buf_str(&got), "\"webhook down\"", 14);
        ck_assert_msg(enough || strstr(ek_buf_str(&got), "memory"), "%s", ek_buf_str(&got));
        ek_buf_done(&got);
        ek_buf_done(&host.asked);
        ek_arena_free(arena);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, starved);
    return ek_test_run("cel_authz", tcase);
}
