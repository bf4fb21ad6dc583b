/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/stored.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"

static const struct {
    const char *group, *resource, *folder;
} special[] = {
    {"", "nodes", "minions"},
    {"", "services", "services/specs"},
    {"", "endpoints", "services/endpoints"},
    {"", "replicationcontrollers", "controllers"},
    {"networking.k8s.io", "ingresses", "ingress"},
    {"apiextensions.k8s.io", "customresourcedefinitions",
     "apiextensions.k8s.io/customresourcedefinitions"},
    {"apiregistration.k8s.io", "apiservices", "apiregistration.k8s.io/apiservices"},
};

/* Folders with records of the API servers alone. */
static const char *const internal[] = {"ranges", "masterleases", "peerserverleases", "health"};

void ek_rehearse_folder_of(const char *group, const char *resource, bool custom,
                           char out[EK_REHEARSE_FOLDER_SIZE])
{
    if (custom)
        snprintf(out, EK_REHEARSE_FOLDER_SIZE, "%s/%s", group, resource);
    else
        snprintf(out, EK_REHEARSE_FOLDER_SIZE, "%s", resource);
    for (size_t i = 0; i < EK_ARRAY_SIZE(special) && !custom; i++)
        if (!strcmp(special[i].group, group) && !strcmp(special[i].resource, resource))
            snprintf(out, EK_REHEARSE_FOLDER_SIZE, "%s", special[i].folder);
}

static const char *below(const char *root, const char *key)
{
    size_t len = strlen(root);

    while (len && root[len - 1] == '/')
        len--;
    return !strncmp(key, root, len) && key[len] == '/' ? key + len + 1 : NULL;
}

static bool is_internal(const char *first, size_t len)
{
    bool is = false;

    for (size_t i = 0; i < EK_ARRAY_SIZE(internal) && !is; i++)
        is = strlen(internal[i]) == len && !memcmp(internal[i], first, len);
    return is;
}

bool ek_rehearse_folder_of_key(const char *root, const char *key, char out[EK_REHEARSE_FOLDER_SIZE])
{
    const char *rest = below(root, key);
    size_t len = rest ? strcspn(rest, "/") : 0;

    if (!len || !rest[len] || is_internal(rest, len))
        return false;
    /* A group has a dot, and the services have folders of two levels. */
    if (memchr(rest, '.', len) || (len == 8 && !memcmp(rest, "services", 8))) {
        size_t second = strcspn(rest + len + 1, "/");
        len += 1 + second;
        if (!second || !rest[len])
            return false;
    }
    if (len >= EK_REHEARSE_FOLDER_SIZE)
        return false;
    memcpy(out, rest, len);
    out[len] = '\0';
    return true;
}

const char *ek_rehearse_name_of_key(const char *root, const char *folder, const char *key)
{
    const char *rest = below(root, key);
    size_t len = strlen(folder);

    return rest && !strncmp(rest, folder, len) && rest[len] == '/' && rest[len + 1] ? rest + len + 1
                                                                                    : NULL;
}
