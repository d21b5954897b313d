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

_cordon()
{
	local cur prev words command= i
	COMPREPLY=()
	_cordon_words
	cur=${words[${#words[@]} - 1]}
	prev=${words[${#words[@]} - 2]}
	if [[ $cur == --*=* ]]; then
		prev=${cur%%=*}
		cur=${cur#*=}
	fi
	local commands="init check profiles why explain help version"
	local policy="-P --profile --mode -C --config-file --config --enable --disable"
	local output="--json -q --quiet"
	local always="-h --help"

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
	-C)
		_cordon_files -d "$cur"
		return
		;;
	--config-file)
		_cordon_files -f "$cur"
		return
		;;
	--config | --enable | --disable)
		return
		;;
	esac

	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		case ${words[i]} in
		init | check | profiles | why | explain | help | version)
			command=${words[i]}
			break
			;;
		esac
	done

	if [[ $cur == -* ]]; then
		local options
		case $command in
		init) options="--force $output" ;;
		check) options="$policy $output --syntax-only" ;;
		profiles) options="$policy $output" ;;
		why) options="$policy $output --read --write --path --host" ;;
		explain) options="$policy $output --platform" ;;
		help | version) options= ;;
		*) options="-V --version" ;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$options $always" -- "$cur")
		return
	fi
	case $command in
	"" | help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
	init | check | why) _cordon_files -f "$cur" ;;
	profiles) _cordon_profiles "$cur" ;;
	esac
}
complete -F _cordon cordon
