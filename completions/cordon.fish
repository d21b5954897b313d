# SPDX-License-Identifier: MIT
# fish completion for cordon

set -l commands init check profiles why explain help version
set -l policy 'check profiles why explain'
set -l output 'init check profiles why explain'

complete -c cordon -f
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a init -d 'write a commented starter configuration'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a check -d 'say what is wrong with a configuration'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a profiles -d 'list the profiles, or show one'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a why -d 'say what is allowed for a path or host, and why'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a explain -d 'show what the policy means here'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a help -d 'show help, also for one command'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -a version -d 'show the version'
complete -c cordon -n "__fish_seen_subcommand_from help" -a "$commands"
complete -c cordon -n "__fish_seen_subcommand_from init check why" -F
complete -c cordon -n "__fish_seen_subcommand_from profiles" -a '(cordon profiles --quiet 2>/dev/null)'

complete -c cordon -n "__fish_seen_subcommand_from $policy" -s P -l profile -x -a '(cordon profiles --quiet 2>/dev/null)' -d 'use this profile'
complete -c cordon -n "__fish_seen_subcommand_from $policy" -l mode -x -a 'read-only workspace-write danger-full-access' -d 'use the profile of a mode'
complete -c cordon -n "__fish_seen_subcommand_from $policy" -s C -x -a '(__fish_complete_directories)' -d 'take a directory as the working directory'
complete -c cordon -n "__fish_seen_subcommand_from $policy" -l config-file -r -F -d 'read a file in place of your configuration'
complete -c cordon -n "__fish_seen_subcommand_from $policy" -l config -x -d 'set a key for this call'
complete -c cordon -n "__fish_seen_subcommand_from $policy" -l enable -x -d 'turn a feature on'
complete -c cordon -n "__fish_seen_subcommand_from $policy" -l disable -x -d 'turn a feature off'
complete -c cordon -n "__fish_seen_subcommand_from why" -l read -d 'may it be read?'
complete -c cordon -n "__fish_seen_subcommand_from why" -l write -d 'may it be written?'
complete -c cordon -n "__fish_seen_subcommand_from why" -l path -d 'it is a path'
complete -c cordon -n "__fish_seen_subcommand_from why" -l host -d 'it is a host'
complete -c cordon -n "__fish_seen_subcommand_from explain" -l platform -x -a 'linux landlock macos seatbelt windows' -d 'for another system'
complete -c cordon -n "__fish_seen_subcommand_from check" -l syntax-only -d 'judge only whether the file is TOML'
complete -c cordon -n "__fish_seen_subcommand_from check" -a '-' -d 'the standard input'
complete -c cordon -n "__fish_seen_subcommand_from init" -l force -d 'replace an existing file'
complete -c cordon -n "__fish_seen_subcommand_from $output" -l json -d 'print JSON'
complete -c cordon -n "__fish_seen_subcommand_from $output" -s q -l quiet -d 'print the bare answer'
complete -c cordon -s h -d 'a short help'
complete -c cordon -l help -d 'the full help'
complete -c cordon -n "not __fish_seen_subcommand_from $commands" -s V -l version -d 'the version'
