# SPDX-License-Identifier: MIT
# bash completion for cordon

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
		mapfile -t COMPREPLY < <(compgen -W "$(cordon profiles --quiet 2>/dev/null)" -- "$cur")
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
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--config-file)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
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
	init | check | why) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	profiles) mapfile -t COMPREPLY < <(compgen -W "$(cordon profiles --quiet 2>/dev/null)" -- "$cur") ;;
	esac
}
complete -o filenames -F _cordon cordon
