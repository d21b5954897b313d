# SPDX-License-Identifier: MIT
<#
.SYNOPSIS
Tries on a real Windows what the tests elsewhere take from a model.

.DESCRIPTION
qa-windows.ps1 -Program build\windows\src\cordon.exe [-KeepSetup]

Each attempt is made three times: without a sandbox, where it has to work; by the answer of 'cordon why'; and in a sandbox of each
backend. What the answer and Windows disagree about is printed as a line that is not ok. As an administrator it also
runs 'cordon windows setup', looks whether all is there, tries the network, and runs 'cordon windows uninstall'. Without,
that part is skipped, and said to be. Everything happens below a directory of its own. Prints TAP; exit status 0 only if
nothing differs. It changes accounts, firewall rules and filters of this machine while it runs: use one that is for tests.
#>
param(
    [Parameter(Mandatory = $true)][string]$Program,
    [switch]$KeepSetup
)

Set-StrictMode -Version 3
$ErrorActionPreference = 'Stop'

$script:Count = 0
$script:Wrong = 0
$Program = (Resolve-Path -LiteralPath $Program).Path
$Top = Join-Path $env:PUBLIC ('cordon-qa-' + [guid]::NewGuid().ToString('N'))
$Work = Join-Path $Top 'work'
$Outside = Join-Path $Top 'outside'
$Config = Join-Path $Top 'config.toml'
$Backends = @('win_token', 'win_elevated')
# What neither holds (docs/platforms.md).
$Missing = @{ win_token = @('fs_write', 'net_off', 'ipc', 'proc', 'kernel'); win_elevated = @('ipc', 'proc', 'kernel') }

function Write-Result([bool]$IsOk, [string]$Name, [string]$Detail = '') {
    $script:Count++
    if (-not $IsOk) { $script:Wrong++ }
    $word = if ($IsOk) { 'ok' } else { 'not ok' }
    Write-Output "$word $script:Count - $Name"
    if (-not $IsOk) {
        foreach ($line in $Detail -split "`r?`n") { Write-Output "# $line" }
    }
}

function Write-Skip([string]$Name, [string]$Why) {
    $script:Count++
    Write-Output "ok $script:Count - $Name # SKIP $Why"
}

# Runs a program with its output in a file, as a command of another account can't use this console.
function Invoke-Quietly([string]$File, [string[]]$Words) {
    $out = Join-Path $Top 'out.txt'
    $all = Join-Path $Top 'err.txt'
    $quoted = foreach ($word in $Words) {
        if ($word -match '[\s"]' -or $word -eq '') { '"' + ($word -replace '(\\*)"', '$1$1\"' -replace '(\\+)$', '$1$1') + '"' } else { $word }
    }
    $empty = Join-Path $Top 'empty.txt'
    $p = Start-Process -FilePath $File -ArgumentList ($quoted -join ' ') -NoNewWindow -Wait -PassThru `
        -WorkingDirectory $Work -RedirectStandardInput $empty -RedirectStandardOutput $out -RedirectStandardError $all
    [pscustomobject]@{
        Status = $p.ExitCode
        Out    = [string](Get-Content -LiteralPath $out -Raw)
        Err    = [string](Get-Content -LiteralPath $all -Raw)
    }
}

function Invoke-Cordon([string[]]$Words) { Invoke-Quietly $Program $Words }

function Invoke-Inside([string]$Backend, [string[]]$Options, [string[]]$Command, [string]$Network = 'off') {
    $accepted = foreach ($name in $Missing[$Backend]) { '--accept-missing'; $name }
    $words = @('run', '-q', '--config-file', $Config, '--backend', $Backend) + $accepted +
        @('--mode', 'workspace-write', '--network', $Network) + $Options + @('--') + $Command
    Invoke-Cordon $words
}

# ---- The files -------------------------------------------------------------------------------------

# (name, the command line of cmd.exe, the path that 'why' is asked about, whether it writes)
$Attempts = @(
    @('writes in the workspace', "echo x>$Work\new.txt", "$Work\new.txt", $true),
    @('changes a file of the workspace', "echo x>>$Work\file.txt", "$Work\file.txt", $true),
    @('removes a file of the workspace', "del $Work\gone.txt & if exist $Work\gone.txt exit 1", "$Work\gone.txt", $true),
    @('reads outside', "type $Outside\file.txt", "$Outside\file.txt", $false),
    @('writes outside', "echo x>$Outside\new.txt", "$Outside\new.txt", $true),
    @('changes a file outside', "echo x>>$Outside\file.txt", "$Outside\file.txt", $true),
    @('removes a file outside', "del $Outside\gone.txt & if exist $Outside\gone.txt exit 1", "$Outside\gone.txt", $true),
    @('renames a file outside', "ren $Outside\file.txt other.txt", "$Outside\file.txt", $true),
    @('changes .git\config', "echo x>>$Work\.git\config", "$Work\.git\config", $true),
    @('plants a hook', "echo x>$Work\.git\hooks\pre-commit", "$Work\.git\hooks\pre-commit", $true),
    @('moves .git away', "ren $Work\.git elsewhere", "$Work\.git", $true),
    @('makes .vscode', "mkdir $Work\.vscode\x", "$Work\.vscode\x", $true),
    @('writes in Windows', 'echo x>C:\Windows\Temp\cordon-qa.txt', 'C:\Windows\Temp\cordon-qa.txt', $true),
    @('writes in the root of the drive', 'mkdir C:\cordon-qa', 'C:\cordon-qa', $true),
    @('writes in Public', "echo x>$env:PUBLIC\cordon-qa.txt", "$env:PUBLIC\cordon-qa.txt", $true)
)

function Reset-Files {
    foreach ($path in @($Work, $Outside)) {
        if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Recurse -Force }
        New-Item -ItemType Directory -Path $path | Out-Null
        Set-Content -LiteralPath (Join-Path $path 'file.txt') -Value 'text'
        Set-Content -LiteralPath (Join-Path $path 'gone.txt') -Value 'text'
    }
    New-Item -ItemType Directory -Path "$Work\.git\hooks" | Out-Null
    Set-Content -LiteralPath "$Work\.git\config" -Value "[core]`n"
    Set-Content -LiteralPath "$Work\.git\HEAD" -Value 'ref: refs/heads/main'
    foreach ($path in @('C:\Windows\Temp\cordon-qa.txt', 'C:\cordon-qa', "$env:PUBLIC\cordon-qa.txt")) {
        if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Recurse -Force }
    }
}

function Test-Files([string]$Backend) {
    foreach ($attempt in $Attempts) {
        $name, $line, $path, $writes = $attempt
        Reset-Files
        $control = Invoke-Quietly "$env:SystemRoot\System32\cmd.exe" @('/d', '/c', $line)
        if ($control.Status -ne 0) {
            Write-Skip "${Backend}: $name" 'this user may not do it without a sandbox either'
            continue
        }
        Reset-Files
        $which = if ($writes) { '--write' } else { '--read' }
        $why = Invoke-Cordon @('why', '--config-file', $Config, '--mode', 'workspace-write', '--path', $which, $path)
        $inside = Invoke-Inside $Backend @() @('cmd.exe', '/d', '/c', $line)
        if ($inside.Status -eq 125) {
            Write-Result $false "${Backend}: $name" "cordon refused: $($inside.Err)"
            continue
        }
        $says = $why.Status -eq 0
        $does = $inside.Status -eq 0
        Write-Result ($says -eq $does) "${Backend}: $name" "the answer is $says, Windows says $does`n$($inside.Err)"
    }
}

# ---- Processes ---------------------------------------------------------------------------------------

function Test-Processes([string]$Backend) {
    Reset-Files
    $r = Invoke-Inside $Backend @() @('cmd.exe', '/d', '/c', 'exit 7')
    Write-Result ($r.Status -eq 7) "${Backend}: the status is the command's" "$($r.Status) $($r.Err)"
    $r = Invoke-Inside $Backend @() @('whoami.exe', '/groups', '/fo', 'csv')
    Write-Result ($r.Status -eq 0 -and $r.Out.Length -gt 0) "${Backend}: a program of the system starts" $r.Err
    $mark = [guid]::NewGuid().ToString('N')
    $null = Invoke-Inside $Backend @() @('cmd.exe', '/d', '/c', "start /b ping -n 60 127.0.0.1 >nul & rem $mark")
    Start-Sleep -Seconds 2
    $left = @(Get-CimInstance Win32_Process -Filter "Name='PING.EXE'" | Where-Object { $_.CommandLine -match '-n 60' })
    Write-Result ($left.Count -eq 0) "${Backend}: nothing that it started is left" ($left | Out-String)
    $r = Invoke-Inside $Backend @('--timeout', '2s') @('ping.exe', '-n', '60', '127.0.0.1')
    Write-Result ($r.Status -eq 124) "${Backend}: a time limit ends it" "$($r.Status) $($r.Err)"
}

# ---- The network ---------------------------------------------------------------------------------------

$Connect = 'try { $c = [Net.Sockets.TcpClient]::new("HOST", PORT); $c.Close(); exit 0 } catch { exit 3 }'

function Test-Network {
    $shell = "$env:SystemRoot\System32\WindowsPowerShell\v1.0\powershell.exe"
    foreach ($address in @('127.0.0.1', '::1')) {
        $listener = [Net.Sockets.TcpListener]::new([Net.IPAddress]::Parse($address), 0)
        $listener.Start()
        $text = $Connect.Replace('HOST', $address).Replace('PORT', [string]$listener.LocalEndpoint.Port)
        Reset-Files
        $control = Invoke-Quietly $shell @('-NoProfile', '-Command', $text)
        $inside = Invoke-Inside 'win_elevated' @() @($shell, '-NoProfile', '-Command', $text)
        $open = Invoke-Inside 'win_elevated' @() @($shell, '-NoProfile', '-Command', $text) 'full'
        $listener.Stop()
        Write-Result ($control.Status -eq 0) "outside $address can be reached" $control.Err
        Write-Result ($inside.Status -eq 3) "without a network $address can't be reached" "$($inside.Status) $($inside.Err)"
        Write-Result ($open.Status -eq 0) "with a network $address can be reached" "$($open.Status) $($open.Err)"
    }
    $lookup = 'try { [void][Net.Dns]::GetHostAddresses("www.microsoft.com"); exit 0 } catch { exit 3 }'
    $control = Invoke-Quietly $shell @('-NoProfile', '-Command', $lookup)
    if ($control.Status -eq 0) {
        $inside = Invoke-Inside 'win_elevated' @() @($shell, '-NoProfile', '-Command', $lookup)
        Write-Result ($inside.Status -eq 3) 'without a network no name is looked up' "$($inside.Status) $($inside.Err)"
    } else {
        Write-Skip 'without a network no name is looked up' 'this machine looks up no names'
    }
}

# ---- What setup makes ----------------------------------------------------------------------------------

function Test-Setup {
    $plan = Invoke-Cordon @('windows', 'setup', '--dry-run')
    Write-Result ($plan.Status -eq 0 -and $plan.Out -match 'would make') 'a plan says what would be made' $plan.Err
    $done = Invoke-Cordon @('windows', 'setup', '--yes')
    Write-Result ($done.Status -eq 0) 'setup makes accounts, rules and filters' ($done.Out + $done.Err)
    $again = Invoke-Cordon @('windows', 'setup', '--yes')
    Write-Result ($again.Status -eq 0) 'setup can be run again' ($again.Out + $again.Err)
    $status = Invoke-Cordon @('windows', 'status', '--json')
    $found = if ($status.Out) { $status.Out | ConvertFrom-Json } else { $null }
    $bad = @($found.items | Where-Object { $_.state -ne 'ok' })
    Write-Result ($status.Status -eq 0 -and $bad.Count -eq 0) 'status finds all as it should be' ($bad | Out-String)
    foreach ($name in @('CordonOffline', 'CordonOnline')) {
        $user = Get-LocalUser -Name $name -ErrorAction SilentlyContinue
        Write-Result ($null -ne $user -and $user.Enabled) "Windows knows the account $name"
    }
    $rules = @(Get-NetFirewallRule -Group 'Cordon' -ErrorAction SilentlyContinue)
    Write-Result ($rules.Count -eq @($found.items | Where-Object { $_.kind -eq 'rule' }).Count) 'the firewall lists the rules' ($rules | Out-String)
}

function Test-Uninstall {
    $users = @(Get-LocalUser).Count
    $done = Invoke-Cordon @('windows', 'uninstall', '--yes')
    Write-Result ($done.Status -eq 0) 'uninstall removes all of it' ($done.Out + $done.Err)
    Write-Result (@(Get-LocalUser).Count -eq $users - 2) 'two accounts are gone, and no other'
    Write-Result (@(Get-NetFirewallRule -Group 'Cordon' -ErrorAction SilentlyContinue).Count -eq 0) 'no rule is left'
    $status = (Invoke-Cordon @('windows', 'status', '--json')).Out | ConvertFrom-Json
    $left = @($status.items | Where-Object { $_.state -ne 'missing' })
    Write-Result ($left.Count -eq 0) 'status finds nothing' ($left | Out-String)
}

# ---- All of it -----------------------------------------------------------------------------------------

$identity = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
$isAdministrator = $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)

New-Item -ItemType Directory -Path $Top | Out-Null
New-Item -ItemType File -Path (Join-Path $Top 'empty.txt') | Out-Null
Set-Content -LiteralPath $Config -Value "[features]`nwindows_preview = true`n"
# Where every account may execute it.
$copy = Join-Path $Top 'cordon.exe'
Copy-Item -LiteralPath $Program -Destination $copy
$Program = $copy
try {
    Reset-Files
    if ($isAdministrator) { Test-Setup } else { Write-Skip 'setup' 'this is no administrator' }
    foreach ($backend in $Backends) {
        if ($backend -eq 'win_elevated' -and -not $isAdministrator) {
            Write-Skip $backend 'its accounts were not made'
            continue
        }
        Test-Files $backend
        Test-Processes $backend
    }
    if ($isAdministrator) { Test-Network } else { Write-Skip 'the network' 'the accounts were not made' }
    if ($isAdministrator -and -not $KeepSetup) { Test-Uninstall }
} finally {
    Set-Location $env:SystemRoot
    Remove-Item -LiteralPath $Top -Recurse -Force -ErrorAction SilentlyContinue
}
Write-Output "1..$script:Count"
Write-Output "# $script:Wrong differ"
exit [int]($script:Wrong -gt 0)
