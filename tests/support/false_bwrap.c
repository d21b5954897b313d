/* SPDX-License-Identifier: MIT */
/*
 * A bwrap that is none. What it does stands in the file "mode" next to it, because
 * it is started without an environment:
 *
 *	hang		never ends
 *	flood		writes without end
 *	other		answers to --help as another program would
 *	old		lists what bwrap 0.4 had
 *	quit		lists all that is needed, and then does nothing
 *	complain	the same, and says why
 *	stay		the same, and never ends
 *	lie		the same, and names a process that is not its own
 *	pass		the same, and runs the command as it is: no sandbox at all
 *	swap		the same, and names a child of its own that has namespaces
 *	flee		the same, and ends
 *	lose		names such a child that has ended, and never ends itself
 *	breed		is the one that "real" next to it leads to, which has a child already
 *	--unshare-X	the same, and is the one that "real" next to it leads to, without that word
 */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char old_options[] = "--args FD\n--unshare-user\n--unshare-cgroup\n--as-pid-1\n"
				  "--info-fd FD\n--userns-block-fd FD\n--cap-add CAP\n"
				  "--ro-bind-data FD DEST\n--remount-ro DEST\n--mqueue DEST\n";

/* The path of what lies next to it; false without. */
static bool find_beside(const char *name, char *room, size_t bytes)
{
	ssize_t n = readlink("/proc/self/exe", room, bytes - 16);
	char *slash;

	room[n > 0 ? n : 0] = '\0';
	slash = strrchr(room, '/');
	if (slash)
		(void)snprintf(slash + 1, 15, "%s", name);
	return slash != NULL;
}

static const char *read_mode(char *room, size_t bytes)
{
	FILE *f;

	if (!find_beside("mode", room, bytes))
		return "";
	f = fopen(room, "r");
	room[0] = '\0';
	if (!f || !fgets(room, (int)bytes, f))
		return "";
	(void)fclose(f);
	room[strcspn(room, "\n")] = '\0';
	return room;
}

static void flood(void)
{
	while (puts("usage: usage: usage: usage") >= 0)
		;
}

static int answer(const char *mode)
{
	if (strcmp(mode, "other") == 0)
		return puts("usage: something else") < 0;
	(void)fputs(old_options, stdout);
	if (strcmp(mode, "old") != 0)
		puts("--perms OCTAL");
	return 0;
}

static _Noreturn void stay(void)
{
	for (;;)
		pause();
}

/* A process of its group that has all that is asked for, and that nobody needs. */
static pid_t make_decoy(void)
{
	unsigned long spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
			       CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWPID;
	pid_t pid = (pid_t)syscall(SYS_clone, spaces | SIGCHLD, 0, 0, 0, 0);

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay();
}

static void name(pid_t pid)
{
	dprintf(4, "{\n    \"child-pid\": %d\n}\n", (int)pid);
}

/* Until its identities are mapped. */
static void name_decoy(void)
{
	char byte;

	name(make_decoy());
	(void)!read(5, &byte, 1);
}

/* Its number stays its own, for nobody waits for it. */
static _Noreturn void lose(void)
{
	pid_t pid = make_decoy();

	(void)kill(pid, SIGKILL);
	name(pid);
	stay();
}

/* Its words come on descriptor 3, when 12 is at its end. */
static int be_real_without(const char *option, char **argv)
{
	static char words[1 << 20];
	char program[PATH_MAX];
	int fewer = memfd_create("words", 0);
	size_t length = 0;
	ssize_t n;

	while (read(12, words, sizeof(words)) > 0)
		;
	while ((n = read(3, words + length, sizeof(words) - 1 - length)) > 0)
		length += (size_t)n;
	for (char *word = words; word < words + length; word += strlen(word) + 1)
		if (strcmp(word, option) != 0)
			(void)!write(fewer, word, strlen(word) + 1);
	if (lseek(fewer, 0, SEEK_SET) == 0 && dup2(fewer, 3) == 3 &&
	    find_beside("real", program, sizeof(program))) {
		close(fewer);
		execv(program, argv);
	}
	return 1;
}

int main(int argc, char **argv)
{
	char room[4096];
	const char *mode = read_mode(room, sizeof(room));
	int command = 1;

	if (strcmp(mode, "hang") == 0)
		stay();
	if (strcmp(mode, "flood") == 0)
		flood();
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return answer(mode);
	if (strncmp(mode, "--", 2) == 0)
		return be_real_without(mode, argv);
	if (strcmp(mode, "complain") == 0)
		return fprintf(stderr, "bwrap: No permissions to create new namespace\n") < 0 || 1;
	if (strcmp(mode, "stay") == 0)
		stay();
	if (strcmp(mode, "lose") == 0)
		lose();
	if (strcmp(mode, "flee") == 0)
		return name(make_decoy()), 0;
	if (strcmp(mode, "breed") == 0 && fork() == 0)
		stay();
	if (strcmp(mode, "breed") == 0)
		return be_real_without("", argv);
	if (strcmp(mode, "lie") == 0)
		name(1);
	if (strcmp(mode, "swap") == 0)
		name_decoy();
	else if (strcmp(mode, "pass") == 0)
		name(getpid());
	else
		return 0;
	while (command < argc && strcmp(argv[command], "--") != 0)
		command++;
	if (command + 1 < argc)
		execv(argv[command + 1], argv + command + 1);
	return 1;
}
