/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/identity_names.h"

#include <string.h>
#include <strings.h>

#include "reconcilers/proxy/fields.h"

#define USER "X-Remote-User"

static void add(char ***list, size_t *n, char *name)
{
    *list = ek_xrealloc(*list, *n + 1, sizeof **list);
    (*list)[(*n)++] = name;
}

/* API servers trim the names (headerrequest.New); the ConfigMap has them as the flags have. */
static char *trimmed(const char *text)
{
    text += strspn(text, " \t\r\n");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    return ek_xstrndup(text, len);
}

/* A member is text that is a JSON list of strings (jsonSerializeStringSlice there). */
static int read_list(const struct ek_obj *config_map, const char *member, char ***list, size_t *n,
                     struct ek_err *err)
{
    const char *text = ek_json_str(ek_obj_root(config_map), "data", member, NULL);
    yyjson_doc *doc = text ? ek_json_parse(text, strlen(text), NULL) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc), *item;
    bool good = !text || yyjson_is_arr(root);
    size_t i, max;

    yyjson_arr_foreach(root, i, max, item)
    {
        char *name = trimmed(yyjson_is_str(item) ? yyjson_get_str(item) : "");
        good = good && ek_field_name_is_good(name);
        add(list, n, name);
    }
    yyjson_doc_free(doc);
    return good ? 0
                : ek_err_set(err, EK_E_PARSE,
                             "%s of the ConfigMap kube-system/" EK_IDENTITY_CONFIG_MAP
                             " is not a list of header names",
                             member);
}

struct ek_identity_names *ek_identity_names_read(const struct ek_obj *config_map,
                                                 struct ek_err *err)
{
    static const char *const members[] = {"requestheader-username-headers",
                                          "requestheader-uid-headers",
                                          "requestheader-group-headers"};
    struct ek_identity_names *names = ek_xalloc(sizeof *names);
    int rc = 0;

    atomic_init(&names->refs, 1);
    for (size_t i = 0; i < EK_ARRAY_SIZE(members) && !rc; i++) {
        rc = read_list(config_map, members[i], &names->names, &names->n_names, err);
        for (size_t k = 0; i == 0 && k < names->n_names; k++)
            names->takes_user = names->takes_user || !strcasecmp(names->names[k], USER);
    }
    if (!rc)
        rc = read_list(config_map, "requestheader-extra-headers-prefix", &names->prefixes,
                       &names->n_prefixes, err);
    if (!rc)
        return names;
    ek_identity_names_unref(names);
    return NULL;
}

struct ek_identity_names *ek_identity_names_ref(struct ek_identity_names *names)
{
    if (names)
        atomic_fetch_add_explicit(&names->refs, 1, memory_order_relaxed);
    return names;
}

void ek_identity_names_unref(struct ek_identity_names *names)
{
    if (!names || atomic_fetch_sub_explicit(&names->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < names->n_names; i++)
        ek_free(names->names[i]);
    for (size_t i = 0; i < names->n_prefixes; i++)
        ek_free(names->prefixes[i]);
    ek_free(names->names);
    ek_free(names->prefixes);
    ek_free(names);
}

bool ek_identity_names_have(const struct ek_identity_names *names, const char *header)
{
    for (size_t i = 0; i < names->n_names; i++)
        if (!strcasecmp(header, names->names[i]))
            return true;
    for (size_t i = 0; i < names->n_prefixes; i++)
        if (!strncasecmp(header, names->prefixes[i], strlen(names->prefixes[i])))
            return true;
    return false;
}
