/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod_flags.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/notes.h"

#define COMPONENT     "kube" /* DefaultKubeComponent in compatibility/registry.go */
#define QUOTED        40     /* longest part of a command line that a clause shows */
#define GATE_NAME_MAX 128

struct gate {
    struct ek_pod_gate gate;
    size_t at; /* the last setting of a name counts */
};

struct reader {
    struct ek_arena *arena;
    const char **words;
    size_t n_words;
    struct ek_minor emulation, min_compat;
    struct gate *gates;
    size_t n_gates;
    struct ek_pod_api_flags apis;
    const char *unread; /* "" as long as all is well */
};

/* The flags that are looked for, as the process names them. */
enum flag {
    EMULATED_VERSION,
    MIN_COMPATIBILITY_VERSION,
    FEATURE_GATES,
    RUNTIME_CONFIG, /* this and what follows is no version and no gate */
    FORWARD,
    RUNTIME_FORWARD,
    FAIRNESS,
    PLUGINS_OFF,
    PLUGINS,
    AUTHORIZATION,
    OTHER,
};
static const char *const flag_names[OTHER] = {
    [EMULATED_VERSION] = "emulated-version",
    [MIN_COMPATIBILITY_VERSION] = "min-compatibility-version",
    [FEATURE_GATES] = "feature-gates",
    [RUNTIME_CONFIG] = "runtime-config",
    [FORWARD] = "emulation-forward-compatible",
    [RUNTIME_FORWARD] = "runtime-config-emulation-forward-compatible",
    [FAIRNESS] = "enable-priority-and-fairness",
    [PLUGINS_OFF] = "disable-admission-plugins",
    [PLUGINS] = "admission-control",
    [AUTHORIZATION] = "authorization-mode",
};

static bool is(const char *s, const char *wanted)
{
    return s && !strcmp(s, wanted);
}

/* The kubelet replaces "$(NAME)" by a variable's value, and the pod does not contain all of them.
 */
static bool has_variable(const char *s, size_t len)
{
    return memmem(s, len, "$(", 2) != NULL;
}

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Text without the blanks around it, as strings.TrimSpace for ASCII. */
static struct ek_str trim(struct ek_str s)
{
    while (s.len && isspace((unsigned char)s.p[0])) {
        s.p++;
        s.len--;
    }
    while (s.len && isspace((unsigned char)s.p[s.len - 1]))
        s.len--;
    return s;
}

/* Takes the part before the next separator off *rest; false when nothing is left. */
static bool next_part(const char **rest, char separator, struct ek_str *ret_part)
{
    if (!*rest)
        return false;
    const char *end = strchr(*rest, separator);
    *ret_part = (struct ek_str){*rest, end ? (size_t)(end - *rest) : strlen(*rest)};
    *rest = end ? end + 1 : NULL;
    return true;
}

/* Cuts s at the first separator; false when there is none. */
static bool cut(struct ek_str s, char separator, struct ek_str *ret_left, struct ek_str *ret_right)
{
    const char *at = s.len ? memchr(s.p, separator, s.len) : NULL;
    if (!at)
        return false;
    size_t left = (size_t)(at - s.p);
    *ret_left = trim((struct ek_str){s.p, left});
    *ret_right = trim((struct ek_str){at + 1, s.len - left - 1});
    return true;
}

static bool equals(struct ek_str s, const char *text)
{
    return ek_str_eq(s, ek_str_from(text));
}

static void refuse(struct reader *r, enum flag flag, const char *value, const char *why)
{
    r->unread = ek_arena_printf(r->arena, "its flag --%s=%s %s", flag_names[flag],
                                ek_notes_cut(r->arena, value, QUOTED), why);
}

/* "1.35", "v1.35" or "kube=1.35,wardle=1.2" (toVersionMap in compatibility/registry.go). */
static void read_versions(struct reader *r, enum flag flag, const char *value)
{
    struct ek_minor *into = flag == EMULATED_VERSION ? &r->emulation : &r->min_compat;
    const char *rest = *value ? value : NULL;
    struct ek_str item;

    while (!*r->unread && next_part(&rest, ',', &item)) {
        struct ek_str component = EK_STR(COMPONENT), text = item;
        struct ek_version version;
        cut(item, '=', &component, &text);
        if (ek_version_parse(text, EK_VERSION_ANY, &version) != 0 || version.major == 0 ||
            version.patch != 0)
            refuse(r, flag, value, "is not of the form major.minor");
        else if (equals(component, COMPONENT) && into->known)
            refuse(r, flag, value, "sets a version that is set already");
        else if (equals(component, COMPONENT))
            *into = EK_MINOR(version.major, version.minor);
    }
}

/* The spellings of strconv.ParseBool. */
static bool read_bool(struct ek_str s, bool *ret)
{
    static const char *const words[2][6] = {{"0", "f", "F", "false", "FALSE", "False"},
                                            {"1", "t", "T", "true", "TRUE", "True"}};
    for (size_t i = 0; i < 12; i++)
        if (equals(s, words[i / 6][i % 6])) {
            *ret = i >= 6;
            return true;
        }
    return false;
}

/* "A=true" or "kube:A=true" (ColonSeparatedMultimapStringString.Set, featureGate.Set). */
static bool read_gate(struct reader *r, struct ek_str pair)
{
    struct ek_str component = EK_STR(COMPONENT), setting = trim(pair), name, value;
    struct ek_pod_gate gate;

    cut(pair, ':', &component, &setting);
    if (!equals(component, COMPONENT))
        return true; /* of a server that is built into this one */
    if (!cut(setting, '=', &name, &value) || !name.len || name.len > GATE_NAME_MAX ||
        !read_bool(value, &gate.on) || r->n_gates == EK_POD_GATES_MAX)
        return false;
    gate.name = ek_arena_strndup(r->arena, name.p, name.len);
    r->gates[r->n_gates] = (struct gate){gate, r->n_gates};
    r->n_gates++;
    return true;
}

static void read_gates(struct reader *r, const char *value)
{
    const char *rest = value;
    struct ek_str pair;

    if (!r->gates)
        r->gates = ek_arena_alloc(r->arena, EK_POD_GATES_MAX * sizeof *r->gates);
    while (next_part(&rest, ',', &pair))
        if (pair.len && !read_gate(r, pair)) {
            refuse(r, FEATURE_GATES, value, "is not a valid list of feature gates");
            return;
        }
}

/* The flag of a word "--name" or "--name=value"; "_" counts as "-" (WordSepNormalizeFunc in
 * component-base/cli/flag). */
static enum flag flag_of(const char *word)
{
    size_t len = strcspn(word + 2, "=");

    for (int f = 0; f < OTHER; f++) {
        size_t i = 0;
        if (len != strlen(flag_names[f]))
            continue;
        while (i < len && (word[2 + i] == '_' ? '-' : word[2 + i]) == flag_names[f][i])
            i++;
        if (i == len)
            return (enum flag)f;
    }
    return OTHER;
}

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] == '-' && word[2];
}

/*
 * Steps over a flag that is none of ours. One without "=" takes the next word as its value unless
 * it is boolean, which only its component knows. A word without "--" can only be its value, because
 * these components refuse other arguments; and where one of our flags follows, the meaning is
 * ambiguous.
 */
static void skip_flag(struct reader *r, size_t *at)
{
    const char *word = r->words[*at];
    const char *next = *at + 1 < r->n_words ? r->words[*at + 1] : NULL;

    if (strchr(word, '=') || !next)
        return;
    if (is_flag(next) && flag_of(next) < RUNTIME_CONFIG)
        r->unread =
            ek_arena_printf(r->arena, "its flag %s has no \"=\", so that --%s may be its value",
                            ek_notes_cut(r->arena, word, QUOTED), flag_names[flag_of(next)]);
    else if (next[0] != '-')
        ++*at;
}

/* Values of --runtime-config add up (ConfigurationMap.Set in component-base/cli/flag). */
static void read_runtime_config(struct reader *r, const char *value)
{
    const char *before = r->apis.runtime_config;

    r->apis.runtime_config = before && *before ? ek_arena_printf(r->arena, "%s,%s", before, value)
                                               : ek_arena_strdup(r->arena, value);
}

static bool has_item(const char *list, const char *item)
{
    struct ek_str part;

    while (next_part(&list, ',', &part))
        if (equals(part, item))
            return true;
    return false;
}

/* Lists of names, of which one name counts. The deprecated --admission-control names all plug-ins
 * that are enabled (computePluginNames in pkg/kubeapiserver/options/admission.go at 1.36). A
 * variable may be that name, or not: the plug-in counts as disabled. */
static void read_names(struct reader *r, enum flag flag, const char *value)
{
    if (flag == AUTHORIZATION)
        r->apis.authorizes_nodes |= has_item(value, "Node");
    else
        r->apis.no_mutating_policies |=
            has_variable(value, strlen(value)) ||
            has_item(value, "MutatingAdmissionPolicy") == (flag == PLUGINS_OFF);
}

/* A boolean flag has its value behind "=", or is true. */
static void read_switch(struct reader *r, enum flag flag, const char *equal)
{
    bool on = true;

    if (equal && !read_bool(ek_str_from(equal + 1), &on))
        refuse(r, flag, equal + 1, "is no boolean");
    else if (flag == FAIRNESS)
        r->apis.no_fairness = !on;
    else if (flag == FORWARD)
        r->apis.forward = on;
    else
        r->apis.runtime_forward = on;
}

static void read_flag(struct reader *r, enum flag flag, size_t *at)
{
    const char *equal = strchr(r->words[*at], '=');
    const char *value = equal ? equal + 1 : NULL;

    if (flag == FORWARD || flag == RUNTIME_FORWARD || flag == FAIRNESS) {
        read_switch(r, flag, equal);
        return;
    }
    if (!value && *at + 1 < r->n_words)
        value = r->words[++*at];
    if (flag > FAIRNESS)
        read_names(r, flag, value ? value : "");
    else if (!value)
        refuse(r, flag, "", "has no value");
    else if (has_variable(value, strlen(value)))
        refuse(r, flag, value, "holds a variable");
    else if (flag == FEATURE_GATES)
        read_gates(r, value);
    else if (flag == RUNTIME_CONFIG)
        read_runtime_config(r, value);
    else
        read_versions(r, flag, value);
}

static void read_flags(struct reader *r, size_t from)
{
    for (size_t i = from; i < r->n_words && !*r->unread; i++) {
        const char *word = r->words[i];
        if (is(word, "--"))
            return;
        if (has_variable(word, strcspn(word, "=")))
            r->unread = "one of its arguments is a variable";
        else if (is_flag(word) && flag_of(word) != OTHER)
            read_flag(r, flag_of(word), &i);
        else if (is_flag(word))
            skip_flag(r, &i);
    }
}

/* Where the flags begin: behind the component's program, which may be called by Kubernetes' own
 * go-runner (k8s.io/release/images/build/go-runner) or be a part of hyperkube. 0 when the command
 * is another one, such as a shell. */
static size_t find_flags(const struct reader *r, const char *component)
{
    size_t at = 0;

    if (r->n_words > 1 && is(base(r->words[0]), "hyperkube"))
        at = 1;
    else if (is(base(r->words[0]), "go-runner"))
        for (at = 1; at < r->n_words && r->words[at][0] == '-';)
            at++;
    return at < r->n_words && is(base(r->words[at]), component) ? at + 1 : 0;
}

/* Adds a list of words; false when it is none that can be read. */
static bool add_words(struct reader *r, yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        const char *word = yyjson_get_str(item);
        if (!word || strlen(word) != yyjson_get_len(item))
            return false;
        r->words[r->n_words++] = word;
    }
    return true;
}

static void read_line(struct reader *r, yyjson_val *container, const char *component)
{
    yyjson_val *command = yyjson_obj_get(container, "command");
    yyjson_val *args = yyjson_obj_get(container, "args");

    size_t n = yyjson_arr_size(command) + yyjson_arr_size(args);

    if (n <= EK_POD_WORDS_MAX)
        r->words = ek_arena_alloc(r->arena, (n + 1) * sizeof *r->words);
    if (!r->words || !add_words(r, command) || !add_words(r, args)) {
        r->unread = "its command line is too long or is not a list of strings";
        return;
    }
    if (!yyjson_arr_size(command)) {
        r->unread = "its command is that of its image";
        return;
    }
    size_t from = find_flags(r, component);
    if (from)
        read_flags(r, from);
    else
        r->unread = ek_arena_printf(r->arena, "its command is %s, not %s",
                                    ek_notes_cut(r->arena, base(r->words[0]), QUOTED), component);
}

/* True unless the status says that component's container does not run. A status without
 * a state does not say so. */
static bool container_runs(const struct ek_obj *pod, const char *component)
{
    yyjson_val *state = yyjson_obj_get(ek_pod_container_status(pod, component), "state");

    return !yyjson_obj_size(state) || yyjson_obj_get(state, "running");
}

/*
 * Why pod is not what a process runs by now, NULL otherwise. A mirror pod is deleted when its
 * kubelet has another manifest, and carries the hash of its manifest twice while it is the
 * kubelet's own (pkg/kubelet/pod/mirror_client.go: CreateMirrorPod). Where the kubelet missed that,
 * only the status shows it.
 */
static const char *unsettled(const struct ek_obj *pod, const char *component,
                             struct ek_arena *arena)
{
    struct ek_pod_image image;
    const char *mirror = ek_obj_annotation(pod, "kubernetes.io/config.mirror");
    const char *hash = ek_obj_annotation(pod, "kubernetes.io/config.hash");

    if (!ek_pod_is_running(pod) || !container_runs(pod, component))
        return "its container is not running";
    if (mirror && ek_json_get(ek_obj_root(pod), "metadata", "deletionTimestamp", NULL))
        return "it is being replaced";
    if (mirror && hash && strcmp(mirror, hash) != 0)
        return "its annotations config.hash and config.mirror differ";
    ek_pod_image_read(pod, component, arena, &image);
    return *image.doubt ? ek_arena_printf(arena, "its spec %s", image.doubt) : NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct gate *x = a, *y = b;
    int order = strcmp(x->gate.name, y->gate.name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void keep_gates(struct reader *r, struct ek_pod_flags *flags)
{
    if (!r->n_gates)
        return;
    struct ek_pod_gate *kept = ek_arena_alloc(r->arena, r->n_gates * sizeof *kept);
    qsort(r->gates, r->n_gates, sizeof *r->gates, by_name);
    for (size_t i = 0; i < r->n_gates; i++) {
        bool again = flags->n_gates && is(kept[flags->n_gates - 1].name, r->gates[i].gate.name);
        kept[flags->n_gates - again] = r->gates[i].gate;
        flags->n_gates += !again;
    }
    flags->gates = kept;
}

static void take(struct reader *r, struct ek_pod_flags *flags)
{
    *flags = (struct ek_pod_flags){.unread = r->unread};
    if (*r->unread)
        return;
    flags->emulation = r->emulation;
    flags->min_compat = r->min_compat;
    flags->apis = r->apis;
    keep_gates(r, flags);
}

void ek_pod_flags_read(const struct ek_obj *pod, const char *component, struct ek_arena *arena,
                       struct ek_pod_flags *ret_flags)
{
    struct reader r = {.arena = arena, .unread = ""};
    yyjson_val *container = ek_pod_container(pod, component);
    const char *why = unsettled(pod, component, arena);

    if (why)
        r.unread = why;
    else
        read_line(&r, container, component);
    take(&r, ret_flags);
}

/* A flag of /flagz as a command line has it; NULL for one that was not set. */
static const char *word_of(const char *flag, struct ek_arena *arena)
{
    char *word = ek_arena_strdup(arena, flag), *value = strchr(word, '=');
    size_t len = value ? strlen(++value) : 0;

    if (len >= 2 && value[0] == '[' && value[len - 1] == ']') {
        memmove(value, value + 1, len - 2);
        value[len - 2] = '\0';
    }
    if (!value || !*value)
        return NULL;
    if (flag_of(word) == FEATURE_GATES) {
        char *to = value;
        for (const char *from = value; *from; from++)
            if (*from != ':' || (from != value && from[-1] != ','))
                *to++ = *from;
        *to = '\0';
    }
    return word;
}

void ek_pod_flagz_read(const char *const *flags, size_t n, struct ek_arena *arena,
                       struct ek_pod_flags *ret_flags)
{
    struct reader r = {.arena = arena, .unread = ""};

    r.words = ek_arena_alloc(arena, (n + 1) * sizeof *r.words);
    for (size_t i = 0; i < n; i++) {
        const char *word = flag_of(flags[i]) < OTHER ? word_of(flags[i], arena) : NULL;
        if (word)
            r.words[r.n_words++] = word;
    }
    read_flags(&r, 0);
    take(&r, ret_flags);
}

void ek_pod_api_flags_read(const char *const *args, size_t n, struct ek_arena *arena,
                           struct ek_pod_flags *ret_flags)
{
    struct reader r = {.arena = arena, .unread = ""};

    *ret_flags = (struct ek_pod_flags){.unread = ""};
    if (n > EK_POD_WORDS_MAX)
        r.unread = "there are too many arguments";
    r.words = ek_arena_alloc(arena, (n + 1) * sizeof *r.words);
    for (; r.n_words < n && !*r.unread; r.n_words++)
        r.words[r.n_words] = args[r.n_words];
    if (!*r.unread)
        read_flags(&r, 0);
    ret_flags->unread = r.unread;
    if (!*r.unread)
        ret_flags->apis = r.apis;
}
