/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/record_strip.h"

#include <string.h>

/* In place of the value of a flag that is left out. A variable stays one: what a reader concludes
 * from a variable does not depend on its name. */
#define REMOVED          "removed"
#define REMOVED_VARIABLE "$(removed)"

/* Members that stay; section "" is the object itself. */
static const struct member {
    const char *kind, *section, *name;
} members[] = {
    {"ControlPlane", "", "spec"},
    {"ControlPlane", "", "status"},
    {"Lease", "", "spec"},
    {"LeaseCandidate", "", "spec"},
    {"EndpointSlice", "", "addressType"},
    {"EndpointSlice", "", "endpoints"},
    {"EndpointSlice", "", "ports"},
    {"Node", "status", "addresses"},
    {"Pod", "spec", "nodeName"},
    {"Pod", "spec", "hostNetwork"},
    {"Pod", "spec", "hostname"},
    {"Pod", "status", "phase"},
    {"Pod", "status", "podIP"},
    {"Pod", "status", "podIPs"},
    {"Pod", "status", "hostIP"},
    {"Pod", "status", "hostIPs"},
};

static const char *const metadata_members[] = {
    "name",       "namespace",         "uid",
    "generation", "creationTimestamp", "deletionTimestamp",
    "labels",     "ownerReferences",   "resourceVersion",
};

static const char *const annotations[] = {
    "kubernetes.io/config.mirror",
    "kubernetes.io/config.hash",
    "kubernetes.io/peer-advertise-address",
};

/* The flags that are read of control plane pods (reconcilers/peers/pod.h, pod_flags.h). */
static const char *const kept_flags[] = {
    "emulated-version",
    "min-compatibility-version",
    "feature-gates",
    "runtime-config",
    "emulation-forward-compatible",
    "runtime-config-emulation-forward-compatible",
    "advertise-address",
    "secure-port",
    "bind-address",
};

/* Programs: their names are no values of flags. */
static const char *const programs[] = {
    "kube-apiserver", "kube-controller-manager",  "kube-scheduler",
    "kube-proxy",     "cloud-controller-manager", "hyperkube",
    "go-runner",
};

static void copy_member(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const char *name)
{
    yyjson_val *value = yyjson_obj_get(from, name);

    if (value)
        yyjson_mut_obj_add_val(doc, to, name, yyjson_val_mut_copy(doc, value));
}

static void put_metadata(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from)
{
    yyjson_val *all = yyjson_obj_get(from, "annotations");
    yyjson_mut_val *kept = yyjson_mut_obj(doc);

    for (size_t i = 0; i < EK_ARRAY_SIZE(metadata_members); i++)
        copy_member(doc, to, from, metadata_members[i]);
    for (size_t i = 0; i < EK_ARRAY_SIZE(annotations); i++)
        copy_member(doc, kept, all, annotations[i]);
    if (yyjson_mut_obj_size(kept))
        yyjson_mut_obj_add_val(doc, to, "annotations", kept);
}

static bool is_program(const char *word)
{
    const char *slash = strrchr(word, '/');

    if (word[0] == '-' || strpbrk(word, "=;&|@ \t\r\n"))
        return false; /* a flag, or a line of a shell */
    for (size_t i = 0; i < EK_ARRAY_SIZE(programs); i++)
        if (!strcmp(slash ? slash + 1 : word, programs[i]))
            return true;
    return false;
}

/* "_" counts as "-" (WordSepNormalizeFunc in component-base/cli/flag). */
static bool is_kept_flag(const char *name, size_t len)
{
    for (size_t f = 0; f < EK_ARRAY_SIZE(kept_flags); f++) {
        size_t i = 0;
        if (strlen(kept_flags[f]) != len)
            continue;
        while (i < len && (name[i] == '_' ? '-' : name[i]) == kept_flags[f][i])
            i++;
        if (i == len)
            return true;
    }
    return false;
}

/* A command line, word by word. */
struct line {
    bool begun;     /* past its first word, which is a program */
    bool keep_next; /* the last word was a flag that stays, without its value */
};

static yyjson_mut_val *strip_word(yyjson_mut_doc *doc, struct line *line, const char *word)
{
    size_t len = strcspn(word, "=");
    bool keep = line->keep_next || (!line->begun && !strpbrk(word, "= \t\n"));

    line->begun = true;
    line->keep_next = false;
    if (keep || !strcmp(word, "--") || is_program(word))
        return yyjson_mut_strcpy(doc, word);
    if (strncmp(word, "--", 2) != 0) {
        if (memmem(word, len, "$(", 2))
            return yyjson_mut_str(doc, REMOVED_VARIABLE);
        return yyjson_mut_str(doc, word[0] == '-' ? "-" REMOVED : REMOVED);
    }
    keep = is_kept_flag(word + 2, len - 2);
    line->keep_next = keep && !word[len];
    if (keep || !word[len])
        return yyjson_mut_strcpy(doc, word);
    char *text = ek_xasprintf("%.*s=" REMOVED, (int)len, word);
    yyjson_mut_val *value = yyjson_mut_strcpy(doc, text);
    ek_free(text);
    return value;
}

static void put_words(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const char *name,
                      struct line *line)
{
    yyjson_val *list = yyjson_obj_get(from, name), *item;
    size_t i, n;

    if (!yyjson_is_arr(list))
        return;
    yyjson_mut_val *words = yyjson_mut_obj_add_arr(doc, to, name);
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *word = yyjson_get_str(item);
        yyjson_mut_arr_add_val(words, word ? strip_word(doc, line, word) : yyjson_mut_null(doc));
    }
}

static void put_containers(yyjson_mut_doc *doc, yyjson_mut_val *spec, yyjson_val *from)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, spec, "containers");
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(from, "containers"), i, n, one)
    {
        yyjson_mut_val *to = yyjson_mut_arr_add_obj(doc, list);
        struct line line = {0};
        copy_member(doc, to, one, "name");
        copy_member(doc, to, one, "image");
        /* Without a command, the program is that of the image. */
        line.begun = !yyjson_arr_size(yyjson_obj_get(one, "command"));
        put_words(doc, to, one, "command", &line);
        put_words(doc, to, one, "args", &line);
    }
}

/* Of the machine the version of the kubelet alone. */
static void put_version(yyjson_mut_doc *doc, yyjson_mut_val *status, yyjson_val *from)
{
    copy_member(doc, yyjson_mut_obj_add_obj(doc, status, "nodeInfo"),
                yyjson_obj_get(from, "nodeInfo"), "kubeletVersion");
}

/* Which image a container runs, with its ID, and the state that it is in, without its texts. */
static void put_states(yyjson_mut_doc *doc, yyjson_mut_val *status, yyjson_val *from)
{
    static const char *const states[] = {"waiting", "running", "terminated"};
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, status, "containerStatuses");
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(from, "containerStatuses"), i, n, one)
    {
        yyjson_mut_val *to = yyjson_mut_arr_add_obj(doc, list);
        copy_member(doc, to, one, "name");
        copy_member(doc, to, one, "image");
        copy_member(doc, to, one, "imageID");
        yyjson_mut_val *state = yyjson_mut_obj_add_obj(doc, to, "state");
        for (size_t s = 0; s < EK_ARRAY_SIZE(states); s++)
            if (yyjson_obj_get(yyjson_obj_get(one, "state"), states[s]))
                yyjson_mut_obj_add_obj(doc, state, states[s]);
    }
}

/* The section of the result, made where there is none yet. */
static yyjson_mut_val *section_of(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name)
{
    yyjson_mut_val *section = *name ? yyjson_mut_obj_get(to, name) : to;

    return section ? section : yyjson_mut_obj_add_obj(doc, to, name);
}

yyjson_mut_val *ek_record_strip(yyjson_mut_doc *doc, const struct ek_obj *obj)
{
    yyjson_val *root = ek_obj_root(obj);
    const char *kind = ek_obj_kind(obj);
    yyjson_mut_val *to = yyjson_mut_obj(doc);

    copy_member(doc, to, root, "apiVersion");
    copy_member(doc, to, root, "kind");
    put_metadata(doc, yyjson_mut_obj_add_obj(doc, to, "metadata"),
                 yyjson_obj_get(root, "metadata"));
    if (!strcmp(kind, "Node"))
        put_version(doc, section_of(doc, to, "status"), yyjson_obj_get(root, "status"));
    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++) {
        const struct member *m = &members[i];
        if (!strcmp(m->kind, kind))
            copy_member(doc, section_of(doc, to, m->section),
                        *m->section ? yyjson_obj_get(root, m->section) : root, m->name);
    }
    if (!strcmp(kind, "Pod")) {
        put_containers(doc, section_of(doc, to, "spec"), yyjson_obj_get(root, "spec"));
        put_states(doc, section_of(doc, to, "status"), yyjson_obj_get(root, "status"));
    }
    return to;
}
