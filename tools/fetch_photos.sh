#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian's wallpaper packages into a folder (nothing is installed): the
# photographs that examples/benchmarks/make_imagenet_like.py makes its pictures from.
#
#   tools/fetch_photos.sh FOLDER
set -euo pipefail

folder=${1:?usage: tools/fetch_photos.sh FOLDER}
packages=(plasma-workspace-wallpapers mate-backgrounds lomiri-wallpapers-16.04 lomiri-wallpapers-20.04)

if [ -e "$folder/complete" ]; then
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  printf '%s\n' "fetch_photos: this needs a Debian system with apt-get and dpkg." \
    "Elsewhere put photographs of your own into a folder and run" \
    "    python examples/benchmarks/make_imagenet_like.py OUT --sources FOLDER" >&2
  exit 1
fi
mkdir -p "$folder"
cd "$folder"
apt-get download "${packages[@]}" || {
  printf '%s\n' "fetch_photos: apt-get found no such packages; run 'apt-get update' as root first." >&2
  exit 1
}
for package in *.deb; do
  dpkg -x "$package" .
  rm -f "$package"
done
touch complete
