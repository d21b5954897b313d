/* SPDX-License-Identifier: MIT */
/* The parent's side: what this kernel has, the job, the monitor. */
#include <errno.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/host.h"
#include "backend/landlock/landlock.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/landlock.h"

/* ---- What this kernel has ------------------------------------------------------------ */

enum { ABI_SCOPES = 6 };

static int find_abi(uint32_t *out, struct err *e)
{
	int abi = os_landlock_abi();
	const struct landlock_absence *absence = inner_find_absence(abi);

	if (!absence) {
		*out = (uint32_t)abi;
		return 0;
	}
	err_fail_cause(e, ERR_HERE, absence->cause, 0, "the landlock backend can't be used: %s",
		       absence->why);
	err_add_line(e, "%s", absence->fix);
	return err_result(e);
}

static int check_host(struct err *e)
{
	uint32_t abi;

	return find_abi(&abi, e);
}

static guarantee_set gives(const struct plan *plan)
{
	guarantee_set set = GUARANTEE_BIT(G_FS_WRITE) | GUARANTEE_BIT(G_NET_OFF) |
			    GUARANTEE_BIT(G_KERNEL);
	int abi = os_landlock_abi();

	(void)plan;
	if (abi <= 0)
		return 0;
	if (abi >= ABI_SCOPES)
		set |= GUARANTEE_BIT(G_IPC);
	return set;
}

static const char *why_not(enum guarantee g)
{
	const struct landlock_absence *absence = inner_find_absence(os_landlock_abi());

	if (absence)
		return absence->why;
	switch (g) {
	case G_FS_READ:
		return "Landlock can forbid reading a file, but can't hide that it exists";
	case G_FS_CARVE:
	case G_FS_REOPEN:
		return "Landlock can't restrict a path inside a directory that it allows";
	case G_PROTECT_MISSING:
		return "Landlock has no rules for paths that do not exist";
	case G_DENY_FUTURE:
		return "Landlock has rules for existing files, not for names of future ones";
	case G_NET_MANAGED:
		return "a managed network needs a network namespace, which this backend lacks";
	case G_IPC:
		return "this kernel's Landlock has no scopes (ABI 6, Linux 6.12), without which "
		       "the command could connect to abstract sockets of the host";
	case G_PROC:
		return "without a pid namespace the command sees the host's processes";
	case G_LIMITS:
		return "without a user namespace the limit would count all of this user's "
		       "processes";
	case G_TREE_DEATH:
		return "without a pid namespace, processes survive if Cordon is killed";
	case G_FS_WRITE:
	case G_NET_OFF:
	case G_KERNEL:
	case GUARANTEE_COUNT:
		break;
	}
	return "";
}

/* ---- The job ------------------------------------------------------------------------- */

static bool has_writable(const struct plan *plan)
{
	for (size_t i = 0; i < plan->regions.count; i++)
		if (plan->regions.items[i].access == ACCESS_WRITE &&
		    plan->regions.items[i].type != HOST_MISSING)
			return true;
	return false;
}

static int lower_rules(struct arena *a, const struct launch *in, uint32_t abi,
		       struct landlock_rules *out, struct err *e)
{
	kernel_mounts kernel = { .items = NULL };
	struct landlock_facts facts = { .abi = abi,
					.terminal_path = in->terminal_path,
					.kernel = &kernel };

	/* Kernel mounts matter only inside what is writable. */
	if (has_writable(in->plan) && kernel_mounts_find(a, &kernel, e) < 0)
		return err_result(e);
	return landlock_lower(a, in, &facts, out, e);
}

/* Ends with NULL; the list itself is NULL if nothing is writable. */
static int list_writable(struct arena *a, const struct landlock_rules *landlock,
			 const char *const **out, struct err *e)
{
	const char **list = arena_array(a, landlock->rules.count + 1, sizeof(*list), e);
	size_t count = 0;

	if (!list)
		return err_result(e);
	for (size_t i = 0; i < landlock->rules.count; i++)
		if (landlock->rules.items[i].kind == LANDLOCK_MAY_WRITE)
			list[count++] = landlock->rules.items[i].path;
	*out = count ? list : NULL;
	return 0;
}

/* Everything but the Landlock rules. */
static int prepare(struct arena *a, const struct launch *in, struct inner_job *job, struct err *e)
{
	*job = (struct inner_job){ .channel = -1,
				   .has_no_mounts = true,
				   .has_writable = has_writable(in->plan) };
	/* SECURITY: with another namespace's /proc the supervisor would look at the wrong process. */
	if (find_abi(&job->landlock.abi, e) < 0 || host_check_proc(backend_landlock.name, e) < 0)
		return err_result(e);
	if (inner_find_streams(in, job, e) < 0)
		return err_result(e);
	return inner_prepare_command(a, in, job, e);
}

/* ---- The monitor ------------------------------------------------------------------------ */

static void run_monitor(void *arg, int host)
{
	struct inner_job *job = arg;

	job->host = host;
	landlock_monitor(job);
}

static int start_monitor(struct inner_job *job, struct sandbox *s, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the sandbox");
	s->channel = pair[0];
	s->has_no_namespaces = true;
	job->channel = pair[1];
	s->pid = os_fork_helper(&(struct os_helper){ .run = run_monitor,
						     .arg = job,
						     .kept = (int[]){ job->stdio[0], job->stdio[1],
								      job->stdio[2], pair[1] },
						     .kept_count = 4 },
				&s->pidfd);
	if (s->pid < 0)
		(void)FAIL_START(e, errno, "can't start a process");
	close(pair[1]);
	return s->pid < 0 ? err_result(e) : 0;
}

/* Makes the ruleset for this plan on this kernel. */
static int make_ruleset(struct arena *a, const struct launch *in, struct inner_job *job,
			struct sandbox *s, struct err *e)
{
	struct init_message why;

	if (lower_rules(a, in, job->landlock.abi, &job->landlock, e) < 0 ||
	    list_writable(a, &job->landlock, &s->writable, e) < 0 ||
	    inner_check_stdio(a, in, job, e) < 0)
		return err_result(e);
	return inner_make_ruleset(job, &why) ? 0 : inner_word_failure(job, &why, e);
}

static int send_go(const struct launch *in, const struct inner_job *job, const struct sandbox *s,
		   struct err *e)
{
	struct init_order go = { .kind = INIT_GO };
	int r;

	inner_hand_over_terminal(in, s->pid);
	r = fd_pass_send(s->channel, &go, sizeof(go), &job->ruleset, 1, 0);
	/* If it has already ended, inner_wait_ready() reports why. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return FAIL_SYS(e, -r, "can't send the Landlock rules to the command's process");
	return 0;
}

static int look_for_sockets(const struct inner_job *job, struct sandbox *s, struct err *e)
{
	if (!job->asks_connect)
		return 0;
	s->unix_diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (s->unix_diag < 0)
		return FAIL_SYS(e, errno, "can't open a sock_diag socket");
	return 0;
}

/* Makes the ruleset while the monitor and the command's process prepare everything else. */
static int bring_up(struct arena *a, const struct launch *in, struct inner_job *job,
		    struct sandbox *s, struct err *e)
{
	struct init_message first;
	int r;

	if (start_monitor(job, s, e) < 0)
		return err_result(e);
	r = make_ruleset(a, in, job, s, e) < 0 || look_for_sockets(job, s, e) < 0 ||
			    send_go(in, job, s, e) < 0
		    ? err_result(e)
		    : inner_wait_ready(job, s, &first, e);
	/* Not earlier: the last process to close a ruleset waits until the kernel has freed it. */
	fd_close(&job->ruleset);
	if (r < 0)
		return err_result(e);
	return first.kind == INIT_READY ? 0 : inner_word_failure(job, &first, e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct sandbox s = SANDBOX_NONE;
	struct inner_job job;

	if (prepare(a, in, &job, e) < 0)
		return err_result(e);
	if (bring_up(a, in, &job, &s, e) < 0) {
		/* Nothing was executed, so no other process has to be killed. */
		inner_undo(in, &s);
		return err_result(e);
	}
	*out = s;
	return 0;
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct landlock_rules landlock;
	uint32_t abi = 0;

	if (find_abi(&abi, e) < 0 || lower_rules(a, in, abi, &landlock, e) < 0)
		return err_result(e);
	buf_printf(out, "Landlock, ABI %u\n", landlock.abi);
	for (size_t i = 0; i < landlock.rules.count; i++) {
		landlock_describe_rule(&landlock.rules.items[i], out);
		buf_add_char(out, '\n');
	}
	if (landlock.refuses_network)
		buf_add_text(out, "no sockets but unix ones, and those bound inside\n");
	return buf_check(out, e);
}

const struct backend backend_landlock = {
	.name = "landlock",
	.gives = gives,
	.why_not = why_not,
	.check_host = check_host,
	.describe = describe,
	.launch = launch,
	.enforces_modes_only = true,
};
