#!/usr/bin/env bash
# deps.sh [interop|coverage|fuzz|format|tidy|valgrind]… - have what the build needs, and what the
# named groups need beyond it.
#
# Only what is missing is installed, with apt, as root or through sudo. When
# nothing is missing, apt is not called. Where there is no apt, say what is
# missing and leave it to the person.
set -euo pipefail

# A need is a kind, what to look for, and the Debian packages that bring it, the
# preferred one first. tool: a command; library: a pkg-config name (or several);
# package: known to dpkg only.
needs=(
    'package libc6-dev libc6-dev'
    'tool cmake cmake'
    'tool pkg-config pkg-config'
    'library libsodium libsodium-dev'
    'library lmdb liblmdb-dev'
    'library msgpack-c,msgpack libmsgpack-c-dev,libmsgpack-dev'
    'library jansson libjansson-dev'
    'library libqrencode libqrencode-dev'
    'library cmocka libcmocka-dev'
    'library libcbor libcbor-dev'
)
command -v "${CC:-cc}" >/dev/null || needs=('tool cc gcc' "${needs[@]}")
for group in "$@"; do
    case $group in
    interop) needs+=('tool node nodejs' 'tool npm npm') ;;
    coverage) needs+=('tool gcovr gcovr') ;;
    fuzz) needs+=('tool clang clang' 'package clang-runtime libclang-rt-dev,libclang-rt-14-dev') ;;
    format) needs+=('tool clang-format clang-format') ;;
    tidy) needs+=('tool clang-tidy clang-tidy') ;;
    valgrind) needs+=('tool valgrind valgrind') ;;
    *)
        echo "deps.sh: there is no group '$group' (interop, coverage, fuzz, format, tidy, valgrind)." >&2
        exit 2
        ;;
    esac
done

# package_there PACKAGE,…: is one of them installed?
package_there() {
    local package
    for package in ${1//,/ }; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then
            return 0
        fi
    done
    return 1
}

# library_there NAME,…: does pkg-config know one of them?
library_there() {
    local name
    command -v pkg-config >/dev/null || return 1
    for name in ${1//,/ }; do
        if pkg-config --exists "$name"; then
            return 0
        fi
    done
    return 1
}

# there KIND WHAT PACKAGES
there() {
    case $1 in
    tool) command -v "$2" >/dev/null ;;
    library) library_there "$2" || { $debian && package_there "$3"; } ;;
    package) ! $debian || package_there "$3" ;; # Elsewhere it comes with the compiler.
    esac
}

debian=false
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    debian=true
fi

missing=() packages=()
for need in "${needs[@]}"; do
    read -r kind what choices <<<"$need"
    if ! there "$kind" "$what" "$choices"; then
        missing+=("${what//,/ or }")
        packages+=("$choices")
    fi
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

if ! $debian; then
    printf 'meshlog needs these, and they are not here:\n' >&2
    printf '  %s\n' "${missing[@]}" >&2
    printf 'Install them (libraries with their headers) and run this again.\n' >&2
    exit 1
fi

# The packages to install, one per need: the first that apt can offer, else the last.
chosen() {
    local choices package last
    for choices in "${packages[@]}"; do
        for package in ${choices//,/ }; do
            last=$package
            if [[ $(LC_ALL=C apt-cache policy "$package" 2>/dev/null) =~ Candidate:\ [^\(] ]]; then
                break
            fi
        done
        printf '%s\n' "$last"
    done
}

# as_root COMMAND…: run it as root, by the way that was found.
become=()
as_root() {
    ${become[@]+"${become[@]}"} env DEBIAN_FRONTEND=noninteractive "$@" >&2
}

if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        become=(sudo -n)
    elif command -v sudo >/dev/null && [ -t 0 ]; then
        become=(sudo)
    else
        mapfile -t names < <(chosen)
        printf 'Packages are missing. As root, run:\n' >&2
        printf '  apt-get update && apt-get install -y --no-install-recommends %s\n' "${names[*]}" >&2
        exit 1
    fi
fi

echo "Installing what is missing: ${missing[*]}" >&2
as_root apt-get update || echo 'The package lists could not be renewed; trying with the old ones.' >&2
mapfile -t names < <(chosen)
if ! as_root apt-get install -y --no-install-recommends "${names[@]}"; then
    echo "These packages could not be installed: ${names[*]}" >&2
    exit 1
fi
