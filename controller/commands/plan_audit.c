/* SPDX-License-Identifier: Apache-2.0 */
/* Audit logs: read as streams, whatever their size. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "controller/commands/plan-internal.h"

#define CHUNK ((size_t)64 << 10)

static int read_stream(FILE *in, const char *name, struct ek_plan_audit *audit, struct ek_err *err)
{
    EK_AUTOFREE char *chunk = ek_xalloc(CHUNK);
    size_t n;

    ek_plan_audit_begin(audit, name);
    errno = 0;
    while ((n = fread(chunk, 1, CHUNK, in)) > 0)
        ek_plan_audit_octets(audit, chunk, n);
    if (ferror(in))
        return ek_err_set(err, EK_E_IO, "--audit-log %s: %s", name, strerror(errno));
    ek_plan_audit_end(audit);
    return 0;
}

static int read_log(const char *path, struct ek_plan_audit *audit, struct ek_err *err)
{
    if (!strcmp(path, "-"))
        return read_stream(stdin, "standard input", audit, err);
    FILE *in = fopen(path, "rb");
    if (!in)
        return ek_err_set(err, errno == ENOENT ? EK_E_NOENT : EK_E_IO, "--audit-log %s: %s", path,
                          strerror(errno));
    int rc = read_stream(in, path, audit, err);
    fclose(in);
    return rc;
}

int ek_plan_audit_check(const struct ek_plan_options *options, struct ek_err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < options->audit_logs.n; i++)
        n += !strcmp(options->audit_logs.items[i], "-");
    for (size_t i = 0; n && i < options->files.n; i++)
        n += !strcmp(options->files.items[i], "-");
    if (n > 1)
        return ek_err_set(err, EK_E_INVAL, "the standard input can be read only once");
    return 0;
}

int ek_plan_audit_read(const struct ek_plan_options *options, struct ek_plan_audit *audit,
                       struct ek_plan_report *report, struct ek_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < options->audit_logs.n && !rc; i++)
        rc = read_log(options->audit_logs.items[i], audit, err);
    if (!rc && options->audit_logs.n)
        ek_plan_audit_report(audit, report);
    return rc;
}

static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, int64_t ms)
{
    char text[EK_TIME_SIZE];

    if (ms != EK_TIME_UNSET)
        yyjson_mut_obj_add_strcpy(doc, object, name, ek_time_format(ms, text));
}

yyjson_mut_val *ek_plan_audit_value(const struct ek_plan_audit *audit, yyjson_mut_doc *doc)
{
    yyjson_mut_val *v = yyjson_mut_obj(doc);

    yyjson_mut_obj_add_uint(doc, v, "events", audit->n_events);
    yyjson_mut_obj_add_uint(doc, v, "unreadLines", audit->n_unread);
    put_time(doc, v, "firstEvent", audit->first_ms);
    put_time(doc, v, "lastEvent", audit->last_ms);
    return v;
}
