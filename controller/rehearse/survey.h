/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an API server says of all that is stored, at one step of a rehearsal: each kind is listed
 * page by page, objects are updated unchanged as a server-side dry run, and policies and custom
 * resources are created again as a dry run (a server that accepts the object answers that it exists
 * already). A kind that fails does not stop the others. Threading: the thread of the loop.
 */
#ifndef CONTROLLER_REHEARSE_SURVEY_H
#define CONTROLLER_REHEARSE_SURVEY_H

#include "api/base/map.h"
#include "controller/rehearse/ask.h"
#include "reconcilers/rehearse/answers.h"
#include "reconcilers/rehearse/view.h"

/* Counts of a step. */
struct ek_rehearse_counts {
    size_t kinds, objects;   /* that were listed */
    size_t updates, creates; /* dry runs */
    size_t rewritten;        /* objects whose storage version changed, updated in earnest */
    size_t not_tried;        /* objects that were left out: those beyond the limit of dry runs, and
                                those of kinds whose requests fail */
    size_t encrypted;        /* that cannot be read without a key */
    size_t not_shown;        /* stored, and left out because a webhook converts them */
};

struct ek_rehearse_survey {
    struct ek_rehearse_ask *ask;
    struct ek_client *client, *etcd;
    struct ek_rehearse_report *report;
    size_t step;                  /* of the report */
    const char *root;             /* --etcd-prefix, "/registry" */
    size_t dry_runs;              /* of each kind, at most */
    const struct ek_map *folders; /* of the snapshot: folder -> number of objects, size_t */
    struct ek_map *conditions;   /* name -> conditions as they were seen last; texts in the arena of
                                    the report */
    const struct ek_map *remote; /* APIs that other servers answer (remote.h): not asked for */
    const struct ek_rehearse_view *first; /* objects whose storage version is not that of first are
                                             updated in earnest; NULL: none */
    void (*progress)(void *ctx, size_t objects);
    void *progress_ctx;
    struct ek_rehearse_view *view; /* is filled */
    struct ek_rehearse_counts counts;
};

/* Reads discovery into survey->view, sorted. */
void ek_rehearse_survey_types(struct ek_rehearse_survey *survey);

/* Reads discovery and the feature gates into survey->view. */
void ek_rehearse_survey_view(struct ek_rehearse_survey *survey);

/* Reads and tries all objects; findings go to the report. */
void ek_rehearse_survey_objects(struct ek_rehearse_survey *survey);

/* The checks of /readyz that fail, one line in arena; "" when they cannot be read. */
const char *ek_rehearse_survey_unready(struct ek_rehearse_survey *survey, struct ek_arena *arena);

#endif
