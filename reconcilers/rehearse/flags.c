/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/flags.h"

#include <string.h>

#include "api/base/buf.h"

enum act {
    KEEP,
    OURS,    /* the rehearsal gives its own: no loss */
    REMOVE,  /* and say why */
    PLUGINS, /* a list of admission plug-ins */
    MODES,   /* a list of authorization modes */
};

struct rule {
    const char *name; /* a star at the end stands for any rest */
    enum act act;
    const char *why;
};

/* kube-apiserver 1.36, `kube-apiserver --help`; the first row that fits decides. */
static const struct rule rules[] = {
    {"etcd-prefix", KEEP, ""},
    {"etcd-servers-overrides", REMOVE, "names further etcd servers"},
    {"etcd-servers", OURS, ""},
    {"etcd-cafile", OURS, ""},
    {"etcd-certfile", OURS, ""},
    {"etcd-keyfile", OURS, ""},
    {"bind-address", OURS, ""},
    {"advertise-address", OURS, ""},
    {"external-hostname", OURS, ""},
    {"secure-port", OURS, ""},
    {"tls-cert-file", OURS, ""},
    {"tls-private-key-file", OURS, ""},
    {"client-ca-file", OURS, ""},
    {"cert-dir", OURS, ""},
    {"service-account-issuer", OURS, ""},
    {"service-account-key-file", OURS, ""},
    {"service-account-signing-key-file", OURS, ""},
    {"endpoint-reconciler-type", OURS, ""},
    {"watch-cache*", OURS, ""},
    {"default-watch-cache-size", OURS, ""},
    {"emulated-version", OURS, ""},
    {"min-compatibility-version", OURS, ""},
    {"shutdown-*", OURS, ""},
    {"logging-format", OURS, ""},
    {"log-*", OURS, ""},
    {"v", OURS, ""},
    {"vmodule", OURS, ""},
    {"encryption-provider-config*", OURS, ""}, /* --encryption-config of the rehearsal */
    {"feature-gates", KEEP, ""},
    {"runtime-config", KEEP, ""},
    {"service-cluster-ip-range", KEEP, ""},
    {"enable-admission-plugins", PLUGINS, ""},
    {"disable-admission-plugins", KEEP, ""},
    {"authorization-mode", MODES, ""},
    {"audit-*", REMOVE, "writes or sends audit events"},
    {"tracing-config-file", REMOVE, "sends traces"},
    {"egress-selector-config-file", REMOVE, "names a proxy"},
    {"admission-control-config-file", REMOVE, "names files and webhooks"},
    {"admission-control", REMOVE, "excludes --disable-admission-plugins"},
    {"authentication-*", REMOVE, "asks another server who a client is"},
    {"oidc-*", REMOVE, "asks another server who a client is"},
    {"token-auth-file", REMOVE, "names a file"},
    {"authorization-always-allow-paths", KEEP, ""},
    {"authorization-*", REMOVE, "asks another server what a client may do"},
    {"service-account-jwks-uri", REMOVE, "names another server"},
    {"service-account-signing-endpoint", REMOVE, "names another server"},
    {"peer-*", REMOVE, "names other API servers"},
    {"kubelet-*", REMOVE, "is for connections to kubelets"},
    {"proxy-client-*", REMOVE, "is for connections to aggregated API servers"},
    {"enable-aggregator-routing", REMOVE, "is for connections to aggregated API servers"},
    {"requestheader-*", REMOVE, "is for connections from other API servers"},
    {"tls-sni-cert-key", REMOVE, "names files"},
    {"cors-allowed-origins", REMOVE, "is for browsers"},
    {"debug-socket-path", REMOVE, "opens a socket"},
    {"openshift-config", REMOVE, "names a file"},
};

/* Admission plug-ins and authorization modes that ask other servers, or do not start without the
 * file of --admission-control-config-file. */
static const char *const asking_plugins[] = {"MutatingAdmissionWebhook",
                                             "ValidatingAdmissionWebhook", "ImagePolicyWebhook",
                                             "EventRateLimit"};
static const char *const asking_modes[] = {"Webhook", "ABAC"};

static bool name_fits(const char *rule, struct ek_str name)
{
    size_t len = strlen(rule);

    if (rule[len - 1] == '*')
        return name.p && name.len >= len - 1 && !memcmp(name.p, rule, len - 1);
    return ek_str_eq(name, (struct ek_str){rule, len});
}

/* ---- Values of flags that are not known here ---- */

static bool all_of(const char *value, const char *set)
{
    return *value && !value[strspn(value, set)];
}

/* Why a value may lead out of the rehearsal; NULL where the value does not. */
static const char *why_unsafe(const char *value)
{
    const char *colon = strrchr(value, ':');

    if (strstr(value, "://"))
        return "has a URL";
    if (*value == '/' || strstr(value, ",/") || strstr(value, "=/"))
        return "names a file";
    if (strchr(value, '.') && all_of(value, "0123456789.:,/[]") && strspn(value, "0123456789.") > 6)
        return "has an address";
    if (colon && colon != strchr(value, ':') && all_of(value, "0123456789abcdefABCDEF.:,/[]%"))
        return "has an address";
    if (colon && colon != value && all_of(colon + 1, "0123456789") && !strchr(value, '='))
        return "has an address";
    return NULL;
}

/* ---- Making ---- */

void ek_rehearse_flags_note(struct ek_rehearse_flags *f, const char *flag, const char *why)
{
    struct ek_rehearse_removed *list = ek_arena_alloc(f->arena, (f->n_removed + 1) * sizeof *list);

    for (size_t i = 0; i < f->n_removed; i++)
        list[i] = f->removed[i];
    list[f->n_removed++] = (struct ek_rehearse_removed){flag, why};
    f->removed = list;
}

static bool is_one_of(struct ek_str word, const char *const *list, size_t n)
{
    bool is = false;

    for (size_t i = 0; i < n && !is; i++)
        is = ek_str_eq(word, ek_str_from(list[i]));
    return is;
}

/* The words of a list at commas without those that ask other servers; each of these is named. */
static const char *filter(struct ek_rehearse_flags *f, const char *flag, const char *value,
                          const char *const *asking, size_t n_asking)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    while (*value) {
        struct ek_str word = {value, strcspn(value, ",")};
        value += word.len;
        value += *value == ',';
        if (is_one_of(word, asking, n_asking))
            ek_rehearse_flags_note(
                f, ek_arena_printf(f->arena, "--%s %.*s", flag, (int)word.len, word.p),
                "asks another server, or needs a file that is removed");
        else if (word.len)
            ek_buf_printf(&out, "%s%.*s", out.len ? "," : "", (int)word.len, word.p);
    }
    return ek_arena_strdup(f->arena, ek_buf_str(&out));
}

static void keep(struct ek_rehearse_flags *f, const char *name, const char *value)
{
    f->list[f->n++] = value ? ek_arena_printf(f->arena, "--%s=%s", name, value)
                            : ek_arena_printf(f->arena, "--%s", name);
}

static const struct rule *rule_of(const char *name)
{
    const struct rule *ret = NULL;

    for (size_t i = 0; i < EK_ARRAY_SIZE(rules) && !ret; i++)
        if (name_fits(rules[i].name, ek_str_from(name)))
            ret = &rules[i];
    return ret;
}

static void take(struct ek_rehearse_flags *f, const char *name, const char *value)
{
    const struct rule *rule = rule_of(name);
    const char *why = rule ? rule->why : value ? why_unsafe(value) : NULL;
    enum act act = rule ? rule->act : why ? REMOVE : KEEP;

    if (act == PLUGINS && value)
        value = filter(f, name, value, asking_plugins, EK_ARRAY_SIZE(asking_plugins));
    if (act == MODES && value)
        value = filter(f, name, value, asking_modes, EK_ARRAY_SIZE(asking_modes));
    if (act == REMOVE)
        ek_rehearse_flags_note(f, ek_arena_printf(f->arena, "--%s", name), why);
    else if (act == KEEP || (act != OURS && value && *value))
        keep(f, name, value);
}

/* One flag of args at *i, which is moved to its last word. *ret_value is NULL for a switch. False
 * for a word that is no flag. */
static bool next_flag(const char *const *args, size_t n, size_t *i, struct ek_str *ret_name,
                      const char **ret_value)
{
    const char *word = args[*i];
    size_t dashes = strspn(word, "-"), len;

    *ret_value = NULL;
    if (!dashes || dashes > 2 || !word[dashes])
        return false;
    word += dashes;
    len = strcspn(word, "=");
    *ret_name = (struct ek_str){word, len};
    if (word[len])
        *ret_value = word + len + 1;
    else if (*i + 1 < n && *args[*i + 1] != '-')
        *ret_value = args[++*i];
    return true;
}

/* A name, in which "_" is "-" (component-base/cli/flag/flags.go:WordSepNormalizeFunc). */
static char *normal_name(struct ek_arena *arena, struct ek_str name)
{
    char *ret = ek_arena_strndup(arena, name.p, name.len);

    for (char *p = ret; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return ret;
}

static bool is_flag(struct ek_str found, const char *name)
{
    bool is = found.len == strlen(name);

    for (size_t i = 0; i < found.len && is; i++)
        is = found.p[i] == name[i] || (found.p[i] == '_' && name[i] == '-');
    return is;
}

void ek_rehearse_flags_make(const char *const *args, size_t n, struct ek_arena *arena,
                            struct ek_rehearse_flags *ret_flags)
{
    struct ek_str name;
    const char *value;

    if (n > EK_REHEARSE_ARGS_MAX)
        n = EK_REHEARSE_ARGS_MAX;
    *ret_flags = (struct ek_rehearse_flags){
        .arena = arena, .list = ek_arena_alloc(arena, (n + 1) * sizeof(char *))};
    for (size_t i = 0; i < n; i++)
        if (next_flag(args, n, &i, &name, &value))
            take(ret_flags, normal_name(arena, name), value);
}

const char *ek_rehearse_flag_value(const char *const *args, size_t n, const char *name)
{
    const char *ret = NULL, *value;
    struct ek_str found;

    for (size_t i = 0; i < n; i++)
        if (next_flag(args, n, &i, &found, &value) && is_flag(found, name))
            ret = value;
    return ret;
}

/* ---- What a server refuses ---- */

static void remove_at(struct ek_rehearse_flags *f, size_t i)
{
    memmove(f->list + i, f->list + i + 1, (f->n - i - 1) * sizeof *f->list);
    f->n--;
}

/* The name of a flag of the list, without dashes. */
static struct ek_str flag_name(const char *flag)
{
    const char *p = flag + strspn(flag, "-");

    return (struct ek_str){p, strcspn(p, "=")};
}

static bool drop_flag(struct ek_rehearse_flags *f, struct ek_str name)
{
    size_t before = f->n;

    for (size_t i = f->n; i-- > 0;)
        if (ek_str_eq(flag_name(f->list[i]), name))
            remove_at(f, i);
    return f->n < before;
}

/* True when an item of a list flag is the word: "word", "word=...", "kube:word=...". */
static bool item_is(struct ek_str item, struct ek_str word)
{
    const char *equals = item.len ? memchr(item.p, '=', item.len) : NULL;
    struct ek_str key = {item.p, equals ? (size_t)(equals - item.p) : item.len};
    const char *colon = key.len ? memchr(key.p, ':', key.len) : NULL;

    if (colon)
        key = (struct ek_str){colon + 1, key.len - (size_t)(colon + 1 - key.p)};
    return ek_str_eq(key, word) || ek_str_eq(item, word);
}

/* Takes the items that are word out of the list flags of a name. */
static bool drop_item(struct ek_rehearse_flags *f, const char *name, struct ek_str word)
{
    bool dropped = false;

    for (size_t i = f->n; i-- > 0;) {
        EK_AUTO(ek_buf) out;
        const char *value = strchr(f->list[i], '=');
        bool here = false;
        ek_buf_init(&out, EK_BUF_SMALL_MAX);
        if (!value || !ek_str_eq(flag_name(f->list[i]), ek_str_from(name)))
            continue;
        for (value++; *value; value += *value == ',') {
            struct ek_str item = {value, strcspn(value, ",")};
            value += item.len;
            if (item_is(item, word))
                here = true;
            else
                ek_buf_printf(&out, "%s%.*s", out.len ? "," : "", (int)item.len, item.p);
        }
        if (!here)
            continue;
        dropped = true;
        if (out.len)
            f->list[i] = ek_arena_printf(f->arena, "--%s=%s", name, ek_buf_str(&out));
        else
            remove_at(f, i);
    }
    return dropped;
}

/* What a sentence of the server refuses: the words behind the text, of the list flag. */
struct refusal {
    const char *text, *end; /* the word ends at one of these characters */
    const char *flag;       /* the list flag with the word; NULL: the word is a flag */
    const char *what;       /* "feature gate" */
};

/* component-base/featuregate/feature_gate.go, apiserver/pkg/server/options,
 * apiserver/pkg/server/resourceconfig/helpers.go, spf13/pflag; 1.36. */
static const struct refusal refusals[] = {
    {"unknown flag: --", " \n", NULL, "flag"},
    {"for \"--", "\"", NULL, "flag"},
    {"unrecognized feature gate: ", " ,]", "feature-gates", "feature gate"},
    {"cannot set feature gate ", " ", "feature-gates", "feature gate"},
    {"invalid value of ", ", ]", "feature-gates", "feature gate"},
    {"unknown api groups ", " ]", "runtime-config", "API"},
    {"group version ", " ", "runtime-config", "API"},
    {"cannot enable version ", " ", "runtime-config", "API"},
    {"enable-admission-plugins plugin \"", "\"", "enable-admission-plugins", "admission plug-in"},
    {"disable-admission-plugins plugin \"", "\"", "disable-admission-plugins", "admission plug-in"},
};

static void note_word(struct ek_rehearse_flags *f, const struct refusal *r, struct ek_str word,
                      struct ek_buf *dropped)
{
    bool is = r->flag ? drop_item(f, r->flag, word) : drop_flag(f, word);

    if (is)
        ek_buf_printf(dropped, "%s%s %s%.*s", dropped->len ? ", " : "", r->what,
                      r->flag ? "" : "--", (int)word.len, word.p);
}

static void note_refusal(struct ek_rehearse_flags *f, const struct refusal *r, const char *sentence,
                         struct ek_buf *dropped)
{
    for (const char *p = strstr(sentence, r->text); p; p = strstr(p, r->text)) {
        p += strlen(r->text);
        struct ek_str word = {p, strcspn(p, r->end)};
        while (word.len) { /* "a/v1,b/v1" is two; one item may contain no comma */
            size_t len = strcspn(word.p, ",");
            len = len < word.len ? len : word.len;
            note_word(f, r, (struct ek_str){word.p, len}, dropped);
            len += len < word.len;
            word.p += len;
            word.len -= len;
        }
    }
}

const char *ek_rehearse_flags_drop(struct ek_rehearse_flags *flags, const char *sentence)
{
    EK_AUTO(ek_buf) dropped;

    ek_buf_init(&dropped, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < EK_ARRAY_SIZE(refusals); i++)
        note_refusal(flags, &refusals[i], sentence, &dropped);
    /* Where the server names a flag in another way: "--storage-backend invalid, ...". */
    if (!dropped.len && !strncmp(sentence, "--", 2)) {
        struct ek_str name = flag_name(sentence);
        name.len = strcspn(name.p, " =:,");
        if (drop_flag(flags, name))
            ek_buf_printf(&dropped, "flag --%.*s", (int)name.len, name.p);
    }
    return dropped.len ? ek_arena_strdup(flags->arena, ek_buf_str(&dropped)) : NULL;
}

bool ek_rehearse_flags_strip(struct ek_rehearse_flags *flags)
{
    static const char *const needed[] = {"etcd-prefix", "service-cluster-ip-range",
                                         "service-node-port-range", "storage-media-type"};
    size_t before = flags->n;

    for (size_t i = flags->n; i-- > 0;)
        if (!is_one_of(flag_name(flags->list[i]), needed, EK_ARRAY_SIZE(needed)))
            remove_at(flags, i);
    return flags->n < before;
}
