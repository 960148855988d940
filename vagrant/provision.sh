#!/bin/sh
# Makes a Debian machine ready for runs. Safe to run again: what is there is left alone.
set -eu
export DEBIAN_FRONTEND=noninteractive

# nftables cuts links; Python makes the broker's environment. Java is for Apache Kafka only, and can
# be left out with NODE_JAVA=no.
packages="python3 nftables ca-certificates"
[ "${NODE_JAVA:-yes}" = no ] || packages="$packages default-jre-headless"
missing=
for package in $packages; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
if [ -n "$missing" ]; then
  apt-get update -q=2
  # Unquoted: it is a list.
  apt-get install --yes --no-install-recommends -q=2 $missing
fi

# Brokers store on a file system of its own, so that one that is full leaves the machine alone.
image=/var/lib/log-trial.img
mount_point=/srv/log-trial
if [ ! -e "$image" ]; then
  truncate -s "${NODE_DISK:-2G}" "$image.part"
  mkfs.ext4 -q -F -m 0 "$image.part"
  mv "$image.part" "$image"
fi
mkdir -p "$mount_point"
grep -q "^$image " /etc/fstab || echo "$image $mount_point ext4 loop,nofail 0 0" >>/etc/fstab
mountpoint -q "$mount_point" || mount "$mount_point"
chown vagrant: "$mount_point"

# A peer that was cut off is tried again within a second of healing, where the kernel can (6.15).
limit=/proc/sys/net/ipv4/tcp_rto_max_ms
[ ! -e "$limit" ] || echo 1000 >"$limit"
