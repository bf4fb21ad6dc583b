/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/election/lease.h"

#include <stdio.h>
#include <string.h>

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

/* FNV-1a over the spec's text: its only use is to see that something has changed. */
static uint64_t hash_spec(yyjson_val *spec)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t len = 0;
    char *text =
        spec ? yyjson_val_write_opts(spec, YYJSON_WRITE_NOFLAG, &ek_json_xalc, &len, NULL) : NULL;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    ek_free(text);
    return hash;
}

int ek_election_lease_read(const struct ek_obj *lease, struct ek_election_record *ret_record,
                           struct ek_err *err)
{
    struct ek_election_record r = {0};

    if (strcmp(ek_obj_kind(lease), "Lease") != 0)
        return ek_err_set(err, EK_E_PARSE, "expected a Lease, got \"%.64s\"", ek_obj_kind(lease));
    if (!*ek_obj_resource_version(lease))
        return ek_err_set(err, EK_E_PARSE, "the Lease has no resourceVersion");
    yyjson_val *spec = yyjson_obj_get(ek_obj_root(lease), "spec");
    copy_text(r.holder, sizeof r.holder, ek_json_str(spec, "holderIdentity", NULL));
    copy_text(r.acquire_time, sizeof r.acquire_time, ek_json_str(spec, "acquireTime", NULL));
    copy_text(r.renew_time, sizeof r.renew_time, ek_json_str(spec, "renewTime", NULL));
    r.duration_s = yyjson_get_sint(yyjson_obj_get(spec, "leaseDurationSeconds"));
    r.transitions = yyjson_get_sint(yyjson_obj_get(spec, "leaseTransitions"));
    r.spec_hash = hash_spec(spec);
    copy_text(r.resource_version, sizeof r.resource_version, ek_obj_resource_version(lease));
    *ret_record = r;
    return 0;
}

static yyjson_mut_val *make_spec(yyjson_mut_doc *doc, const struct ek_election_record *record)
{
    yyjson_mut_val *spec = yyjson_mut_obj(doc);

    if (*record->holder)
        yyjson_mut_obj_add_str(doc, spec, "holderIdentity", record->holder);
    yyjson_mut_obj_add_sint(doc, spec, "leaseDurationSeconds", record->duration_s);
    yyjson_mut_obj_add_str(doc, spec, "acquireTime", record->acquire_time);
    yyjson_mut_obj_add_str(doc, spec, "renewTime", record->renew_time);
    yyjson_mut_obj_add_sint(doc, spec, "leaseTransitions", record->transitions);
    return spec;
}

/* Sets a member, in the place of the one that was there. */
static void set(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    yyjson_mut_obj_put(obj, yyjson_mut_str(doc, key), value);
}

char *ek_election_lease_write(const struct ek_obj *base, const char *namespace, const char *name,
                              const struct ek_election_record *record, size_t *ret_size)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = base ? yyjson_val_mut_copy(doc, ek_obj_root(base)) : yyjson_mut_obj(doc);
    yyjson_mut_val *meta = yyjson_mut_obj_get(root, "metadata");
    if (!yyjson_mut_is_obj(meta)) {
        meta = yyjson_mut_obj(doc);
        set(doc, root, "metadata", meta);
    }
    set(doc, root, "apiVersion", yyjson_mut_str(doc, "coordination.k8s.io/v1"));
    set(doc, root, "kind", yyjson_mut_str(doc, "Lease"));
    set(doc, meta, "namespace", yyjson_mut_str(doc, namespace));
    set(doc, meta, "name", yyjson_mut_str(doc, name));
    yyjson_mut_obj_remove_key(meta, "managedFields");
    if (*record->resource_version)
        set(doc, meta, "resourceVersion", yyjson_mut_str(doc, record->resource_version));
    else
        yyjson_mut_obj_remove_key(meta, "resourceVersion");
    set(doc, root, "spec", make_spec(doc, record));
    yyjson_mut_doc_set_root(doc, root);
    char *json = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &ek_json_xalc, ret_size, NULL);
    yyjson_mut_doc_free(doc);
    return json;
}
