/* SPDX-License-Identifier: MIT */
/* The parent's side of the last steps of every Linux sandbox; see inner.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/inner/inner.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd_pass.h"
#include "os/landlock.h"
#include "os/os.h"

/* ---- Landlock ------------------------------------------------------------------ */

const struct landlock_absence *inner_find_absence(int abi)
{
	static const struct landlock_absence missing = {
		CAUSE_LANDLOCK_MISSING,
		"this kernel has no Landlock, or a container around this process hides it",
		"use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK"
	};
	static const struct landlock_absence off = {
		CAUSE_LANDLOCK_OFF, "Landlock was turned off at boot",
		"add \"landlock\" to the lsm= list of the kernel's command line"
	};
	static const struct landlock_absence forbidden = {
		CAUSE_LANDLOCK_MISSING,
		"something around this process, such as a container's filter, forbids Landlock",
		"allow the landlock_* system calls"
	};

	if (abi > 0)
		return NULL;
	if (abi == -EOPNOTSUPP)
		return &off;
	return abi == -ENOSYS ? &missing : &forbidden;
}

static int fail_landlock(const struct landlock_absence *absence, struct err *e)
{
	err_fail_cause(e, ERR_HERE, absence->cause, 0, "this host can't enforce fs_write: %s",
		       absence->why);
	err_add_line(e, "without Landlock the command could write to named pipes and devices of "
			"the host");
	err_add_line(e, "%s", absence->fix);
	return err_result(e);
}

int inner_check_landlock(const struct launch *in, struct inner_job *job, struct err *e)
{
	int abi = os_landlock_abi();
	const struct landlock_absence *absence = inner_find_absence(abi);

	if (absence)
		return fail_landlock(absence, e);
	job->landlock.abi = (uint32_t)abi;
	if (job->has_own_network || !in->plan->policy->profile->isolates_ipc || abi >= 6)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_LANDLOCK_OLD,
			 "this host can't enforce ipc together with the whole network");
	err_add_line(e,
		     "Landlock's ABI is %d; hiding the host's abstract sockets needs 6 "
		     "(Linux 6.12)",
		     abi);
	err_add_line(e, "use --network off or managed, a newer kernel, or isolation.ipc = false");
	return err_result(e);
}

/* ---- The job ------------------------------------------------------------------- */

/* Even without a network the sandbox listens for DNS queries, so that they show in the report. */
static void prepare_names(const struct launch *in, struct inner_network *out)
{
	memcpy(out->name_servers, in->name_servers, sizeof(out->name_servers));
	out->name_server_count = in->name_server_count;
}

static int prepare_network(const struct launch_network *in, struct inner_network *out,
			   struct err *e)
{
	*out = (struct inner_network){ .is_managed = in != NULL };
	if (!in)
		return 0;
	if (in->host_port_count > COUNT_OF(out->host_ports))
		return FAIL(e, ERR_LIMIT, "%zu ports of the host are too many; the limit is %zu",
			    in->host_port_count, COUNT_OF(out->host_ports));
	for (size_t i = 0; i < in->host_port_count; i++) {
		uint16_t port = in->host_ports[i];

		if (port == 0 || port == LAUNCH_PROXY_PORT || port == LAUNCH_NAMES_PORT)
			return FAIL(e, ERR_POLICY,
				    "port %u of the host can't be reached from inside: %s", port,
				    port ? "the proxy itself listens there" : "ports begin at 1");
		for (size_t k = 0; k < i; k++)
			if (port == in->host_ports[k])
				return FAIL(e, ERR_POLICY, "port %u of the host is given twice",
					    port);
		out->host_ports[i] = port;
	}
	out->host_port_count = in->host_port_count;
	return 0;
}

static int find_own_words(struct os_arguments *out, struct err *e)
{
	int r = os_find_arguments(out);

	if (r == -EINVAL)
		return FAIL(e, ERR_INTERNAL, "can't parse /proc/self/stat");
	if (r < 0)
		return FAIL_SYS(e, -r, "can't read /proc/self/stat; /proc has to be mounted");
	return 0;
}

int inner_prepare_command(struct arena *a, const struct launch *in, struct inner_job *job,
			  struct err *e)
{
	const struct filter_facts facts = { .has_no_mounts = job->has_no_mounts,
					    .has_writable = job->has_writable,
					    .landlock_abi = job->landlock.abi,
					    .streams = streams_most(&job->streams),
					    .naming = in->naming };
	const struct filter_options filter = filter_options_for(in->plan, &facts);
	struct str directory;

	job->channel = job->host = job->unix_diag = job->root = job->ruleset = -1;
	job->asks_connect = filter.asks_connect;
	job->waits = in->waits;
	job->terminal = -1;
	job->starts_behind = in->starts_behind;
	job->leaves_session = in->escalated_in != NULL;
	if (!in->owns_terminal)
		job->own_terminal = NULL;
	else
		job->own_terminal = job->has_no_mounts ? in->terminal_path : "/dev/console";
	job->needs_listener = filter.asks_connect || filter.keeps_appending ||
			      filter.names_writes || filter.metadata == FILTER_METADATA_ASKED ||
			      filter.metadata == FILTER_METADATA_STREAMS;
	job->has_listener = job->needs_listener || filter.metadata == FILTER_METADATA_FREE;
	memcpy(job->stdio, in->stdio, sizeof(job->stdio));
	if (prepare_network(job->has_own_network ? in->network : NULL, &job->network, e) < 0 ||
	    command_copy_words(a, in, &job->words, e) < 0 ||
	    find_own_words(&job->own_words, e) < 0 ||
	    arena_copy(a, str_of(in->directory), &directory, e) < 0 ||
	    filter_build(a, &filter, &job->filter, e) < 0)
		return err_result(e);
	job->directory = directory.p;
	if (job->has_own_network && !in->network)
		prepare_names(in, &job->network);
	/* PID 1 counts as well. The masker, if it is started, takes one of the command's. */
	job->limits_processes = in->processes > 0;
	job->limits = command_limits(&in->plan->policy->profile->limits,
				     in->processes ? in->processes + 1 : 0);
	return 0;
}

int inner_prepare(struct arena *a, const struct launch *in, struct inner_job *job, struct err *e)
{
	/* An earlier attempt may have set it. */
	memset(job->reopened, 0, sizeof(job->reopened));
	if (inner_check_stdio(a, in, job, e) < 0 || inner_find_streams(in, job, e) < 0)
		return err_result(e);
	return inner_prepare_command(a, in, job, e);
}

/* ---- The channel ----------------------------------------------------------------- */

void inner_hand_over_terminal(const struct launch *in, pid_t group)
{
	if (in->terminal < 0)
		return;
	setpgid(group, group);
	os_set_foreground(in->terminal, group);
}

void inner_undo(const struct launch *in, struct sandbox *s)
{
	if (s->pidfd >= 0) {
		os_kill(s->pidfd, SIGKILL);
		sandbox_reap(s, s->pidfd);
	}
	if (in->terminal >= 0)
		os_set_foreground(in->terminal, getpgrp());
	sandbox_done(s);
}

/* How many of the `came` descriptors are sockets of the proxy: one set for IPv4, or also one for IPv6. */
static size_t count_sockets(const struct inner_network *network, size_t came)
{
	size_t each = inner_network_sockets(network);

	if (!network->is_managed)
		return MIN_OF(came, network->name_server_count);
	return came >= 2 * each ? 2 * each : each;
}

/* Stores the descriptors, in the order of inner_tell_ready(). Returns how many there must be. */
static size_t take_descriptors(const int fds[INNER_MAX_FDS], size_t count, uint32_t lacks,
			       const struct inner_job *job, struct sandbox *s)
{
	size_t each = inner_network_sockets(&job->network);
	size_t next = 1;

	s->root = fds[0];
	if (job->asks_connect && job->has_own_network)
		s->unix_diag = fds[next++];
	if (job->has_listener && !(lacks & SANDBOX_LACKS_LISTENER))
		s->listener = fds[next++];
	for (int i = 0; i < 3; i++)
		if (job->reopened[i])
			s->reopened[i] = fds[next++];
	s->socket_count = count_sockets(&job->network, count > next ? count - next : 0);
	for (size_t i = 0; i < s->socket_count; i++) {
		s->sockets[i] =
			each ? inner_network_socket(&job->network, i % each)
			     : (struct sandbox_socket){ PROXY_NAMES_UDP, LAUNCH_NAMES_PORT, -1 };
		s->sockets[i].fd = fds[next++];
	}
	return next;
}

int inner_wait_ready(const struct inner_job *job, struct sandbox *s, struct init_message *m,
		     struct err *e)
{
	int fds[INNER_MAX_FDS];
	size_t count = COUNT_OF(fds), wanted;
	ssize_t n;

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = -1;
	n = fd_pass_receive(s->channel, m, sizeof(*m), fds, &count);

	/* It ended with orders unread. Its last message can still be read once. */
	if (n == -ECONNRESET) {
		count = COUNT_OF(fds);
		n = fd_pass_receive(s->channel, m, sizeof(*m), fds, &count);
	}
	if (n < 0)
		return FAIL_SYS(e, (int)-n, "can't read a message from the sandbox");
	if (n != (ssize_t)sizeof(*m))
		return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
				  "the sandbox was killed while it was set up");
	wanted = take_descriptors(fds, count, (uint32_t)m->value, job, s);
	if (m->kind != INIT_READY)
		return 0;
	/* The kernel drops descriptors that exceed this process's limit. */
	if (count < wanted)
		return FAIL_SYS(e, EMFILE, "can't receive the sandbox's descriptors");
	s->waits = job->waits;
	s->network_lacks = (uint32_t)m->value;
	s->streams = job->streams;
	/* Scopes alone restrict no files. */
	s->landlock_abi = job->landlock.scopes_only ? 0 : job->landlock.abi;
	return 0;
}

void inner_say_lacks(const struct launch *in, const struct sandbox *s)
{
	/* A missing IPv6 needs no warning: the host has none either. */
	if (in->warn && s->network_lacks & SANDBOX_LACKS_RULES)
		in->warn(in->user, "this kernel has no policy routing "
				   "(CONFIG_IP_MULTIPLE_TABLES): datagrams of the command are lost "
				   "instead of refused");
}

/* ---- Failures ---------------------------------------------------------------------- */

static const char *const stage_texts[] = {
#define INNER_STAGE_TEXT(name, text) [INNER_##name] = (text),
	INNER_STAGES(INNER_STAGE_TEXT)
#undef INNER_STAGE_TEXT
};

int inner_fail_changed(struct str path, struct err *e)
{
	scoped_buf shown = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	utf8_add_shown(&shown, path);
	(void)FAIL_CAUSE(e, CAUSE_PATH_CHANGED, "'%s' changed after the policy was compiled",
			 buf_str(&shown).p);
	err_add_line(e, "nothing was run; try again");
	return err_result(e);
}

int inner_word_failure(const struct inner_job *job, const struct init_message *m, struct err *e)
{
	scoped_buf path = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	if (m->stage >= COUNT_OF(stage_texts))
		return FAIL(e, ERR_INTERNAL, "the sandbox reports an unknown stage");
	if (m->stage == INNER_CHANGED && m->index < job->landlock.rules.count)
		return inner_fail_changed(str_of(job->landlock.rules.items[m->index].path), e);
	if (m->stage == INNER_LIMITS && m->index == INNER_NOT_COUNTED)
		return FAIL_CAUSE(
			e, CAUSE_LIMITS_UNENFORCEABLE,
			"this host can't enforce limits: the kernel does not limit the processes "
			"of this user, who is root outside its user namespace");
	if (m->stage == INNER_LIMITS && m->index == INNER_COUNTED_ELSEWHERE)
		return FAIL_CAUSE(
			e, CAUSE_LIMITS_UNENFORCEABLE,
			"this host can't enforce limits: before Linux 5.14 the kernel counts all "
			"processes of this user, not only those of the run");
	if (m->stage == INNER_LANDLOCK && m->os_error == E2BIG)
		return FAIL_CAUSE(e, CAUSE_LANDLOCK_DEPTH,
				  "this process is already in 16 nested Landlock domains, the most "
				  "that the kernel allows; start cordon outside those sandboxes");
	if (m->stage != INNER_DIRECTORY)
		return FAIL_SYS(e, m->os_error, "can't %s in the sandbox (step %u)",
				stage_texts[m->stage], m->index);
	utf8_add_shown(&path, str_of(job->directory));
	return FAIL_SYS(e, m->os_error, "the command may not enter its working directory '%s'",
			buf_str(&path).p);
}
