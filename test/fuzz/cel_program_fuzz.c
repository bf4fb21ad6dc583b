/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random CEL programs from a grammar: the input's octets choose productions, so that what is tried
 * is nearly always well formed and often well typed. What compiles evaluates within its bounds,
 * twice to the same value at the same cost, and its value can be shown and turned into JSON.
 */
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "api/obj.h"
#include "test/fuzz/fuzz.h"

#define TEXT_MAX    4000
#define DEPTH_MAX   9
#define ARENA_LIMIT ((size_t)4 << 20)
#define COST_LIMIT  20000

static const char world[] =
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web-7\","
    "\"labels\":{\"app\":\"web\",\"a.b/c\":\"x\"},\"when\":\"2024-03-30T06:36:32Z\"},\"spec\":{"
    "\"replicas\":3,\"paused\":false,\"ratio\":0.25,\"none\":null,\"names\":[\"b\",\"a\",\"c\"],"
    "\"ints\":[5,3,9,3,-1],\"mixed\":[1,2.5,\"s\",true,null,{\"k\":[1]}],\"nested\":[[1,2],[3],[]],"
    "\"containers\":[{\"name\":\"app\",\"image\":\"r.local:5000/app:v1\",\"memory\":\"1Gi\"},"
    "{\"name\":\"proxy\",\"image\":\"mesh\"}],\"empty\":{}}}";

/* The rest of the input, and the text that comes of it. */
struct generator {
    const uint8_t *data;
    size_t size;
    unsigned depth;
    struct ek_buf text;
};

static unsigned choose(struct generator *g, size_t n)
{
    if (!g->size)
        return 0;
    g->size--;
    return (unsigned)(*g->data++ % n);
}

static void expression(struct generator *g);

static void put(struct generator *g, const char *s)
{
    ek_buf_puts(&g->text, s);
}

#define PICK(g, list) put(g, (list)[choose(g, EK_ARRAY_SIZE(list))])

static const char *const atoms[] = {"1",
                                    "0",
                                    "-1",
                                    "2u",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551615u",
                                    "0.5",
                                    "-2.0",
                                    "1e308",
                                    "0.0/0.0",
                                    "true",
                                    "false",
                                    "null",
                                    "''",
                                    "'a'",
                                    "'web-7'",
                                    "'a,b,,c'",
                                    "'\\u00e9\\U0001F600x'",
                                    "'%s %d'",
                                    "'%e'",
                                    "b'a\\xff'",
                                    "'^a+(b|c)*$'",
                                    "'('",
                                    "'2024-02-29T12:34:56Z'",
                                    "'1h30m'",
                                    "'Europe/Berlin'",
                                    "'1.5Gi'",
                                    "'10.0.0.1'",
                                    "'::1/64'",
                                    "'1.2.3-a'",
                                    "'https://u@h:1/p?q=1#f'",
                                    "[]",
                                    "{}",
                                    "int",
                                    "dyn(1)",
                                    "dyn('a')",
                                    "object",
                                    "object.metadata.name",
                                    "object.metadata.labels",
                                    "object.spec.replicas",
                                    "object.spec.ints",
                                    "object.spec.names",
                                    "object.spec.mixed",
                                    "object.spec.nested",
                                    "object.spec.containers",
                                    "object.spec.none",
                                    "object.spec.ratio",
                                    "object.absent",
                                    "x",
                                    "y",
                                    "k",
                                    "request.name",
                                    "request.userInfo.groups",
                                    "namespaceObject.metadata.name",
                                    "timestamp('2024-02-29T12:34:56Z')",
                                    "duration('90m')",
                                    "quantity('1.5Gi')",
                                    "ip('10.0.0.1')",
                                    "cidr('10.0.0.0/8')",
                                    "semver('1.2.3')",
                                    "url('https://h/p')",
                                    "optional.none()",
                                    "format.dns1123Label()",
                                    "optional.of(1)",
                                    "Object{spec: Object.spec{a: 1}}",
                                    "JSONPatch{op: 'add', path: '/a'}"};

static const char *const operators[] = {" + ", " - ",  " * ", " / ",  " % ",  " == ", " != ",
                                        " < ", " <= ", " > ", " >= ", " && ", " || ", " in "};

static const char *const globals[] = {"size",
                                      "type",
                                      "int",
                                      "uint",
                                      "double",
                                      "string",
                                      "bytes",
                                      "bool",
                                      "dyn",
                                      "timestamp",
                                      "duration",
                                      "quantity",
                                      "isQuantity",
                                      "sign",
                                      "ip",
                                      "isIP",
                                      "ip.isCanonical",
                                      "cidr",
                                      "isCIDR",
                                      "semver",
                                      "isSemver",
                                      "url",
                                      "isURL",
                                      "optional.of",
                                      "optional.ofNonZeroValue",
                                      "optional.unwrap",
                                      "lists.range",
                                      "strings.quote",
                                      "base64.encode",
                                      "base64.decode",
                                      "math.abs",
                                      "math.ceil",
                                      "math.isNaN",
                                      "math.bitNot",
                                      "jsonpatch.escapeKey",
                                      "format.named"};

static const char *const globals_two[] = {"matches",           "sets.contains", "sets.equivalent",
                                          "sets.intersects",   "math.greatest", "math.bitAnd",
                                          "math.bitShiftLeft", "semver",        "isSemver"};

static const char *const members[] = {"size",
                                      "isSorted",
                                      "sum",
                                      "min",
                                      "max",
                                      "first",
                                      "last",
                                      "unwrapOpt",
                                      "flatten",
                                      "sort",
                                      "distinct",
                                      "reverse",
                                      "lowerAscii",
                                      "upperAscii",
                                      "trim",
                                      "join",
                                      "value",
                                      "hasValue",
                                      "getFullYear",
                                      "getMonth",
                                      "getDayOfYear",
                                      "getDayOfMonth",
                                      "getDate",
                                      "getDayOfWeek",
                                      "getHours",
                                      "getMinutes",
                                      "getSeconds",
                                      "getMilliseconds",
                                      "isInteger",
                                      "asInteger",
                                      "asApproximateFloat",
                                      "family",
                                      "isLoopback",
                                      "isGlobalUnicast",
                                      "prefixLength",
                                      "masked",
                                      "ip",
                                      "major",
                                      "getScheme",
                                      "getHost",
                                      "getHostname",
                                      "getPort",
                                      "getQuery",
                                      "getEscapedPath"};

static const char *const members_one[] = {
    "contains",   "startsWith",   "endsWith",    "matches",   "find",       "findAll",
    "charAt",     "indexOf",      "lastIndexOf", "split",     "substring",  "join",
    "format",     "add",          "sub",         "compareTo", "isLessThan", "isGreaterThan",
    "containsIP", "containsCIDR", "or",          "orValue",   "flatten",    "validate",
    "getHours",   "getDate"};

static const char *const members_two[] = {"replace", "substring",   "slice", "findAll",
                                          "indexOf", "lastIndexOf", "split"};

static const char *const macros_two[] = {"all",    "exists", "exists_one", "map",
                                         "filter", "sortBy", "optMap",     "optFlatMap"};

static const char *const macros_three[] = {"all",           "exists",       "existsOne",
                                           "transformList", "transformMap", "transformMapEntry"};

static void call(struct generator *g, bool member, const char *name, unsigned n)
{
    if (member) {
        expression(g);
        put(g, ".");
    }
    put(g, name);
    for (unsigned i = 0; i < n; i++) {
        put(g, i ? ", " : "(");
        expression(g);
    }
    put(g, n ? ")" : "()");
}

static void macro(struct generator *g)
{
    static const char *const variables[] = {"x", "y"};
    bool three = choose(g, 3) == 0;

    expression(g);
    put(g, ".");
    if (three) {
        PICK(g, macros_three);
        put(g, "(k, x, ");
    } else {
        PICK(g, macros_two);
        put(g, "(");
        PICK(g, variables);
        put(g, ", ");
    }
    expression(g);
    put(g, ")");
}

static void literal(struct generator *g, const char *open, const char *close, bool pairs)
{
    unsigned n = choose(g, 4);

    put(g, open);
    for (unsigned i = 0; i < n; i++) {
        put(g, i ? ", " : "");
        put(g, choose(g, 8) == 7 ? "?" : "");
        expression(g);
        if (pairs) {
            put(g, ": ");
            expression(g);
        }
    }
    put(g, close);
}

static void selection(struct generator *g)
{
    static const char *const tails[] = {".spec",    ".metadata", ".?spec", ".labels", ".name",
                                        ".?absent", "[0]",       "[?1]",   "['app']", "[?'a.b/c']"};
    static const char *const tests[] = {"has(object.spec)", "has(object.spec.replicas)",
                                        "has(object.absent.x)", "has(x.name)"};

    if (choose(g, 4) == 0) {
        PICK(g, tests);
        return;
    }
    expression(g);
    if (choose(g, 3) == 0) {
        put(g, "[");
        expression(g);
        put(g, "]");
    } else {
        PICK(g, tails);
    }
}

static void ternary(struct generator *g)
{
    put(g, "(");
    expression(g);
    put(g, " ? ");
    expression(g);
    put(g, " : ");
    expression(g);
    put(g, ")");
}

static void object(struct generator *g)
{
    static const char *const heads[] = {"Object{spec: ", "Object.spec{a: ", "Object{?metadata: ",
                                        "JSONPatch{op: 'add', value: ", "cel.bind(x, 1, "};
    unsigned head = choose(g, EK_ARRAY_SIZE(heads));

    put(g, heads[head]);
    expression(g);
    put(g, head == 4 ? ")" : "}");
}

static void production(struct generator *g)
{
    switch (choose(g, 12)) {
    case 0:
    case 1:
        put(g, "(");
        expression(g);
        PICK(g, operators);
        expression(g);
        put(g, ")");
        break;
    case 2:
        put(g, choose(g, 2) ? "!" : "-");
        expression(g);
        break;
    case 3:
        call(g, false, globals[choose(g, EK_ARRAY_SIZE(globals))], 1);
        break;
    case 4:
        call(g, false, globals_two[choose(g, EK_ARRAY_SIZE(globals_two))], 2);
        break;
    case 5:
        call(g, true, members[choose(g, EK_ARRAY_SIZE(members))], 0);
        break;
    case 6:
        call(g, true, members_one[choose(g, EK_ARRAY_SIZE(members_one))], 1);
        break;
    case 7:
        call(g, true, members_two[choose(g, EK_ARRAY_SIZE(members_two))], 2);
        break;
    case 8:
        macro(g);
        break;
    case 9:
        choose(g, 2) ? literal(g, "[", "]", false) : literal(g, "{", "}", true);
        break;
    case 10:
        choose(g, 2) ? ternary(g) : object(g);
        break;
    default:
        selection(g);
        break;
    }
}

static void expression(struct generator *g)
{
    if (g->depth == DEPTH_MAX || !g->size || choose(g, 3) == 0) {
        PICK(g, atoms);
        return;
    }
    g->depth++;
    production(g);
    g->depth--;
}

/* ---- What must hold ---- */

static struct ek_cel_env *make_env(const uint8_t *choice)
{
    static const char *const declared[][2] = {{"object", "dyn"},
                                              {"oldObject", "dyn"},
                                              {"request", "kubernetes.AdmissionRequest"},
                                              {"namespaceObject", "kubernetes.Namespace"},
                                              {"x", "dyn"}};
    enum ek_cel_env_set set = choice[0] % 3;
    struct ek_cel_env *env = ek_cel_env_new(
        &(struct ek_cel_env_options){.set = set,
                                     .mode = choice[0] & 64 ? EK_CEL_NEW : EK_CEL_STORED,
                                     .compat_minor = EK_CEL_COMPAT_MIN + choice[1] % 14,
                                     .no_check = set == EK_CEL_ENV_STANDARD && (choice[0] & 128)},
        NULL);

    for (size_t i = 0; env && i < EK_ARRAY_SIZE(declared); i++)
        ek_cel_env_declare(env, declared[i][0], declared[i][1], NULL);
    return env;
}

static void show(const struct ek_cel_val *value, struct ek_buf *out)
{
    yyjson_mut_doc *doc = ek_json_doc_new();

    ek_buf_reset(out);
    if (value->kind == EK_CEL_ERROR)
        ek_buf_puts(out, value->fault->message);
    else
        ek_cel_format(value, out);
    for (int rules = 0; value->kind != EK_CEL_ERROR && rules < 3; rules++)
        ek_cel_to_json(value, (enum ek_cel_json_rules)rules, doc, NULL, NULL);
    yyjson_mut_doc_free(doc);
}

static void evaluate(const struct ek_cel_program *program, yyjson_val *root)
{
    const struct ek_cel_val vars[] = {ek_cel_from_json(root), ek_cel_null(), ek_cel_from_json(root),
                                      ek_cel_null(), ek_cel_int(1)};
    struct ek_buf first, second;
    uint64_t cost = 0;

    ek_buf_init(&first, (size_t)16 << 20);
    ek_buf_init(&second, (size_t)16 << 20);
    for (int i = 0; i < 2; i++) {
        struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
        struct ek_cel_result result;
        bool ok =
            ek_cel_eval(program, vars, arena, &(struct ek_cel_limits){.cost = COST_LIMIT}, &result);
        fuzz_require(ok == (result.value.kind != EK_CEL_ERROR));
        fuzz_require(!ok || result.cost <= COST_LIMIT);
        fuzz_require(!ek_arena_exhausted(arena));
        show(&result.value, i ? &second : &first);
        fuzz_require(i == 0 || cost == result.cost);
        cost = result.cost;
        ek_arena_free(arena);
    }
    fuzz_require(first.len == second.len && !strcmp(ek_buf_str(&first), ek_buf_str(&second)));
    ek_buf_done(&first);
    ek_buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    struct generator g = {.data = data + 2, .size = size - 2};
    struct ek_cel_env *env = make_env(data);
    yyjson_doc *doc = ek_json_parse(world, sizeof world - 1, NULL);
    EK_AUTO(ek_cel_issues) issues = {0};

    ek_buf_init(&g.text, TEXT_MAX);
    expression(&g);
    fuzz_require(env && doc);
    struct ek_cel_program *program =
        ek_cel_compile(env, ek_buf_str(&g.text), g.text.len, NULL, &issues);
    fuzz_require(program || issues.len > 0);
    if (program)
        evaluate(program, yyjson_doc_get_root(doc));
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    yyjson_doc_free(doc);
    ek_buf_done(&g.text);
    return 0;
}
