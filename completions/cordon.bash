# SPDX-License-Identifier: MIT
# bash completion for cordon

# The words up to the cursor as the user sees them, into the caller's `words`: readline
# splits them at ':' and '=' too. What has no blank before it on the line belongs to the
# word before.
_cordon_words()
{
	local line=$COMP_LINE piece rest i
	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		rest=${line#"${line%%[![:space:]]*}"}
		if [[ $i -gt 0 && -n $COMP_LINE && $rest == "$line" ]]; then
			words[${#words[@]}-1]+=$piece
		else
			words+=("$piece")
		fi
		line=${rest#"$piece"}
	done
}

# Readline replaces only what follows the last ':' of $1, so that is all that may be offered.
_cordon_trim_colons()
{
	local prefix=${1%"${1##*:}"} i
	[[ -n $prefix && $COMP_WORDBREAKS == *:* ]] || return 0
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"$prefix"}
	done
}

# The profiles that begin with $1. SECURITY: never through compgen -W, which expands its
# words: a profile called '$(rm x)' would run at TAB. Quoted, since nothing else does it.
_cordon_profiles()
{
	local name quoted
	while IFS= read -r name; do
		if [[ $name == "$1"* ]]; then
			printf -v quoted %q "$name"
			COMPREPLY+=("$quoted")
		fi
	done < <(cordon profiles --quiet 2>/dev/null)
	_cordon_trim_colons "$1"
}

# The files that begin with $1; readline quotes these.
_cordon_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_cordon_directories()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -d -- "$1")
}

_cordon_hosts()
{
	mapfile -t COMPREPLY < <(compgen -A hostname -- "$1")
}

_cordon_variables()
{
	mapfile -t COMPREPLY < <(compgen -e -- "$1")
}

# Those of the words $1 that begin with $2.
_cordon_among()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# BEGIN made by scripts/options from src/lib/command_line.h; do not edit
_cordon_commands="run sandbox init check profiles why explain doctor audit approvals request apply-patch escalate setup hook import agent windows mcp proxy help version"
# The options that take a value.
_cordon_valued=" -P --profile --mode -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --publish --host-port --audit --listen --token-file --token-env --backend --sandbox --accept-missing --platform --host-view --ask --ask-timeout --timeout --env --report --events --reason -o --output --run --since --root --proxy-port "

# The options of the command $1, into the caller's `options`.
_cordon_options()
{
	case $1 in
	run) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --publish --host-port --audit --backend --sandbox --accept-missing --platform --ask --ask-timeout --retry --timeout --env --dry-run --report --log-denials --tell-denials --events --trace --json -q --quiet -h --help" ;;
	sandbox) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --publish --host-port --audit --backend --sandbox --accept-missing --platform --ask --ask-timeout --retry --timeout --env --dry-run --report --log-denials --tell-denials --events --trace --json -q --quiet -h --help" ;;
	init) options="--force --json -q --quiet -h --help" ;;
	check) options="-P --profile --mode -C --cd --workspace --config-file -c --config --enable --disable --syntax-only --json -q --quiet -h --help" ;;
	profiles) options="-P --profile --mode -C --cd --workspace --config-file -c --config --enable --disable --json -q --quiet -h --help" ;;
	why) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --platform --host-view --read --write --path --host --json -q --quiet -h --help" ;;
	explain) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --backend --platform --host-view --json -q --quiet -h --help" ;;
	doctor) options="-P --profile --mode -C --cd --workspace --config-file -c --config --enable --disable --clean --json -q --quiet -h --help" ;;
	audit) options="--follow --summary --metrics --run --denied --since --json -q --quiet -h --help" ;;
	approvals) options="--session --yes --json -q --quiet -h --help" ;;
	request) options="--write --host --socket --reason --json -q --quiet -h --help" ;;
	apply-patch) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --dry-run --atomic --json -q --quiet -h --help" ;;
	escalate) options="--reason --json -q --quiet -h --help" ;;
	setup) options="-C --cd --dry-run --system --user --project --partial --check --undo --inside --yes --json -q --quiet -h --help" ;;
	hook) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --json -q --quiet -h --help" ;;
	import) options="-C --cd -o --output --force --json -q --quiet -h --help" ;;
	agent) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --publish --host-port --audit --backend --sandbox --accept-missing --platform --ask --ask-timeout --retry --timeout --env --dry-run --report --log-denials --tell-denials --events --trace --json -q --quiet -h --help" ;;
	windows) options="--dry-run --proxy-port --yes --json -q --quiet -h --help" ;;
	mcp) options="-P --profile --mode --full-auto -C --cd --workspace --config-file -c --config --enable --disable --add-read --add-write --unprotect --session --deny --network --allow-host --deny-host --allow-socket --backend --root --approve-tool -q --quiet -h --help" ;;
	proxy) options="-P --profile --mode -C --cd --workspace --config-file -c --config --enable --disable --network --allow-host --deny-host --audit --listen --token-file --token-env --json -q --quiet -h --help" ;;
	help) options="-h --help" ;;
	version) options="-h --help" ;;
	*) options="-h --help -V --version" ;;
	esac
}

# The value $2 of the option $1.
_cordon_value()
{
	case $1 in
	-P | --profile) _cordon_profiles "$2" ;;
	--mode) _cordon_among "read-only workspace-write danger-full-access" "$2" ;;
	-C | --cd) _cordon_directories "$2" ;;
	--workspace) _cordon_directories "$2" ;;
	--config-file) _cordon_files "$2" ;;
	--add-read) _cordon_files "$2" ;;
	--add-write) _cordon_files "$2" ;;
	--deny) _cordon_files "$2" ;;
	--network) _cordon_among "off managed full" "$2" ;;
	--allow-host) _cordon_hosts "$2" ;;
	--deny-host) _cordon_hosts "$2" ;;
	--allow-socket) _cordon_files "$2" ;;
	--audit) _cordon_files "$2" ;;
	--token-file) _cordon_files "$2" ;;
	--token-env) _cordon_variables "$2" ;;
	--backend) _cordon_among "native bwrap landlock outer none" "$2" ;;
	--sandbox) _cordon_among "auto require forbid" "$2" ;;
	--accept-missing) _cordon_among "fs_write fs_read fs_carve fs_reopen protect_missing deny_future net_off net_managed ipc proc kernel limits tree_death" "$2" ;;
	--platform) _cordon_among "linux landlock macos seatbelt windows" "$2" ;;
	--host-view) _cordon_files "$2" ;;
	--ask) _cordon_among "tty cmd: fd: socket: off" "$2" ;;
	--env) _cordon_variables "$2" ;;
	--report) _cordon_files "$2" ;;
	--events) _cordon_files "$2" ;;
	-o | --output) _cordon_files "$2" ;;
	--run) _cordon_among "last" "$2" ;;
	--root) _cordon_directories "$2" ;;
	esac
}

# The operand $2 of the command $1.
_cordon_operand()
{
	case $1 in
	init) _cordon_files "$2" ;;
	check) _cordon_files "$2" ;;
	profiles) _cordon_profiles "$2" ;;
	why) _cordon_files "$2" ;;
	audit) _cordon_files "$2" ;;
	approvals) _cordon_among "list show revoke clear" "$2" ;;
	request) _cordon_files "$2" ;;
	setup) _cordon_among "claude codex copilot gemini opencode pi qwen" "$2" ;;
	hook) _cordon_among "claude gemini opencode qwen" "$2" ;;
	import) _cordon_files "$2" ;;
	agent) _cordon_among "claude codex copilot gemini opencode pi qwen" "$2" ;;
	windows) _cordon_among "setup status cleanup uninstall" "$2" ;;
	"" | help) _cordon_among "$_cordon_commands" "$2" ;;
	esac
}
# END made by scripts/options

# Which command of cordon's it is, into the caller's `command`; and where in `words` the first
# word of the command to run stands, into `first`, 0 when there is none yet.
_cordon_find_command()
{
	local i word
	for ((i = 1; i < ${#words[@]}; i++)); do
		word=${words[i]}
		case $word in
		--)
			if [[ $command == run && $((i + 1)) -lt ${#words[@]} ]]; then
				first=$((i + 1))
				return
			fi
			;;
		-*)
			if [[ $_cordon_valued == *" $word "* ]]; then
				((i++))
			fi
			;;
		*)
			if [[ $command == run ]]; then
				first=$i
				return
			fi
			if [[ -z $command && $i -lt $((${#words[@]} - 1)) ]]; then
				command=${word/#sandbox/run}
			fi
			;;
		esac
	done
}

# The command to run, whose first word is number $1: a program, or what that one completes.
_cordon_command()
{
	if [[ $1 -eq $((${#words[@]} - 1)) && ${words[$1]} != */* ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "${words[$1]}")
	elif declare -F _command_offset >/dev/null && [[ ${#words[@]} -eq ${#COMP_WORDS[@]} ]]; then
		_command_offset "$1"
	else
		_cordon_files "${words[${#words[@]} - 1]}"
	fi
}

_cordon()
{
	local cur prev words command= first=0
	COMPREPLY=()
	_cordon_words
	_cordon_find_command
	if [[ $first -gt 0 ]]; then
		_cordon_command "$first"
		return
	fi
	cur=${words[${#words[@]} - 1]}
	prev=${words[${#words[@]} - 2]}
	if [[ $cur == --*=* ]]; then
		prev=${cur%%=*}
		cur=${cur#*=}
	fi
	if [[ $_cordon_valued == *" $prev "* ]]; then
		_cordon_value "$prev" "$cur"
	elif [[ $cur == -* ]]; then
		local options
		_cordon_options "$command"
		_cordon_among "$options" "$cur"
	else
		_cordon_operand "$command" "$cur"
	fi
}
complete -F _cordon cordon
