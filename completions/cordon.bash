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

# The files ("-f") or directories ("-d") that begin with $2; readline quotes these.
_cordon_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

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
		-P | -C | -c | --profile | --mode | --cd | --workspace | --config-file | --config | --enable | \
			--disable | --network | --allow-host | --deny-host | --allow-socket | --add-read | --add-write | \
			--deny | --unprotect | --platform | --publish | --host-port | --audit | \
			--timeout | --env | --backend | --sandbox | --accept-missing | --report)
			((i++))
			;;
		-*) ;;
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
		_cordon_files -f "${words[${#words[@]} - 1]}"
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
	local commands="run sandbox init check profiles why explain doctor audit proxy help version"
	local policy="-P --profile --mode -C --cd --workspace --config-file -c --config --enable --disable"
	local entries="--full-auto --network --allow-host --deny-host --allow-socket --add-read --add-write --deny --unprotect"
	local run="--timeout --env --backend --sandbox --accept-missing --dry-run --report --trace"
	run+=" --publish --host-port --audit"
	local output="--json -q --quiet"
	local always="-h --help"
	local guarantees="fs_write fs_read fs_carve fs_reopen protect_missing deny_future net_off"
	guarantees+=" net_managed ipc proc kernel limits tree_death"

	case $prev in
	-P | --profile)
		_cordon_profiles "$cur"
		return
		;;
	--mode)
		mapfile -t COMPREPLY < <(compgen -W "read-only workspace-write danger-full-access" -- "$cur")
		return
		;;
	--platform)
		mapfile -t COMPREPLY < <(compgen -W "linux landlock macos seatbelt windows" -- "$cur")
		return
		;;
	--network)
		mapfile -t COMPREPLY < <(compgen -W "off managed full" -- "$cur")
		return
		;;
	--backend)
		mapfile -t COMPREPLY < <(compgen -W "native bwrap landlock none" -- "$cur")
		return
		;;
	--sandbox)
		mapfile -t COMPREPLY < <(compgen -W "auto require forbid" -- "$cur")
		return
		;;
	--accept-missing)
		mapfile -t COMPREPLY < <(compgen -W "$guarantees" -- "$cur")
		return
		;;
	--allow-host | --deny-host)
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
		return
		;;
	--env | --token-env)
		mapfile -t COMPREPLY < <(compgen -e -- "$cur")
		return
		;;
	-C | --cd | --workspace)
		_cordon_files -d "$cur"
		return
		;;
	--config-file | --report | --audit | --token-file | --add-read | --add-write | --deny | \
		--allow-socket)
		_cordon_files -f "$cur"
		return
		;;
	-c | --config | --unprotect | --enable | --disable | --timeout | --publish | --host-port | --run | --since | --listen)
		return
		;;
	esac

	if [[ $cur == -* ]]; then
		local options
		case $command in
		run) options="$policy $entries --platform $run $output" ;;
		init) options="--force $output" ;;
		check) options="$policy $output --syntax-only" ;;
		profiles) options="$policy $output" ;;
		why) options="$policy $entries $output --read --write --path --host" ;;
		explain) options="$policy $entries --platform $output" ;;
		doctor) options="$policy $output --clean" ;;
		proxy)
			options="$policy --network --allow-host --deny-host --listen --audit"
			options+=" --token-file --token-env $output"
			;;
		audit) options="$output --follow --summary --run --denied --since" ;;
		help | version) options= ;;
		*) options="-V --version" ;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$options $always" -- "$cur")
		return
	fi
	case $command in
	"" | help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
	init | check | why | audit) _cordon_files -f "$cur" ;;
	profiles) _cordon_profiles "$cur" ;;
	esac
}
complete -F _cordon cordon
