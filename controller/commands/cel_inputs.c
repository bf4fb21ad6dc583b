/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/base/words.h"
#include "api/obj.h"
#include "api/version.h"
#include "api/yaml.h"
#include "controller/commands/cel-internal.h"
#include "informers/client/file.h"

#define FILE_MAX ((size_t)64 << 20)
#define TEXT_MAX ((size_t)1 << 20)

static const struct {
    const char *name, *flag;
} own_flags[EK_CEL_FLAG_MAX] = {
    [EK_CEL_FLAG_OBJECT] = {"object", "--object"},
    [EK_CEL_FLAG_OLD_OBJECT] = {"oldObject", "--old-object"},
    [EK_CEL_FLAG_PARAMS] = {"params", "--params"},
    [EK_CEL_FLAG_REQUEST] = {"request", "--request"},
    [EK_CEL_FLAG_NAMESPACE_OBJECT] = {"namespaceObject", "--namespace-object"},
};

const char *ek_cel_flag_for(const char *name)
{
    for (size_t i = 0; i < EK_CEL_FLAG_MAX; i++)
        if (!strcmp(name, own_flags[i].name))
            return own_flags[i].flag;
    return NULL;
}

/* Reads path, "-" being the standard input, which can be read once. */
static int read_file(struct ek_cel_inputs *inputs, const char *path, const char *what, size_t max,
                     char **ret_text, size_t *ret_len, struct ek_err *err)
{
    if (strcmp(path, "-") != 0)
        return ek_file_read(path, max, ret_text, ret_len, err);
    if (inputs->stdin_for)
        return ek_err_set(err, EK_E_INVAL, "the standard input cannot be both %s and %s",
                          inputs->stdin_for, what);
    inputs->stdin_for = what;
    int rc = ek_file_read("/dev/stdin", max, ret_text, ret_len, err);
    if (rc)
        ek_err_prefix(err, "the standard input");
    return rc;
}

/* JSON, or else YAML. */
static yyjson_doc *parse_data(const char *path, const char *text, size_t len, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(text, len, err);

    if (!doc && !ek_ends_with(path, ".json") && ek_yaml_parse(text, len, FILE_MAX, &doc, err))
        doc = NULL;
    if (!doc)
        ek_err_prefix(err, "%s", strcmp(path, "-") ? path : "the standard input");
    return doc;
}

/* Takes doc. A name that is given twice is refused. */
static int add_given(struct ek_cel_inputs *inputs, const char *name, size_t len, yyjson_doc *doc,
                     struct ek_err *err)
{
    EK_AUTOFREE char *copy = ek_xstrndup(name, len);

    if (!doc)
        return err->code;
    if (ek_cel_inputs_find(inputs, copy)) {
        yyjson_doc_free(doc);
        return ek_err_set(err, EK_E_INVAL, "the variable %s is given twice", copy);
    }
    inputs->given = ek_xrealloc(inputs->given, inputs->n_given + 1, sizeof(*inputs->given));
    inputs->given[inputs->n_given++] = (struct ek_cel_given){.name = copy, .doc = doc};
    copy = NULL;
    return 0;
}

static int add_file(struct ek_cel_inputs *inputs, const char *name, size_t len, const char *path,
                    struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    EK_AUTOFREE char *what = ek_xstrndup(name, len);
    size_t size = 0;

    int rc = read_file(inputs, path, ek_cel_flag_for(what) ? ek_cel_flag_for(what) : "--var",
                       FILE_MAX, &text, &size, err);
    return rc ? rc : add_given(inputs, name, len, parse_data(path, text, size, err), err);
}

/* The JSON that value is; a word that could not be JSON is itself, as a string. */
static yyjson_doc *parse_value(const char *value, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(value, strlen(value), err);

    if (doc || (*value && strchr("{[\"", *value)))
        return doc;
    yyjson_mut_doc *made = ek_json_doc_new();
    yyjson_mut_doc_set_root(made, yyjson_mut_str(made, value));
    doc = yyjson_mut_doc_imut_copy(made, &ek_json_alc);
    yyjson_mut_doc_free(made);
    if (!doc)
        ek_err_set(err, EK_E_INVAL, "\"%s\" is not UTF-8 text", value);
    return doc;
}

static int read_pairs(struct ek_cel_inputs *inputs, const char *flag,
                      const struct ek_flag_list *pairs, bool files, struct ek_err *err)
{
    for (size_t i = 0; i < pairs->n; i++) {
        const char *pair = pairs->items[i];
        size_t len = strcspn(pair, "=");
        if (!pair[len] || !len)
            return ek_err_set(err, EK_E_INVAL, "%s takes name=%s, not \"%s\"", flag,
                              files ? "FILE" : "value", pair);
        const char *value = pair + len + 1;
        int rc = files ? add_file(inputs, pair, len, value, err)
                       : add_given(inputs, pair, len, parse_value(value, err), err);
        if (rc) {
            ek_err_prefix(err, "%s %.*s", flag, (int)len, pair);
            return rc;
        }
    }
    return 0;
}

static int read_expression(const struct ek_cel_options *options, const char *argument,
                           struct ek_cel_inputs *inputs, struct ek_err *err)
{
    const char *path = *options->file ? options->file : argument;

    if (*options->file && argument)
        return ek_err_set(err, EK_E_INVAL, "give the expression or --file, not both");
    if (!path)
        return ek_err_set(err, EK_E_INVAL,
                          "an expression is needed: as argument, by --file, or - for the "
                          "standard input");
    if (*options->file || !strcmp(argument, "-")) {
        int rc =
            read_file(inputs, path, "the expression", TEXT_MAX, &inputs->text, &inputs->len, err);
        if (rc)
            return rc;
        /* The line feed that ends a text file is no part of the expression. */
        while (inputs->len && strchr("\r\n", inputs->text[inputs->len - 1]))
            inputs->text[--inputs->len] = '\0';
        return 0;
    }
    inputs->text = ek_xstrdup(argument);
    inputs->len = strlen(argument);
    return 0;
}

int ek_cel_inputs_read(const struct ek_cel_options *options, const char *argument,
                       struct ek_cel_inputs *inputs, struct ek_err *err)
{
    int rc = read_expression(options, argument, inputs, err);

    for (size_t i = 0; i < EK_CEL_FLAG_MAX && !rc; i++)
        if (*options->paths[i])
            rc = add_file(inputs, own_flags[i].name, strlen(own_flags[i].name), options->paths[i],
                          err);
    if (!rc)
        rc = read_pairs(inputs, "--var", &options->vars, true, err);
    return rc ? rc : read_pairs(inputs, "--set", &options->sets, false, err);
}

void ek_cel_inputs_done(struct ek_cel_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n_given; i++) {
        ek_free(inputs->given[i].name);
        yyjson_doc_free(inputs->given[i].doc);
    }
    ek_free(inputs->given);
    ek_free(inputs->text);
    *inputs = (struct ek_cel_inputs){0};
}

const struct ek_cel_given *ek_cel_inputs_find(const struct ek_cel_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->n_given; i++)
        if (!strcmp(inputs->given[i].name, name))
            return &inputs->given[i];
    return NULL;
}

/* Variables of admission expressions
 * (k8s.io/apiserver/pkg/admission/plugin/cel/compile.go:createEnvForOpts at 1.36). */
static int declare_admission(struct ek_cel_env *env, struct ek_err *err)
{
    static const struct {
        const char *name, *type;
        bool newer; /* the oldest environments don't know the type */
    } rows[] = {
        {"object", "dyn", false},
        {"oldObject", "dyn", false},
        {"params", "dyn", false},
        {"request", "kubernetes.AdmissionRequest", false},
        {"namespaceObject", "kubernetes.Namespace", false},
        {"variables", "dyn", false},
        {"authorizer", "kubernetes.authorization.Authorizer", true},
        {"authorizer.requestResource", "kubernetes.authorization.ResourceCheck", true},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        int slot = ek_cel_env_declare(env, rows[i].name, rows[i].type, err);
        if (slot < 0 && !rows[i].newer)
            return slot;
    }
    return 0;
}

struct ek_cel_env *ek_cel_inputs_env(const struct ek_cel_options *options,
                                     const struct ek_cel_inputs *inputs, int compat_minor,
                                     enum ek_cel_env_mode mode, struct ek_err *err)
{
    bool standard = !strcmp(options->env, "standard");
    struct ek_cel_env_options o = {
        .set = standard                            ? EK_CEL_ENV_STANDARD
               : !strcmp(options->env, "mutation") ? EK_CEL_ENV_MUTATION
                                                   : EK_CEL_ENV_KUBERNETES,
        .mode = mode,
        .compat_minor = compat_minor,
    };
    struct ek_cel_env *env = ek_cel_env_new(&o, err);
    int rc = env && !standard ? declare_admission(env, err) : 0;

    for (size_t i = 0; env && rc >= 0 && i < inputs->n_given; i++) {
        const char *name = inputs->given[i].name;
        bool there = !standard && (ek_cel_flag_for(name) || !strcmp(name, "variables"));
        rc = there ? 0 : ek_cel_env_declare(env, name, "dyn", err);
    }
    if (rc < 0) {
        ek_cel_env_unref(env);
        return NULL;
    }
    return env;
}
