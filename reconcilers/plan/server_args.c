/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/server_args.h"

#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"

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

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- Containers ---- */

/* The words of a container, those of its command first. */
struct line {
    struct ek_server_args *args;
    const char *program; /* "kube-apiserver" */
    yyjson_val *container;
    const char *place; /* of the container: "spec.containers[0]" */
    size_t n_command;
    const char **words;
    size_t n;
};

/* The value of a variable of the container; NULL for one that the manifest does not have. */
static const char *variable(const struct line *l, const char *name, size_t len)
{
    yyjson_val *one;
    const char *ret = NULL;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(l->container, "env"), i, n, one)
    {
        const char *its = ek_json_text(one, "name"), *value = ek_json_text(one, "value");
        if (strlen(its) == len && !strncmp(its, name, len))
            ret = yyjson_obj_get(one, "valueFrom") || strstr(value, "$(") ? NULL : value;
    }
    return ret;
}

/* A word with the variables that the container sets, as kubelets expand it; another variable stays
 * (third_party/forked/golang/expansion/expand.go:Expand at 1.36). */
static const char *expand(const struct line *l, const char *word)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    if (!strchr(word, '$'))
        return word;
    for (const char *p = word; *p; p++) {
        const char *end = p[0] == '$' && p[1] == '(' ? strchr(p, ')') : NULL;
        const char *value = end ? variable(l, p + 2, (size_t)(end - p - 2)) : NULL;
        if (value) {
            ek_buf_puts(&text, value);
            p = end;
        } else {
            ek_buf_printf(&text, "%c", *p);
            p += p[0] == '$' && p[1] == '$'; /* a dollar */
        }
    }
    return text.failed ? word : ek_arena_strdup(l->args->arena, ek_buf_str(&text));
}

static void open_line(struct line *l)
{
    yyjson_val *lists[] = {yyjson_obj_get(l->container, "command"),
                           yyjson_obj_get(l->container, "args")};
    yyjson_val *word;
    size_t i, n;

    l->n_command = yyjson_arr_size(lists[0]);
    l->words = ek_arena_alloc(l->args->arena,
                              (l->n_command + yyjson_arr_size(lists[1]) + 1) * sizeof(char *));
    for (size_t k = 0; k < EK_ARRAY_SIZE(lists); k++)
        yyjson_arr_foreach(lists[k], i, n, word)
        {
            l->words[l->n++] = yyjson_is_str(word) ? expand(l, yyjson_get_str(word)) : "";
        }
}

/* The place of a word, "spec.containers[0].args[2]". */
static const char *place_of(const struct line *l, size_t at)
{
    bool in_command = at < l->n_command;

    return ek_arena_printf(l->args->arena, "%s.%s[%zu]", l->place, in_command ? "command" : "args",
                           in_command ? at : at - l->n_command);
}

/* The program among the words: the first, or behind Kubernetes' own go-runner
 * (k8s.io/release/images/build/go-runner) or hyperkube. l->n when it is not there. */
static size_t find_program(const struct line *l)
{
    size_t at = 0;

    if (l->n && !strcmp(base(l->words[0]), "hyperkube"))
        at = 1;
    else if (l->n && !strcmp(base(l->words[0]), "go-runner"))
        for (at = 1; at < l->n && l->words[at][0] == '-';)
            at++;
    return at < l->n && !strcmp(base(l->words[at]), l->program) ? at : l->n;
}

/* True when a script starts the program: its name, and then a flag, a variable or a line that goes
 * on. */
static bool starts(const char *script, const char *program)
{
    for (const char *p = script; (p = strstr(p, program)); p += strlen(program)) {
        const char *next = p + strlen(program), *rest = next + strspn(next, " \t");
        if ((p == script || strchr(" \t\n/;&|(", p[-1])) && rest > next && *rest &&
            strchr("-\"$\\", *rest))
            return true;
    }
    return false;
}

static bool is_shell(const char *word)
{
    static const char *const names[] = {"sh", "bash", "ash", "dash"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        if (!strcmp(base(word), names[i]))
            return true;
    return false;
}

/* Notes why the words of a container that runs the program, or may, cannot be read. */
static void note_unread(const struct line *l)
{
    struct ek_server_args *args = l->args;
    bool may = !strcmp(ek_json_text(l->container, "name"), l->program);

    for (size_t i = 1; i < l->n && is_shell(l->words[0]); i++)
        may |= starts(l->words[i], l->program);
    if (!may || args->unread)
        return;
    args->unread = l->n_command ? ek_arena_printf(args->arena, "its command is %s, not %s",
                                                  base(l->words[0]), l->program)
                                : "its command is that of its image";
    args->unread_place =
        l->n_command ? ek_arena_printf(args->arena, "%s.command", l->place) : l->place;
}

/* The Pod of an object, and its place, "" or "spec.template."; NULL without. */
static yyjson_val *find_pod(yyjson_val *object, const char **ret_place)
{
    static const char *const kinds[] = {"Deployment",  "ReplicaSet", "ReplicationController",
                                        "StatefulSet", "DaemonSet",  "Job"};
    const char *kind = ek_json_text(object, "kind");

    *ret_place = "";
    if (!strcmp(kind, "Pod"))
        return object;
    *ret_place = "template.";
    if (!strcmp(kind, "PodTemplate"))
        return yyjson_obj_get(object, "template");
    *ret_place = "spec.jobTemplate.spec.template.";
    if (!strcmp(kind, "CronJob"))
        return ek_json_get(object, "spec", "jobTemplate", "spec", "template", NULL);
    *ret_place = "spec.template.";
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        if (!strcmp(kind, kinds[i]))
            return ek_json_get(object, "spec", "template", NULL);
    return NULL;
}

/* The command line of the container that runs the component. */
static void read_pod(struct ek_server_args *args, enum ek_component component, yyjson_val *pod,
                     const char *place)
{
    size_t i, n;
    yyjson_val *container;

    yyjson_arr_foreach(ek_json_get(pod, "spec", "containers", NULL), i, n, container)
    {
        struct line l = {
            .args = args,
            .program = ek_component_name(component),
            .container = container,
            .place = ek_arena_printf(args->arena, "%sspec.containers[%zu]", place, i),
        };
        open_line(&l);
        size_t at = find_program(&l);
        if (at == l.n) {
            note_unread(&l);
            continue;
        }
        for (; at < l.n; at++)
            add(args, l.words[at], place_of(&l, at));
        args->unread = NULL;
        return;
    }
}

/* ---- kubeadm ---- */

/* extraArgs: a list of name and value since kubeadm.k8s.io/v1beta4, before that a map. */
static void read_kubeadm(struct ek_server_args *args, yyjson_val *configuration, const char *member)
{
    yyjson_val *extra = ek_json_get(configuration, member, "extraArgs", NULL), *key, *value;
    size_t i, n;

    ek_json_each_member(extra, i, n, key, value)
    {
        const char *name = yyjson_get_str(key), *text = yyjson_get_str(value);
        if (name && text)
            add(args, ek_arena_printf(args->arena, "--%s=%s", name, text),
                ek_arena_printf(args->arena, "%s.extraArgs.%s", member, name));
    }
    yyjson_arr_foreach(extra, i, n, value)
    {
        const char *name = ek_json_str(value, "name", NULL);
        const char *text = ek_json_str(value, "value", NULL);
        if (name && text)
            add(args, ek_arena_printf(args->arena, "--%s=%s", name, text),
                ek_arena_printf(args->arena, "%s.extraArgs[%zu].value", member, i));
    }
}

/* The member of a ClusterConfiguration. */
static const char *member_of(enum ek_component component)
{
    return component == EK_KUBE_APISERVER            ? "apiServer"
           : component == EK_KUBE_CONTROLLER_MANAGER ? "controllerManager"
                                                     : "scheduler";
}

bool ek_server_args_read(yyjson_val *object, enum ek_component component,
                         struct ek_server_args *args)
{
    const char *place;
    yyjson_val *pod = find_pod(object, &place);

    if (pod)
        read_pod(args, component, pod, place);
    else if (!strcmp(ek_json_text(object, "kind"), "ClusterConfiguration") &&
             !strncmp(ek_json_text(object, "apiVersion"), "kubeadm.k8s.io/", 15))
        read_kubeadm(args, object, member_of(component));
    return args->n > 0;
}
