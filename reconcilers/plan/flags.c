/* SPDX-License-Identifier: Apache-2.0 */
/* Flags and feature gates of components in manifests: Pods, Pod templates, configurations of
 * kubeadm and of nodes. */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/peers/pod_flags.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects-internal.h"
#include "reconcilers/plan/server_args.h"
#include "reconcilers/plan/start.h"

#define SERVER "kube-apiserver"
#define GATES  "--feature-gates"

/* The flag exists since 1.35 (component-base/compatibility/registry.go:AddFlags). */
#define COMPAT_FLAG       "--min-compatibility-version"
#define COMPAT_FLAG_SINCE EK_MINOR(1, 35)

/* The first release that checks the dependencies of feature gates
 * (component-base/featuregate/feature_gate.go:AddDependencies). */
#define DEPENDENCIES_SINCE EK_MINOR(1, 35)

/* The place of the last argument with a text; NULL without. */
static const char *find_place(const struct ek_server_args *args, const char *text)
{
    const char *ret = NULL;

    for (size_t i = 0; i < args->n; i++)
        if (strstr(args->text[i], text))
            ret = args->place[i];
    return ret;
}

/* The place of the flag that a sentence is about: the argument with the gate's name, else that of
 * the flag. */
static const char *place_of(const struct ek_server_args *args, const char *gate)
{
    static const char *const flags[] = {"--emulated-version", COMPAT_FLAG};
    const char *ret = *gate ? find_place(args, gate) : NULL;

    if (!ret && *gate)
        ret = find_place(args, GATES);
    for (size_t i = 0; i < EK_ARRAY_SIZE(flags) && !ret; i++)
        ret = find_place(args, flags[i]);
    if (!ret)
        ret = find_place(args, GATES);
    return ret ? ret : args->place[0];
}

static const char *remedy_of(enum ek_component component, enum ek_feature_problem_kind kind)
{
    static const char *const texts[] = {
        [EK_FEATURE_BAD_TEXT] = "write Name=true or Name=false",
        [EK_FEATURE_UNKNOWN] = "remove the gate from --feature-gates before the upgrade",
        [EK_FEATURE_LOCKED] = "remove the gate from --feature-gates before the upgrade",
        [EK_FEATURE_TOO_NEW] = "set the gate after the emulation version was raised",
        [EK_FEATURE_DEPENDENT] = "set both gates to the same value",
    };
    bool is_node = component == EK_KUBELET || component == EK_KUBE_PROXY; /* a configuration */

    if (is_node && (kind == EK_FEATURE_UNKNOWN || kind == EK_FEATURE_LOCKED))
        return "remove the gate from featureGates before the upgrade";
    if (is_node && kind == EK_FEATURE_TOO_NEW)
        return "set the gate after the upgrade";
    return texts[kind];
}

/* What the registry of the newest binary does not have of an older one: a gate that was dropped
 * since, and dependencies that were declared since. */
static void weaken(const struct ek_plan_data *data, const struct ek_feature_problem *problem,
                   struct ek_arena *arena, struct ek_plan_finding *finding, const char *at)
{
    finding->severity = EK_PLAN_UNKNOWN;
    finding->remedy = "look the gate up in the documentation of the target";
    if (problem->kind == EK_FEATURE_UNKNOWN)
        finding->message = ek_arena_printf(arena, "%s has no feature gate %s; %s may have it",
                                           data->binary_version, problem->gate, at);
    else
        finding->message =
            ek_arena_printf(arena, "with the dependencies of %s, %s does not start: %s",
                            data->binary_version, at, problem->text);
}

bool ek_plan_gate_problem__(const struct ek_plan_data *data, enum ek_component component,
                            struct ek_minor binary, const struct ek_feature_problem *problem,
                            struct ek_arena *arena, struct ek_plan_finding *ret_finding)
{
    bool older = ek_minor_cmp(binary, data->binary) < 0;
    bool newer = ek_minor_cmp(binary, data->binary) > 0;
    bool may_change = problem->kind == EK_FEATURE_UNKNOWN || problem->kind == EK_FEATURE_DEPENDENT;
    char at[EK_MINOR_SIZE];

    /* A newer binary may have the gate, or other dependencies. A lock never opens, and a binary
     * without the gate refuses it as well. */
    if ((newer && may_change) ||
        (problem->kind == EK_FEATURE_DEPENDENT && ek_minor_cmp(binary, DEPENDENCIES_SINCE) < 0))
        return false;
    ek_minor_format(binary, at);
    *ret_finding = (struct ek_plan_finding){
        .severity = EK_PLAN_ERROR,
        .rule = "flag",
        .message = ek_arena_printf(arena, "%s %s does not start: %s", ek_component_name(component),
                                   at, problem->text),
        .remedy = remedy_of(component, problem->kind),
    };
    if (older && may_change)
        weaken(data, problem, arena, ret_finding, at);
    return true;
}

/* ---- Alpha ---- */

#define ALPHA_SHOWN 5

/* A list that shows its first names, and how many there are besides. */
struct names {
    struct ek_arena *arena;
    const char *text;
    size_t n;
};

static void add_name(struct names *names, const char *name)
{
    if (names->n++ < ALPHA_SHOWN)
        names->text =
            ek_arena_printf(names->arena, "%s%s%s", names->text, *names->text ? ", " : "", name);
}

const char *ek_plan_alpha__(const struct ek_plan_data *data, const struct ek_features *gates,
                            const bool *served, struct ek_arena *arena)
{
    struct names names = {.arena = arena, .text = ""};
    const struct ek_api_row *last = NULL;

    for (size_t i = 0; i < gates->n_raw; i++) {
        const struct ek_feature *gate =
            ek_feature_find(gates->registry, ek_str_from(gates->raw[i].name));
        if (gate && gates->raw[i].on &&
            ek_feature_spec_at(gate, gates->emulation, gates->min_compat)->stage ==
                EK_FEATURE_ALPHA)
            add_name(&names, gate->name);
    }
    for (size_t i = 0; served && i < data->n_resources; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (!served[i] || !strstr(row->version, "alpha") ||
            (last && !strcmp(last->group, row->group) && !strcmp(last->version, row->version)))
            continue;
        last = row;
        add_name(&names, ek_arena_printf(arena, "%s/%s", row->group, row->version));
    }
    return names.n <= ALPHA_SHOWN
               ? (names.n ? names.text : NULL)
               : ek_arena_printf(arena, "%s and %zu more", names.text, names.n - ALPHA_SHOWN);
}

/* ---- Command lines ---- */

/* The command line of a component in a manifest. */
struct line {
    const struct ek_plan_check *check;
    enum ek_component component;
    struct ek_server_args args;
};

/* The gates and APIs of the target, or of the nearest binary that is known. */
static const struct ek_plan_data *data_of(const struct ek_plan_check *check)
{
    return ek_plan_data_at(check->target->data, check->target->to);
}

/* Adds a problem of a gate that is set at a place. */
static void say_problem(const struct ek_plan_check *check, enum ek_component component,
                        const char *place, const struct ek_feature_problem *problem)
{
    struct ek_plan_finding f;

    if (ek_plan_gate_problem__(data_of(check), component, check->target->to, problem,
                               check->report->arena, &f))
        ek_plan_say__(check, f.severity, f.rule, place, f.message, f.remedy);
}

/* Says that the gates at place are not all known. True for a target of which some are: a gate of
 * the data stays locked in newer binaries. */
static bool knows_gates(const struct ek_plan_check *check, const char *place)
{
    const struct ek_plan_target *target = check->target;
    char at[EK_MINOR_SIZE];

    if (ek_minor_cmp(target->to, target->data->binary) <= 0 &&
        ek_minor_cmp(target->to, target->data->oldest) >= 0)
        return true;
    if (place)
        ek_plan_say__(check, EK_PLAN_UNKNOWN, "flag", place,
                      ek_arena_printf(check->report->arena, "the feature gates of %s are not known",
                                      ek_minor_format(target->to, at)),
                      "use a release of Evenkeel that knows the target");
    return ek_minor_cmp(target->to, target->data->oldest) >= 0;
}

/* The place of the first of the flags about APIs; NULL without. */
static const char *api_place(const struct ek_server_args *args)
{
    static const char *const flags[] = {"--runtime-config-emulation-forward-compatible",
                                        "--emulation-forward-compatible", "--runtime-config"};
    const char *ret = NULL;

    for (size_t i = 0; i < EK_ARRAY_SIZE(flags) && !ret; i++)
        ret = find_place(args, flags[i]);
    return ret;
}

static struct ek_api_config config_of(const struct ek_pod_api_flags *flags,
                                      const struct ek_start *start, struct ek_minor binary)
{
    return (struct ek_api_config){
        .emulation = start->emulation,
        .emulates = ek_minor_cmp(start->emulation, binary) < 0,
        .runtime_config = flags->runtime_config ? flags->runtime_config : "",
        .forward_compatible = flags->forward,
        .runtime_forward_compatible = flags->runtime_forward,
        .features = &start->gates,
        .no_fairness = flags->no_fairness,
        .no_mutating_policies = flags->no_mutating_policies,
        .authorizes_nodes = flags->authorizes_nodes,
    };
}

/* --runtime-config and the flags for forward compatibility, which the binary of the data alone is
 * known to take, and what the server reads of itself with the gates. Returns the resources that are
 * served; NULL: not known. */
static const bool *say_apis(const struct ek_plan_check *check, const struct ek_server_args *args,
                            const struct ek_start *start)
{
    const struct ek_plan_data *data = data_of(check);
    struct ek_arena *arena = check->report->arena;
    const char *place = api_place(args);
    struct ek_pod_flags flags;
    char at[EK_MINOR_SIZE];

    if (!place)
        place = find_place(args, GATES);
    if (!place || ek_minor_cmp(check->target->to, data->binary) != 0)
        return NULL;
    ek_minor_format(check->target->to, at);
    ek_pod_api_flags_read(args->text, args->n, arena, &flags);
    if (*flags.unread) {
        ek_plan_say__(
            check, EK_PLAN_UNKNOWN, "flag", place,
            ek_arena_printf(arena, "the flags about APIs cannot be read: %s", flags.unread),
            "write the flags out");
        return NULL;
    }
    const struct ek_api_config config = config_of(&flags.apis, start, check->target->to);
    bool *served = ek_arena_alloc(arena, data->n_resources + 1);
    const char *why = ek_api_served(data, &config, arena, served);
    const char *unserved = why ? NULL : ek_api_unserved(data, &config, served, arena);
    if (why || unserved)
        ek_plan_say__(check, EK_PLAN_ERROR, "flag", why ? place : place_of(args, "--feature-gates"),
                      ek_arena_printf(arena, SERVER " %s does not %s: %s", at,
                                      why ? "start" : "become ready", why ? why : unserved),
                      why ? "correct the flag with the upgrade" : EK_PLAN_UNSERVED_REMEDY);
    return why ? NULL : served;
}

static void say_alpha(const struct line *line, const struct ek_start *start, const bool *served)
{
    const struct ek_plan_target *target = line->check->target;
    struct ek_arena *arena = line->check->report->arena;
    const char *names, *place = find_place(&line->args, GATES);
    char at[EK_MINOR_SIZE], emulation[EK_MINOR_SIZE];

    if (ek_minor_cmp(start->emulation, target->to) >= 0)
        return;
    names = ek_plan_alpha__(data_of(line->check), &start->gates, served, arena);
    if (names)
        ek_plan_say__(
            line->check, EK_PLAN_WARNING, "alpha-emulated", place ? place : api_place(&line->args),
            ek_arena_printf(arena,
                            "%s %s emulates %s with alpha features, which Kubernetes does "
                            "not support: %s",
                            ek_component_name(line->component), ek_minor_format(target->to, at),
                            ek_minor_format(start->emulation, emulation), names),
            EK_PLAN_ALPHA_REMEDY);
}

static bool is_ours(const char *arg)
{
    static const char *const flags[] = {"--emulated-version", COMPAT_FLAG, GATES};

    for (size_t i = 0; i < EK_ARRAY_SIZE(flags); i++)
        if (!strncmp(arg, flags[i], strlen(flags[i])))
            return true;
    return false;
}

/* The place of a variable whose value the manifest does not have, in a flag about versions and
 * gates or in place of a flag; NULL without. */
static const char *find_variable(const struct ek_server_args *args)
{
    for (size_t i = 0; i < args->n; i++)
        if (strstr(args->text[i], "$(") && (is_ours(args->text[i]) || args->text[i][0] == '$' ||
                                            (i && is_ours(args->text[i - 1]))))
            return args->place[i];
    return NULL;
}

/* True when the binary of the data has the flag of an argument; "_" counts as "-"
 * (WordSepNormalizeFunc in component-base/cli/flag). */
static bool has_flag(yyjson_val *names, const char *arg)
{
    size_t len = strcspn(arg + 2, "="), i, n, k;
    yyjson_val *name;

    yyjson_arr_foreach(names, i, n, name)
    {
        const char *text = yyjson_get_str(name);
        for (k = 0; k < len && text[k] == (arg[2 + k] == '_' ? '-' : arg[2 + k]);)
            k++;
        if (k == len && !text[k])
            return true;
    }
    return false;
}

/* Flags that the binary of the data does not have. */
static void say_flags(const struct line *line)
{
    const struct ek_plan_check *check = line->check;
    const struct ek_plan_data *data = data_of(check);
    const char *name = ek_component_name(line->component);
    yyjson_val *names = yyjson_obj_get(data->flags, name);
    bool same = ek_minor_cmp(check->target->to, data->binary) == 0;
    struct ek_arena *arena = check->report->arena;
    char at[EK_MINOR_SIZE];

    ek_minor_format(check->target->to, at);
    for (size_t i = 0; names && i < line->args.n; i++) {
        const char *arg = line->args.text[i];
        int len = (int)strcspn(arg, "=");
        if (!strcmp(arg, "--"))
            return;
        if (strncmp(arg, "--", 2) != 0 || memmem(arg, (size_t)len, "$(", 2) || has_flag(names, arg))
            continue;
        ek_plan_say__(check, same ? EK_PLAN_ERROR : EK_PLAN_UNKNOWN, "flag", line->args.place[i],
                      same ? ek_arena_printf(arena, "%s %s does not start: unknown flag: %.*s",
                                             name, at, len, arg)
                           : ek_arena_printf(arena, "%s %s has no flag %.*s; %s may have it", name,
                                             data->binary_version, len, arg, at),
                      same ? "remove the flag before the upgrade"
                           : "look the flag up in the documentation of the target");
    }
}

/* ---- The way back ---- */

static void say_back(const struct line *line, const char *place, const char *why)
{
    const struct ek_plan_target *target = line->check->target;
    char back[EK_MINOR_SIZE];

    ek_plan_say__(line->check, EK_PLAN_WARNING, "flag-rollback", place,
                  ek_arena_printf(
                      line->check->report->arena,
                      "after a way back to the emulation version %s, %s does not start: "
                      "%s",
                      ek_minor_format(target->from, back), ek_component_name(line->component), why),
                  EK_PLAN_BACK_REMEDY);
}

static void say_apis_back(const struct line *line, const struct ek_start *back)
{
    const struct ek_plan_check *check = line->check;
    const struct ek_server_args *args = &line->args;
    const struct ek_plan_data *data = data_of(check);
    struct ek_arena *arena = check->report->arena;
    bool *served = ek_arena_alloc(arena, data->n_resources + 1);
    struct ek_pod_flags flags;
    char from[EK_MINOR_SIZE], to[EK_MINOR_SIZE];

    ek_pod_api_flags_read(args->text, args->n, arena, &flags);
    if (*flags.unread || ek_minor_cmp(check->target->to, data->binary) != 0)
        return;
    const struct ek_api_config config = config_of(&flags.apis, back, check->target->to);
    const char *why = ek_api_served(data, &config, arena, served);
    const char *unserved = why ? NULL : ek_api_unserved(data, &config, served, arena);
    if (why && api_place(args))
        say_back(line, api_place(args), why);
    if (unserved)
        ek_plan_say__(check, EK_PLAN_ERROR, "flag", place_of(args, GATES),
                      ek_arena_printf(arena,
                                      SERVER " %s that emulates %s, as after the step of its "
                                             "binary, does not become ready: %s",
                                      ek_minor_format(check->target->to, to),
                                      ek_minor_format(back->emulation, from), unserved),
                      EK_PLAN_UNSERVED_REMEDY);
}

/* What the component refuses of its flags, which the target takes, when it emulates the version
 * before the upgrade: after a way back, and, where the version before takes the flags as well, on
 * the way. */
static void check_back(const struct line *line, const struct ek_start *start)
{
    const struct ek_plan_target *target = line->check->target;
    const struct ek_plan_data *data = data_of(line->check);
    struct ek_start back;

    if (!target->from.known || ek_minor_cmp(target->from, ek_start_floor(target->to)) < 0 ||
        ek_minor_cmp(target->from, data->oldest) < 0 ||
        ek_minor_cmp(target->from, start->emulation) >= 0 ||
        ek_minor_cmp(target->to, data->binary) > 0)
        return;
    ek_start_read(&data->features, target->to, line->args.text, line->args.n, target->from,
                  EK_MINOR_UNKNOWN, line->check->report->arena, &back);
    for (size_t i = 0; i < back.problems.n; i++)
        say_back(line, place_of(&line->args, back.problems.list[i].gate),
                 back.problems.list[i].text);
    if (back.stage == EK_START_OK && line->component == EK_KUBE_APISERVER)
        say_apis_back(line, &back);
}

/* ---- The start ---- */

static void say_start(const struct line *line)
{
    const struct ek_plan_check *check = line->check;
    const struct ek_server_args *args = &line->args;
    const struct ek_plan_data *data = data_of(check);
    const char *name = ek_component_name(line->component);
    struct ek_arena *arena = check->report->arena;
    struct ek_start start;
    char at[EK_MINOR_SIZE];

    say_flags(line);
    if (!knows_gates(check, find_place(args, GATES)))
        return;
    if (ek_minor_cmp(check->target->to, COMPAT_FLAG_SINCE) < 0 && find_place(args, COMPAT_FLAG))
        ek_plan_say__(check, EK_PLAN_ERROR, "flag", find_place(args, COMPAT_FLAG),
                      ek_arena_printf(arena, "%s %s does not have the flag " COMPAT_FLAG, name,
                                      ek_minor_format(check->target->to, at)),
                      "remove the flag");
    const char *variable = find_variable(args);
    if (variable) {
        ek_plan_say__(check, EK_PLAN_UNKNOWN, "flags-unread", variable,
                      ek_arena_printf(arena,
                                      "the flags of the %s cannot be read: the manifest does not "
                                      "have the value of a variable",
                                      name),
                      "write the value out, or set it with env of the container");
        return;
    }
    ek_start_read(&data->features, check->target->to, args->text, args->n, EK_MINOR_UNKNOWN,
                  EK_MINOR_UNKNOWN, arena, &start);
    for (size_t i = 0; i < start.problems.n; i++)
        say_problem(check, line->component, place_of(args, start.problems.list[i].gate),
                    &start.problems.list[i]);
    for (size_t i = 0; i < start.n_errors && !start.problems.n; i++)
        ek_plan_say__(check, EK_PLAN_ERROR, "flag", place_of(args, ""),
                      ek_arena_printf(arena, "%s %s does not start: %s", name,
                                      ek_minor_format(check->target->to, at), start.errors[i]),
                      "correct the flag before the upgrade");
    if (start.stage != EK_START_OK)
        return;
    bool is_server = line->component == EK_KUBE_APISERVER;
    size_t n_errors = ek_plan_report_count(check->report, EK_PLAN_ERROR);
    say_alpha(line, &start, is_server ? say_apis(check, args, &start) : NULL);
    if (ek_plan_report_count(check->report, EK_PLAN_ERROR) == n_errors)
        check_back(line, &start);
}

static bool check_line(const struct ek_plan_check *check, enum ek_component component)
{
    struct line line = {check, component, {.arena = check->report->arena}};
    bool found = ek_server_args_read(check->object->value, component, &line.args);

    if (found)
        say_start(&line);
    else if (line.args.unread)
        ek_plan_say__(check, EK_PLAN_UNKNOWN, "flags-unread", line.args.unread_place,
                      ek_arena_printf(check->report->arena,
                                      "the flags of the %s cannot be read: %s",
                                      ek_component_name(component), line.args.unread),
                      "look for feature gates and API versions that the target does not have");
    return found || line.args.unread;
}

/* ---- Configurations of nodes ---- */

/* The component that a configuration with featureGates is for; EK_COMPONENT_MAX for others. */
static enum ek_component configured(const struct ek_plan_check *check)
{
    static const struct {
        const char *group, *kind;
        enum ek_component component;
    } kinds[] = {
        {"kubelet.config.k8s.io/", "KubeletConfiguration", EK_KUBELET},
        {"kubeproxy.config.k8s.io/", "KubeProxyConfiguration", EK_KUBE_PROXY},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        if (!strcmp(check->kind, kinds[i].kind) &&
            !strncmp(check->api_version, kinds[i].group, strlen(kinds[i].group)))
            return kinds[i].component;
    return EK_COMPONENT_MAX;
}

/* A component of a node has the gates of its own version (featureGate.SetFromMap). */
static bool check_configuration(const struct ek_plan_check *check)
{
    const struct ek_plan_target *target = check->target;
    struct ek_arena *arena = check->report->arena;
    enum ek_component component = configured(check);
    yyjson_val *map = yyjson_obj_get(check->object->value, "featureGates"), *key, *value;
    struct ek_feature_problems problems;
    struct ek_features features;
    size_t i, n;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    if (component == EK_COMPONENT_MAX)
        return false;
    if (!yyjson_obj_size(map) || !knows_gates(check, "featureGates"))
        return true;
    ek_json_each_member(map, i, n, key, value)
    {
        if (yyjson_is_bool(value))
            ek_buf_printf(&text, "%s%s=%s", text.len ? "," : "", yyjson_get_str(key),
                          yyjson_get_bool(value) ? "true" : "false");
    }
    ek_features_init(&features, &data_of(check)->features, arena, target->to, EK_MINOR_UNKNOWN);
    ek_features_set(&features, (struct ek_str){ek_buf_str(&text), text.len}, &problems);
    for (i = 0; i < problems.n; i++) {
        const char *gate = problems.list[i].gate;
        say_problem(check, component,
                    yyjson_obj_get(map, gate) ? ek_arena_printf(arena, "featureGates.%s", gate)
                                              : "featureGates",
                    &problems.list[i]);
    }
    return true;
}

bool ek_plan_check_flags__(const struct ek_plan_check *check)
{
    bool found = check_configuration(check);

    for (int c = EK_KUBE_APISERVER; c <= EK_KUBE_SCHEDULER; c++)
        found |= check_line(check, (enum ek_component)c);
    return found;
}
