/* SPDX-License-Identifier: MIT */
/*
 * What several versions of bwrap list in their --help, without the explanations: each
 * lists what the one before it does, and more. The version of Debian 12 has options that
 * came with 0.10.0 elsewhere.
 */
#pragma once

#define BWRAP_0_2_1                                            \
	"usage: bwrap [OPTIONS...] [--] COMMAND [ARGS...]\n\n" \
	"    --help\n"                                         \
	"    --version\n"                                      \
	"    --args FD\n"                                      \
	"    --unshare-all\n"                                  \
	"    --share-net\n"                                    \
	"    --unshare-user\n"                                 \
	"    --unshare-user-try\n"                             \
	"    --unshare-ipc\n"                                  \
	"    --unshare-pid\n"                                  \
	"    --unshare-net\n"                                  \
	"    --unshare-uts\n"                                  \
	"    --unshare-cgroup\n"                               \
	"    --unshare-cgroup-try\n"                           \
	"    --uid UID\n"                                      \
	"    --gid GID\n"                                      \
	"    --hostname NAME\n"                                \
	"    --chdir DIR\n"                                    \
	"    --setenv VAR VALUE\n"                             \
	"    --unsetenv VAR\n"                                 \
	"    --lock-file DEST\n"                               \
	"    --sync-fd FD\n"                                   \
	"    --bind SRC DEST\n"                                \
	"    --dev-bind SRC DEST\n"                            \
	"    --ro-bind SRC DEST\n"                             \
	"    --remount-ro DEST\n"                              \
	"    --exec-label LABEL\n"                             \
	"    --file-label LABEL\n"                             \
	"    --proc DEST\n"                                    \
	"    --dev DEST\n"                                     \
	"    --tmpfs DEST\n"                                   \
	"    --mqueue DEST\n"                                  \
	"    --dir DEST\n"                                     \
	"    --file FD DEST\n"                                 \
	"    --bind-data FD DEST\n"                            \
	"    --ro-bind-data FD DEST\n"                         \
	"    --symlink SRC DEST\n"                             \
	"    --seccomp FD\n"                                   \
	"    --block-fd FD\n"                                  \
	"    --userns-block-fd FD\n"                           \
	"    --info-fd FD\n"                                   \
	"    --new-session\n"                                  \
	"    --die-with-parent\n"                              \
	"    --as-pid-1\n"                                     \
	"    --cap-add CAP\n"                                  \
	"    --cap-drop CAP\n"

#define BWRAP_0_3_3                     \
	BWRAP_0_2_1                     \
	"    --bind-try SRC DEST\n"     \
	"    --dev-bind-try SRC DEST\n" \
	"    --ro-bind-try SRC DEST\n"  \
	"    --json-status-fd FD\n"

#define BWRAP_0_4_1          \
	BWRAP_0_3_3          \
	"    --userns FD\n"  \
	"    --userns2 FD\n" \
	"    --pidns FD\n"

#define BWRAP_0_5_0           \
	BWRAP_0_4_1           \
	"    --clearenv\n"    \
	"    --perms OCTAL\n" \
	"    --chmod OCTAL PATH\n"

#define BWRAP_0_6_2 \
	BWRAP_0_5_0 \
	"    --add-seccomp-fd FD\n"

#define BWRAP_0_8_0                      \
	BWRAP_0_6_2                      \
	"    --disable-userns\n"         \
	"    --assert-userns-disabled\n" \
	"    --size BYTES\n"

#define BWRAP_0_10_0              \
	BWRAP_0_8_0               \
	"    --argv0 VALUE\n"     \
	"    --bind-fd FD DEST\n" \
	"    --ro-bind-fd FD DEST\n"

#define BWRAP_0_11_1                           \
	BWRAP_0_10_0                           \
	"    --level-prefix\n"                 \
	"    --overlay-src SRC\n"              \
	"    --overlay RWSRC WORKDIR DEST M\n" \
	"    --tmp-overlay DEST\n"             \
	"    --ro-overlay DEST\n"

#define BWRAP_0_8_0_2_DEB12U1     \
	BWRAP_0_8_0               \
	"    --bind-fd FD DEST\n" \
	"    --ro-bind-fd FD DEST\n"

struct bwrap_help {
	const char *version;
	bool is_enough;
	const char *text;
};

static const struct bwrap_help bwrap_helps[] = {
	{ "0.2.1", false, BWRAP_0_2_1 },
	{ "0.3.3", false, BWRAP_0_3_3 },
	{ "0.4.1", false, BWRAP_0_4_1 },
	{ "0.5.0", true, BWRAP_0_5_0 },
	{ "0.6.2", true, BWRAP_0_6_2 },
	{ "0.8.0", true, BWRAP_0_8_0 },
	{ "0.10.0", true, BWRAP_0_10_0 },
	{ "0.11.1", true, BWRAP_0_11_1 },
	{ "0.8.0-2+deb12u1", true, BWRAP_0_8_0_2_DEB12U1 },
};
