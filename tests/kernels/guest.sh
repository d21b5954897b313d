# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Sourced by the guest's first process, before the steps that check_kernels.py wrote.
# Everything that is told goes to the serial line with an @ in front: "@ID= status",
# "@ID text" (output) and "@ID! text" (errors).

# first_root: the initramfs can't be left by pivot_root, a file system on it can.
first_root() {
	/bin/busybox --install -s /bin
	export PATH=/bin
	mkdir -p /new /proc
	mount -t tmpfs -o mode=755 new /new
	cp -a /bin /usr /lib /etc /check /new
	[ ! -e /lib64 ] || cp -a /lib64 /new
	cd /new || exit
	mkdir -p proc sys dev tmp run home var/tmp
	chmod 1777 tmp var/tmp
	mount -t proc proc proc
	mount -t sysfs sys sys
	mount -t devtmpfs dev dev
	mkdir -p dev/pts dev/shm
	mount -t devpts pts dev/pts
	mount -t tmpfs -o mode=1777 shm dev/shm
	exec switch_root /new /check/init second >/new/dev/console 2>&1 </new/dev/null
}

# What bwrap can do is asked once and remembered; a guest on a busy machine may be too slow at first.
warm_up() {
	mkdir -p "/run/$id/cache"
	chown "$id:$id" "/run/$id/cache"
	for _ in 1 2 3; do
		(as "$id" cordon run --backend bwrap -- /bin/true) >/dev/null 2>&1 && break
	done
}

# What a desktop's kernel has, and the controls need.
prepare() {
	dmesg -n 2
	cd / || exit
	ip link set lo up
	step bare/root/doctor 0 cordon doctor --json
	for module in /check/modules/*.ko; do
		[ ! -e "$module" ] || insmod "$module"
	done
	for setting in kernel/yama/ptrace_scope kernel/unprivileged_bpf_disabled kernel/io_uring_disabled; do
		[ ! -e "/proc/sys/$setting" ] || echo 0 >"/proc/sys/$setting"
	done
	for id in 0 1000; do
		mkdir -p "/run/$id"
		chown "$id:$id" "/run/$id"
		guest as $id guest neighbour "/run/$id/socket" "neighbour-$id" $((7000 + id)) >"/run/$id/log" 2>&1 &
		eval "neighbour_$id=$!"
		until [ -s "/run/$id/log" ]; do sleep 0.1; done
		warm_up
	done
	echo # ends what the firmware left
	echo "@facts release $(uname -r)"
	echo "@facts landlock $(guest landlock)"
	echo "@facts lsm $(cat /sys/kernel/security/lsm 2>/dev/null)"
}

# fresh ID: a tree to try things in, for this user.
fresh() {
	cd / || exit
	umount -l /box/out/directory 2>/dev/null
	rm -rf /box
	mkdir -p /box/home/.config/cordon /box/work/.git/hooks /box/work/secret /box/work/deep/down /box/out/directory /box/tmp
	chmod 755 /box
	echo "ref: refs/heads/main" >/box/work/.git/HEAD
	mkdir -p /box/work/.git/refs /box/work/.git/objects
	echo "[core]" >/box/work/.git/config
	mkfifo /box/out/pipe
	for file in out/file out/movable out/secret work/file work/movable work/secret/file work/deep/down/.env; do
		echo text >"/box/$file"
	done
	cp /check/config.toml /box/home/.config/cordon/config.toml
	chown -R "$1:$1" /box
	cd /box/work || exit
}

# Under the AppArmor profile $label, if there is one: it counts from the next program on.
as() {
	id=$1
	shift
	[ -z "${label:-}" ] || echo "exec $label" >/proc/self/attr/exec
	exec env -i PATH=/usr/bin:/bin HOME=/box/home TMPDIR=/box/tmp XDG_CACHE_HOME="/run/$id/cache" guest as "$id" "$@"
}

tell() { # ID STATUS, with what is in /run/out and /run/err
	echo "@$1= $2"
	sed "s|^|@$1 |" /run/out
	sed "s|^|@$1! |" /run/err
}

# step ID USER COMMAND...: a command, its output, its status.
step() {
	name=$1
	user=$2
	shift 2
	fresh "$user"
	(as "$user" timeout -s KILL 60 "$@") >/run/out 2>/run/err </dev/null
	tell "$name" $?
}

# load FILE: AppArmor profiles, by a parser that has a C library of its own.
load() {
	parser=/check/apparmor
	$parser/ld-linux-x86-64.so.2 --library-path $parser $parser/parser -r -K "$1"
	echo "@facts loaded-$1 $?"
}

count_probes() {
	pidof probe | wc -w
}

# death ID USER COMMAND...: started so that it stays, and then its first process is killed.
death() {
	name=$1
	user=$2
	shift 2
	fresh "$user"
	as "$user" "$@" >/run/out 2>/run/err </dev/null &
	first=$!
	for _ in $(seq 100); do
		if [ -e /box/work/ready ] || [ ! -e /proc/$first/exe ]; then
			break
		fi
		sleep 0.1
	done
	[ -e /box/work/ready ] && echo "started $(count_probes)" >>/run/out
	kill -KILL $first 2>/dev/null
	wait $first 2>/dev/null
	status=$?
	for _ in $(seq 20); do
		[ "$(count_probes)" != 0 ] || break
		sleep 0.1
	done
	rm -f /box/work/ready
	echo "left $(count_probes)" >>/run/out
	# shellcheck disable=SC2012 # the names are known
	echo "lies about $(ls -A /box/work | sort | tr '\n' ' ')" >>/run/out
	tell "$name" $status
	# shellcheck disable=SC2046 # one word each
	kill -KILL $(pidof probe) 2>/dev/null
}

# with_setting NAME VALUE: tells whether it is there and what it is now.
with_setting() {
	setting=/proc/sys/$1
	[ -e "$setting" ] || setting=/dev/null
	before=$(cat "$setting")
	echo "$2" >"$setting"
	echo "@facts $1 $(cat "$setting")"
}

without_setting() {
	echo "$before" >"$setting"
}
