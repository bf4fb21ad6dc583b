/* SPDX-License-Identifier: Apache-2.0 */
#include "test/demo/acts.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "api/cond.h"

#define EXPECT_MAX 7

/* What must be seen. */
struct expectation {
    const char *what;    /* type of a condition, or a member of status.summary ("versions") */
    const char *is;      /* its status, or the value */
    const char *reason;  /* NULL for any */
    const char *mention; /* what the message must hold, NULL for nothing */
};

struct act {
    const char *title;
    const char *text;
    int (*play)(struct ek_show *show, struct ek_err *err);
    struct expectation expect[EXPECT_MAX]; /* ends at the first without what */
};

/* --- expectations ------------------------------------------------------------------------- */

static bool is_summed(yyjson_val *status, const struct expectation *e)
{
    yyjson_val *value = ek_json_get(status, "summary", e->what, NULL);
    char number[24];

    if (yyjson_is_str(value))
        return !strcmp(yyjson_get_str(value), e->is);
    snprintf(number, sizeof number, "%lld", (long long)yyjson_get_sint(value));
    return yyjson_is_int(value) && !strcmp(number, e->is);
}

static bool is_met(const struct ek_obj *control_plane, const struct expectation *e)
{
    yyjson_val *status = ek_json_get(ek_obj_root(control_plane), "status", NULL);

    if (e->what[0] >= 'a')
        return is_summed(status, e);
    yyjson_val *condition = ek_cond_find(yyjson_obj_get(status, "conditions"), e->what);
    const char *is = ek_json_str(condition, "status", NULL);
    const char *reason = ek_json_str(condition, "reason", NULL);
    const char *message = ek_json_str(condition, "message", NULL);
    return is && !strcmp(is, e->is) && (!e->reason || (reason && !strcmp(reason, e->reason))) &&
           (!e->mention || (message && strstr(message, e->mention)));
}

/* The first expectation that is not met; NULL when all are. */
static const struct expectation *first_unmet(const struct ek_show *show, const struct act *act)
{
    const struct ek_obj *control_plane = ek_stage_control_plane(show->stage);

    for (size_t i = 0; i < EXPECT_MAX && act->expect[i].what; i++)
        if (!control_plane || !is_met(control_plane, &act->expect[i]))
            return &act->expect[i];
    return NULL;
}

/* --- what happens ------------------------------------------------------------------------- */

static int begin(struct ek_show *show, struct ek_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < EK_REPLICAS && !rc; i++)
        rc = ek_replicas_start(&show->replicas, i, err);
    return rc;
}

static int raise_c(struct ek_show *show, struct ek_err *err)
{
    return ek_stage_restart_peer(show->stage, "cp-c", 34, err);
}

static int raise_both(struct ek_show *show, unsigned minor, struct ek_err *err)
{
    int rc = ek_stage_restart_peer(show->stage, "cp-b", minor, err);
    return rc ? rc : ek_stage_restart_peer(show->stage, "cp-c", minor, err);
}

static int raise_to_35(struct ek_show *show, struct ek_err *err)
{
    return raise_both(show, 35, err);
}

static int raise_to_36(struct ek_show *show, struct ek_err *err)
{
    return raise_both(show, 36, err);
}

static int raise_the_rest(struct ek_show *show, struct ek_err *err)
{
    int rc = ek_stage_set_controller(show->stage, "kube-controller-manager", "1.36.2", err);

    if (!rc)
        rc = ek_stage_set_controller(show->stage, "kube-scheduler", "1.36.2", err);
    return rc ? rc : ek_stage_set_node(show->stage, "worker-1", "v1.36.2", err);
}

static int age_node(struct ek_show *show, struct ek_err *err)
{
    return ek_stage_set_node(show->stage, "worker-3", "v1.31.14", err);
}

static int renew_node(struct ek_show *show, struct ek_err *err)
{
    return ek_stage_set_node(show->stage, "worker-3", "v1.36.2", err);
}

static int hang_peer(struct ek_show *show, struct ek_err *err)
{
    (void)err;
    ek_stage_hang_peer(show->stage, "cp-b", true);
    return 0;
}

static int wake_peer(struct ek_show *show, struct ek_err *err)
{
    (void)err;
    ek_stage_hang_peer(show->stage, "cp-b", false);
    return 0;
}

/* --- the leader --------------------------------------------------------------------------- */

struct succession {
    const struct ek_show *show;
    size_t replica; /* that is looked for, or not to be found any more */
};

static size_t leading_replica(const struct ek_show *show)
{
    const char *identity = ek_stage_leader(show->stage);
    return *identity ? ek_replicas_find(&show->replicas, identity) : EK_REPLICAS;
}

static bool somebody_leads(void *ctx)
{
    struct succession *succession = ctx;

    succession->replica = leading_replica(succession->show);
    return succession->replica < EK_REPLICAS || succession->show->failed;
}

static bool another_leads(void *ctx)
{
    const struct succession *succession = ctx;
    size_t replica = leading_replica(succession->show);

    return (replica < EK_REPLICAS && replica != succession->replica) || succession->show->failed;
}

/* The new leader proves itself by what only a leader does: it writes that a node has joined. */
static int kill_leader(struct ek_show *show, struct ek_err *err)
{
    struct succession succession = {.show = show};

    int rc = ek_stage_wait(show->stage, somebody_leads, &succession, show->deadline_ms);
    if (rc)
        return ek_err_set(err, rc, "no replica became the leader: %s", ek_strerror(rc));
    ek_screen_say(&show->screen, EK_SCREEN_NOTE, "   replica %zu leads: kill -9",
                  succession.replica + 1);
    ek_replicas_signal(&show->replicas, succession.replica, SIGKILL);
    rc = ek_stage_wait(show->stage, another_leads, &succession, show->deadline_ms);
    if (rc)
        return ek_err_set(err, rc, "the other replica did not take over: %s", ek_strerror(rc));
    ek_screen_say(&show->screen, EK_SCREEN_NOTE, "   replica %zu leads now; worker-4 joins",
                  leading_replica(show) + 1);
    rc = ek_replicas_start(&show->replicas, succession.replica, err);
    return rc ? rc : ek_stage_set_node(show->stage, "worker-4", "v1.36.2", err);
}

/* --- the script --------------------------------------------------------------------------- */

static const struct act acts[] = {
    {"Somebody was in a hurry",
     "API server cp-a is at 1.36 already; cp-b still behaves as 1.34 and cp-c as 1.33. The "
     "controllers are at 1.35, the kubelets at 1.33 and 1.34. Two replicas of Evenkeel start.",
     begin,
     {{"versions", "1.33-1.36", NULL, NULL},
      {"PeersReachable", "True", NULL, NULL},
      {"Ready", "False", NULL, NULL},
      {"SkewSupported", "False", "MultipleViolations", NULL},
      {"DiscoveryConsistent", "False", "DiscoveryDiffersByVersion", NULL},
      {"NextVersionSafe", "False", NULL, NULL}}},
    {"cp-c restarts at 1.34",
     "A step in the right direction, and not enough: two minors are still too far apart.",
     raise_c,
     {{"versions", "1.34-1.36", NULL, NULL},
      {"PeersReachable", "True", NULL, NULL},
      {"SkewSupported", "False", "MultipleViolations", NULL}}},
    {"cp-b and cp-c restart at 1.35",
     "Everything is within its range now. That the servers differ is normal in a rollout.",
     raise_to_35,
     {{"versions", "1.35-1.36", NULL, NULL},
      {"Ready", "True", NULL, NULL},
      {"SkewSupported", "True", NULL, NULL},
      {"DiscoveryConsistent", "False", "DiscoveryDiffersByVersion", NULL},
      {"NextVersionSafe", "False", "SkipsMinor", NULL}}},
    {"cp-b and cp-c restart at 1.36",
     "All API servers agree. May they go on to 1.37? Not yet, and Evenkeel names who is in the "
     "way.",
     raise_to_36,
     {{"versions", "1.36", NULL, NULL},
      {"Ready", "True", NULL, NULL},
      {"DiscoveryConsistent", "True", NULL, NULL},
      {"FeatureGatesConsistent", "True", NULL, NULL},
      {"NextVersionSafe", "False", "ComponentsTooOld", "worker-1"}}},
    {"The controllers and the oldest kubelet follow",
     "Controller manager, scheduler and worker-1 are at 1.36.",
     raise_the_rest,
     {{"Ready", "True", NULL, NULL}, {"NextVersionSafe", "True", NULL, NULL}}},
    {"A node falls behind",
     "worker-3 comes back from an old image, with a kubelet of 1.31.",
     age_node,
     {{"Ready", "False", "KubeletRange", NULL},
      {"SkewSupported", "False", "KubeletRange", "worker-3"},
      {"NextVersionSafe", "False", NULL, NULL}}},
    {"The node is upgraded",
     "worker-3 gets the kubelet of 1.36.",
     renew_node,
     {{"Ready", "True", NULL, NULL},
      {"SkewSupported", "True", NULL, NULL},
      {"NextVersionSafe", "True", NULL, NULL}}},
    {"An API server hangs",
     "cp-b accepts connections and answers nothing. What it said last is kept, and it is named.",
     hang_peer,
     {{"peers", "2/3", NULL, NULL},
      {"PeersReachable", "False", "PeerUnreachable", "cp-b"},
      {"Ready", "False", NULL, NULL}}},
    {"The API server wakes up",
     "cp-b answers again.",
     wake_peer,
     {{"peers", "3/3", NULL, NULL},
      {"PeersReachable", "True", NULL, NULL},
      {"Ready", "True", NULL, NULL},
      {"DiscoveryConsistent", "True", NULL, NULL},
      {"NextVersionSafe", "True", NULL, NULL}}},
    {"The leading replica of Evenkeel is killed",
     "Only the leader writes. It is killed without a chance to say so; the other takes over.",
     kill_leader,
     {{"nodes", "4", NULL, NULL},
      {"Ready", "True", NULL, NULL},
      {"PeersReachable", "True", NULL, NULL},
      {"SkewSupported", "True", NULL, NULL},
      {"DiscoveryConsistent", "True", NULL, NULL},
      {"FeatureGatesConsistent", "True", NULL, NULL},
      {"NextVersionSafe", "True", NULL, NULL}}},
};

struct scene {
    const struct ek_show *show;
    const struct act *act;
};

static bool is_over(void *ctx)
{
    const struct scene *scene = ctx;
    return scene->show->failed || !first_unmet(scene->show, scene->act);
}

static void report_unmet(struct ek_show *show, const struct act *act)
{
    const struct expectation *e = first_unmet(show, act);

    ek_screen_say(&show->screen, EK_SCREEN_FAILURE,
                  "This was expected within %d s and did not come: %s=%s%s%s%s%s",
                  (int)(show->deadline_ms / 1000), e ? e->what : "", e ? e->is : "",
                  e && e->reason ? ", reason " : "", e && e->reason ? e->reason : "",
                  e && e->mention ? ", with a message about " : "",
                  e && e->mention ? e->mention : "");
    if (ek_stage_control_plane(show->stage))
        ek_screen_summary(&show->screen, ek_stage_control_plane(show->stage));
}

static int play_act(struct ek_show *show, const struct act *act)
{
    struct scene scene = {.show = show, .act = act};
    struct ek_err err = {0};

    int rc = act->play(show, &err);
    if (rc && rc != EK_E_CANCELED)
        ek_screen_say(&show->screen, EK_SCREEN_FAILURE, "%s", err.message);
    if (rc)
        return rc;
    rc = ek_stage_wait(show->stage, is_over, &scene, show->deadline_ms);
    if (rc == EK_E_TIMEOUT)
        report_unmet(show, act);
    if (!rc)
        rc = show->failed;
    return rc ? rc : ek_stage_wait(show->stage, NULL, NULL, show->pause_ms);
}

int64_t ek_show_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int ek_show_play(struct ek_show *show)
{
    int rc = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(acts) && !rc; i++) {
        ek_screen_act(&show->screen, i + 1, acts[i].title, acts[i].text, ek_show_now());
        rc = play_act(show, &acts[i]);
    }
    return rc;
}
