/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/faults.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

static const char *const names[EK_FAULT_MAX] = {[EK_FAULT_NONE] = "none",
#define X(name, text) [EK_FAULT_##name] = (text),
                                                EK_FAULT_KINDS(X)
#undef X
};

const char *ek_fault_name(enum ek_fault_kind kind)
{
    return kind < EK_FAULT_MAX ? names[kind] : "unknown";
}

int ek_faults_add(struct ek_faults *faults, const struct ek_fault *fault, struct ek_err *err)
{
    if (faults->n == EK_FAULTS_MAX)
        return ek_err_set(err, EK_E_LIMIT, "there are %d faults already", EK_FAULTS_MAX);
    faults->items[faults->n++] = *fault;
    return 0;
}

int ek_fault_parse(const char *json, size_t len, struct ek_fault *ret_fault, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(json, len, err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *kind = ek_json_str(root, "kind", NULL), *peer = ek_json_str(root, "peer", NULL);
    const char *path = ek_json_str(root, "path", NULL);
    struct ek_fault fault = {
        .watch_only = yyjson_get_bool(yyjson_obj_get(root, "watchOnly")),
        .count = (unsigned)yyjson_get_uint(yyjson_obj_get(root, "count")),
        .percent = (unsigned)yyjson_get_uint(yyjson_obj_get(root, "percent")),
        .bytes = yyjson_get_uint(yyjson_obj_get(root, "bytes")),
        .ms = yyjson_get_sint(yyjson_obj_get(root, "ms")),
        .seconds = yyjson_get_int(yyjson_obj_get(root, "seconds")),
    };

    if (!doc)
        return EK_E_PARSE;
    for (int i = EK_FAULT_NONE + 1; kind && i < EK_FAULT_MAX; i++)
        fault.kind = strcmp(names[i], kind) == 0 ? (enum ek_fault_kind)i : fault.kind;
    snprintf(fault.peer, sizeof(fault.peer), "%s", peer ? peer : "");
    snprintf(fault.path, sizeof(fault.path), "%s", path ? path : "");
    int code = 0;
    if (fault.kind == EK_FAULT_NONE)
        code = ek_err_set(err, EK_E_INVAL, "no such kind of fault: \"%s\"", kind ? kind : "");
    else
        *ret_fault = fault;
    yyjson_doc_free(doc);
    return code;
}

void ek_faults_format(const struct ek_faults *faults, struct ek_buf *out)
{
    ek_buf_puts(out, "[");
    for (size_t i = 0; i < faults->n; i++) {
        const struct ek_fault *f = &faults->items[i];
        ek_buf_printf(out,
                      "%s{\"kind\":\"%s\",\"peer\":\"%s\",\"path\":\"%s\",\"count\":%u,"
                      "\"percent\":%u,\"bytes\":%zu,\"ms\":%lld,\"seconds\":%d}",
                      i ? "," : "", ek_fault_name(f->kind), f->peer, f->path, f->count, f->percent,
                      f->bytes, (long long)f->ms, f->seconds);
    }
    ek_buf_puts(out, "]\n");
}

void ek_faults_clear(struct ek_faults *faults)
{
    faults->n = 0;
}

static bool has_luck(struct ek_faults *faults, unsigned percent)
{
    uint64_t z = faults->random += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return percent == 0 || (z ^ (z >> 31)) % 100 < percent;
}

static bool needs_watch(const struct ek_fault *fault)
{
    return fault->watch_only || fault->kind == EK_FAULT_NO_BOOKMARK ||
           fault->kind == EK_FAULT_DUPLICATE || fault->kind == EK_FAULT_REORDER;
}

struct ek_fault ek_faults_take(struct ek_faults *faults, const char *peer, const char *path,
                               bool watch)
{
    for (size_t i = 0; i < faults->n; i++) {
        struct ek_fault *fault = &faults->items[i], taken;
        if ((*fault->peer && strcmp(fault->peer, peer) != 0) ||
            strncmp(fault->path, path, strlen(fault->path)) != 0 ||
            (needs_watch(fault) && !watch) || !has_luck(faults, fault->percent))
            continue;
        taken = *fault;
        faults->n_applied++;
        if (fault->count == 1) {
            faults->n--;
            memmove(fault, fault + 1, (faults->n - i) * sizeof(*fault));
        } else if (fault->count > 1) {
            fault->count--;
        }
        return taken;
    }
    return (struct ek_fault){.kind = EK_FAULT_NONE};
}
