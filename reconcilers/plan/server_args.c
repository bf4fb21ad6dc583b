/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/server_args.h"

#include <string.h>

#include "api/obj.h"

#define SERVER "kube-apiserver"

static void add(struct ek_server_args *args, const char *text, const char *place)
{
    if (args->n == args->max) {
        size_t max = args->max ? args->max * 2 : 64;
        const char **t = ek_arena_alloc(args->arena, max * sizeof(char *));
        const char **p = ek_arena_alloc(args->arena, max * sizeof(char *));
        if (args->n) {
            memcpy(t, args->text, args->n * sizeof(char *));
            memcpy(p, args->place, args->n * sizeof(char *));
        }
        args->text = t;
        args->place = p;
        args->max = max;
    }
    args->text[args->n] = text;
    args->place[args->n++] = place;
}

/* True when a word is the program, with or without a folder. */
static bool is_server(const char *word)
{
    const char *slash = word ? strrchr(word, '/') : NULL;

    return word && !strcmp(slash ? slash + 1 : word, SERVER);
}

static void add_words(struct ek_server_args *args, yyjson_val *words, const char *place)
{
    size_t i, n;
    yyjson_val *word;

    yyjson_arr_foreach(words, i, n, word)
    {
        if (yyjson_is_str(word))
            add(args, yyjson_get_str(word), ek_arena_printf(args->arena, "%s[%zu]", place, i));
    }
}

/* The command line of the container that runs the server. */
static void read_pod(struct ek_server_args *args, yyjson_val *pod)
{
    size_t i, n;
    yyjson_val *container;

    yyjson_arr_foreach(ek_json_get(pod, "spec", "containers", NULL), i, n, container)
    {
        yyjson_val *command = yyjson_obj_get(container, "command");
        yyjson_val *more = yyjson_obj_get(container, "args");
        yyjson_val *first = yyjson_arr_size(command) ? command : more;
        if (!is_server(yyjson_get_str(yyjson_arr_get_first(first))))
            continue;
        add_words(args, command, ek_arena_printf(args->arena, "spec.containers[%zu].command", i));
        add_words(args, more, ek_arena_printf(args->arena, "spec.containers[%zu].args", i));
        return;
    }
}

/* apiServer.extraArgs: a list of name and value since kubeadm.k8s.io/v1beta4, before that a map. */
static void read_kubeadm(struct ek_server_args *args, yyjson_val *configuration)
{
    yyjson_val *extra = ek_json_get(configuration, "apiServer", "extraArgs", NULL), *key, *value;
    size_t i, n;

    ek_json_each_member(extra, i, n, key, value)
    {
        const char *name = yyjson_get_str(key), *text = yyjson_get_str(value);
        if (name && text)
            add(args, ek_arena_printf(args->arena, "--%s=%s", name, text),
                ek_arena_printf(args->arena, "apiServer.extraArgs.%s", name));
    }
    yyjson_arr_foreach(extra, i, n, value)
    {
        const char *name = ek_json_str(value, "name", NULL);
        const char *text = ek_json_str(value, "value", NULL);
        if (name && text)
            add(args, ek_arena_printf(args->arena, "--%s=%s", name, text),
                ek_arena_printf(args->arena, "apiServer.extraArgs[%zu].value", i));
    }
}

bool ek_server_args_read(yyjson_val *object, struct ek_server_args *args)
{
    const char *kind = ek_json_text(object, "kind");

    if (!strcmp(kind, "Pod"))
        read_pod(args, object);
    else if (!strcmp(kind, "ClusterConfiguration") &&
             !strncmp(ek_json_text(object, "apiVersion"), "kubeadm.k8s.io/", 15))
        read_kubeadm(args, object);
    return args->n > 0;
}
