# SPDX-License-Identifier: MIT
# bash completion for cordon

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
}

# The files ("-f") or directories ("-d") that begin with $2; readline quotes these.
_cordon_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_cordon()
{
	local cur prev words cword command= i
	COMPREPLY=()
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
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

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		init | check | profiles | why | explain | help | version)
			command=${COMP_WORDS[i]}
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
