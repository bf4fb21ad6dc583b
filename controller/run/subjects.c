/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/subjects.h"

#include <string.h>

#include "controller/certificates/subject.h"
#include "controller/failforward/subject.h"
#include "controller/fieldgates/subject.h"
#include "controller/mutation/subject.h"
#include "controller/plan/subject.h"
#include "controller/skew/subject.h"

const struct ek_subject *const ek_subjects[] = {
    &ek_skew_subject,
    &ek_mutation_subject,
    &ek_gates_subject,
    &ek_certificates_subject,
    &ek_failforward_subject,
    &ek_plan_subject,
    NULL,
};

static bool chooses(const struct ek_flag_list *names, const struct ek_subject *subject)
{
    for (size_t i = 0; subject->option && i < names->n; i++)
        if (!strcmp(names->items[i], subject->option))
            return true;
    return names->n == 0;
}

static int unknown_subject(const struct ek_subject *const *table, const char *name,
                           struct ek_err *err)
{
    EK_AUTO(ek_buf) known;

    ek_buf_init(&known, 1024);
    for (; *table; table++)
        if ((*table)->option)
            ek_buf_printf(&known, "%s%s", known.len ? ", " : "", (*table)->option);
    return ek_err_set(err, EK_E_INVAL, "unknown subject \"%s\": use %s", name, ek_buf_str(&known));
}

static int check_names(const struct ek_subject *const *table, const struct ek_flag_list *names,
                       struct ek_err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        const struct ek_flag_list one = {&names->items[i], 1};
        const struct ek_subject *const *row = table;
        while (*row && !chooses(&one, *row))
            row++;
        if (!*row)
            return unknown_subject(table, names->items[i], err);
    }
    return 0;
}

int ek_subjects_select(const struct ek_subject *const *table, const struct ek_flag_list *names,
                       struct ek_selection *ret, struct ek_err *err)
{
    const struct ek_subject *reader = NULL, *finder = NULL;
    int rc = check_names(table, names, err);

    *ret = (struct ek_selection){0};
    if (rc)
        return rc;
    for (size_t i = 0; table[i]; i++)
        ret->webhook |= table[i]->registers && chooses(names, table[i]);
    for (size_t i = 0; table[i] && ret->n < EK_SUBJECTS_MAX; i++) {
        const struct ek_subject *subject = table[i];
        if (subject->option ? !chooses(names, subject) : !ret->webhook)
            continue;
        ret->list[ret->n++] = subject;
        reader = subject->peers || subject->facts ? subject : reader;
        finder = subject->prober ? subject : finder;
    }
    ret->finds_peers = finder != NULL;
    if (reader && !finder)
        return ek_err_set(err, EK_E_INVAL,
                          "%s needs the subject that finds the API servers: add skew",
                          reader->option);
    return 0;
}
